// @ts-check
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Runs a command in the foreground, with this process's own input and output. Ctrl-C reaches it by the terminal; other signals are passed on.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>} its exit code
 */
export function passThrough(command, args, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env });
    const terminate = () => child.kill('SIGTERM');
    // The child cleans up and ends; then this process does, with the child's code.
    const wait = () => {};
    process.on('SIGTERM', terminate);
    process.on('SIGHUP', terminate);
    process.on('SIGINT', wait);
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      process.off('SIGTERM', terminate);
      process.off('SIGHUP', terminate);
      process.off('SIGINT', wait);
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
