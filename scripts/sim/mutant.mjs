// @ts-check
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onExit } from '../support/on-exit.mjs';
import { root } from '../support/paths.mjs';

/**
 * A copy of the built engine and of the built simulator, side by side in a `node_modules` of their own, with some of the engine's files
 * replaced. Other packages are found in the clone's `node_modules` above.
 *
 * @param {string} directory made here, below the clone
 * @param {ReadonlyMap<string, string>} outputs JavaScript by its path below the engine's `dist`
 * @returns {{entry: string, remove: () => void}} `entry`: the simulator's main module
 */
export function installMutant(directory, outputs) {
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const forget = onExit(remove);
  remove();
  for (const name of ['streams', 'testing']) copyPackage(name, join(directory, 'node_modules', '@tally', name));
  for (const [file, text] of outputs) writeFileSync(join(directory, 'node_modules', '@tally', 'streams', 'dist', file), text);
  return {
    entry: join(directory, 'node_modules', '@tally', 'testing', 'dist', 'index.js'),
    remove: () => {
      forget();
      remove();
    },
  };
}

/**
 * @param {string} name
 * @param {string} target
 */
function copyPackage(name, target) {
  const source = join(root, 'libs', name);
  mkdirSync(target, { recursive: true });
  cpSync(join(source, 'package.json'), join(target, 'package.json'));
  cpSync(join(source, 'dist'), join(target, 'dist'), { recursive: true, filter: (path) => !/\.(d\.ts|map|tsbuildinfo)$/.test(path) });
}
