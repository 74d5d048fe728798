// @ts-check

/**
 * Ends what this process has started, whichever way it ends itself: by returning, by an error, by Ctrl-C or by a signal of a service manager.
 * The actions are synchronous, for nothing asynchronous runs any more when a process exits.
 */

/** @type {Set<() => void>} */
const actions = new Set();
let installed = false;

function runAll() {
  // The last thing started ends first: a broker before its directory goes.
  for (const action of [...actions].reverse()) {
    actions.delete(action);
    try {
      action();
    } catch {
      // One action that fails must not keep the others from running.
    }
  }
}

function install() {
  installed = true;
  process.on('exit', runAll);
  for (const [signal, number] of /** @type {const} */ ([
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1],
  ])) {
    process.on(signal, () => {
      // Others may want to end in an orderly way first; alone, the process ends here with the code that a shell expects.
      if (process.listenerCount(signal) === 1) process.exit(128 + number);
    });
  }
}

/**
 * Registers an action for the end of this process.
 *
 * @param {() => void} action
 * @returns {() => void} takes the action back
 */
export function onExit(action) {
  if (!installed) install();
  actions.add(action);
  return () => actions.delete(action);
}
