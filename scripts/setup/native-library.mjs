// @ts-check
import { run } from '../support/command.mjs';
import { root } from '../support/paths.mjs';

/**
 * Loads a package in a process of its own, since a library that does not fit the machine can take the whole process with it.
 *
 * @param {string} name of an npm package with a native part
 * @param {string} directory
 * @returns {Promise<string | undefined>} why it cannot be loaded, nothing when it can
 */
export async function whyNotLoadable(name, directory = root) {
  const { code, output } = await run(process.execPath, ['-e', `require(${JSON.stringify(name)})`], { cwd: directory, timeoutMs: 30_000 });
  if (code === 0) return undefined;
  return (
    output.split('\n').find((line) => /^\w*Error:|cannot open|not found/i.test(line)) ??
    `the process that loaded it ended with code ${code}`
  );
}
