// @ts-check
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { onExit } from './on-exit.mjs';

/**
 * @typedef {object} CommandResult
 * @property {number} code 0 when it succeeded, 127 when there is no such command, 124 when its time ran out
 * @property {string} output standard output and standard error in the order in which they arrived
 * @property {string} stdout
 */

/**
 * Runs a command to its end. It gets a process group of its own, so that a time-out ends what it had started too.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number, onOutput?: (text: string) => void}} [options] `onOutput` sees the output as it comes
 * @returns {Promise<CommandResult>}
 */
export function run(command, args, { cwd, env = process.env, timeoutMs, onOutput = () => {} } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let output = '';
    let stdout = '';
    let timedOut = false;
    const end = () => killGroup(child.pid);
    const forget = onExit(end);
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            timedOut = true;
            end();
          }, timeoutMs);
    child.stdout.setEncoding('utf8');
    child.stderr.setEncoding('utf8');
    child.stdout.on('data', (chunk) => {
      output += chunk;
      stdout += chunk;
      onOutput(String(chunk));
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
      onOutput(String(chunk));
    });
    /** @param {number} code */
    const finish = (code) => {
      clearTimeout(timer);
      forget();
      resolve({ code: timedOut ? 124 : code, output, stdout });
    };
    child.on('error', (error) => {
      output += `${error.message}\n`;
      finish(127);
    });
    child.on('close', (code, signal) => finish(code ?? (signal === null ? 1 : 128)));
  });
}

/** @param {number | undefined} pid */
function killGroup(pid) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended already, which is what was wanted.
  }
}

/**
 * Finds a command on the search path.
 *
 * @param {string} name
 * @param {string | undefined} searchPath
 * @returns {string | undefined} its absolute path
 */
export function which(name, searchPath = process.env['PATH']) {
  for (const directory of (searchPath ?? '').split(delimiter)) {
    if (directory === '') continue;
    const candidate = join(directory, name);
    try {
      accessSync(candidate, constants.X_OK);
      if (statSync(candidate).isFile()) return candidate;
    } catch {
      // Not here; the next directory may have it.
    }
  }
  return undefined;
}
