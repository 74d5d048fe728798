// @ts-check
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onExit } from '../support/on-exit.mjs';
import { tail } from '../support/report.mjs';

/**
 * What became of one history: the checkers' findings, or why it did not come to its end.
 *
 * @typedef {{violations: readonly import('@tally/testing').Violation[]} | {ended: string}} Ending
 */

const script = fileURLToPath(new URL('history-process.mjs', import.meta.url));
/** Of wall-clock time, in milliseconds: a broken engine may loop for ever. */
const historyBoundMs = 60_000;

/** Runs histories in a process of its own, which a broken engine may crash or hang; the next history then gets a new one. */
export class HistoryRunner {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  #forget = () => {};
  #complaints = '';

  /**
   * @param {string} entry the main module of the simulator
   * @param {number} boundMs how long one history may take
   */
  constructor(entry, boundMs = historyBoundMs) {
    this.entry = entry;
    this.boundMs = boundMs;
  }

  /**
   * @param {number} seed
   * @returns {Promise<Ending>}
   */
  async run(seed) {
    const child = (this.#child ??= this.#start());
    const ending = await this.#ending(child, seed);
    if ('ended' in ending) this.close();
    return ending;
  }

  close() {
    this.#forget();
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  #start() {
    const child = fork(script, [this.entry], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    this.#complaints = '';
    child.stderr?.setEncoding('utf8').on('data', (text) => (this.#complaints += text));
    this.#forget = onExit(() => child.kill('SIGKILL'));
    return child;
  }

  /**
   * @param {import('node:child_process').ChildProcess} child
   * @param {number} seed
   * @returns {Promise<Ending>}
   */
  #ending(child, seed) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle({ ended: `it did not end within ${this.boundMs / 1000} s` }), this.boundMs);
      /** @param {unknown} message */
      const answered = (message) => settle({ violations: /** @type {readonly import('@tally/testing').Violation[]} */ (message) });
      /** @param {number | null} code */
      const closed = (code) => settle({ ended: `the process ended with code ${code}: ${tail(this.#complaints, 12)}` });
      /** @param {Ending} ending */
      const settle = (ending) => {
        clearTimeout(timer);
        child.off('message', answered);
        child.off('close', closed);
        resolve(ending);
      };
      child.on('message', answered);
      child.on('close', closed);
      child.send(seed);
    });
  }
}
