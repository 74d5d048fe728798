// @ts-check
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Absolute path of the repository. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Folder for what belongs to this clone and is never committed: broker state and data, locks, reports. */
export const cloneState = join(root, '.tally');

/**
 * Absolute path of a command line tool of an installed package, to be run with `process.execPath`: the links in `.bin` differ between systems.
 *
 * @param {string} path below node_modules
 */
export function tool(path) {
  return join(root, 'node_modules', path);
}
