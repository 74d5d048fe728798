// @ts-check
import { spawn } from 'node:child_process';

/**
 * Ends a broker when the process that started it is killed and can do nothing any more: a shell waits for the end of its standard input, which
 * comes when its parent is gone, whatever the reason.
 *
 * @param {readonly string[]} command what ends the broker
 * @returns {() => void} dismisses the guardian, without the command being run
 */
export function guard(command) {
  const shell = spawn('sh', ['-c', 'read -r _; "$@"', 'sh', ...command], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // A guardian that could not be started is no reason to stop: the ordinary ways to end are still there.
  shell.on('error', () => {});
  shell.unref();
  /** @type {{unref?: () => void} | null} */ (shell.stdin)?.unref?.();
  return () => {
    shell.kill('SIGKILL');
  };
}
