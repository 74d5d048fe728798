// @ts-check
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../support/paths.mjs';
import { run, which } from '../support/command.mjs';
import { MissingError, withProgress } from '../support/report.mjs';

/**
 * @typedef {{version?: string, optional?: boolean, devOptional?: boolean, link?: boolean}} LockedPackage
 * @typedef {{packages: Record<string, LockedPackage>}} Lock
 */

/**
 * Compares what is installed with the lock file. npm leaves its own record in `node_modules` when an installation is complete, so one that was
 * interrupted does not count.
 *
 * @param {Lock} wanted package-lock.json
 * @param {Lock | undefined} installed node_modules/.package-lock.json
 * @returns {string[]} the paths of packages that are absent or of another version
 */
export function missingPackages(wanted, installed) {
  const missing = [];
  for (const [path, { version, optional, devOptional, link }] of Object.entries(wanted.packages)) {
    if (!path.includes('node_modules/')) continue;
    const found = installed?.packages[path];
    if (found === undefined ? !(optional || devOptional) : !link && found.version !== version) missing.push(path);
  }
  return missing;
}

/**
 * @param {string} path
 * @returns {Lock | undefined}
 */
function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Installs the npm packages of the lock file, unless they are there. Scripts of packages are left out: the native client has a step of its own. */
export async function installPackages(directory = root) {
  const wanted = readLock(join(directory, 'package-lock.json'));
  if (wanted === undefined) throw new Error(`There is no readable package-lock.json in ${directory}.`);
  if (missingPackages(wanted, readLock(join(directory, 'node_modules', '.package-lock.json'))).length === 0) return;
  if (which('npm') === undefined) {
    throw new MissingError({
      what: 'npm is missing: there is no such command on the search path.',
      why: 'It installs the packages that Tally is built from.',
      command: 'Install it with your system (apt-get install npm, dnf install npm, apk add npm); the packages of nodejs.org contain it.',
    });
  }
  const arguments_ = ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--no-update-notifier'];
  await withProgress('Installing the npm packages', async () => {
    const { code, output } = await run('npm', arguments_, { cwd: directory, timeoutMs: 15 * 60_000 });
    if (code === 0) return;
    throw new MissingError({
      what: 'The npm packages could not be installed.',
      why: 'Tally is built from them; their versions are those of package-lock.json.',
      command: `Check that the npm registry can be reached (npm ping), then: npm ${arguments_.join(' ')}`,
      detail: errorLines(output),
    });
  });
}

/**
 * npm says first what is wrong, and then how it can be called.
 *
 * @param {string} output
 */
function errorLines(output) {
  const lines = output.split('\n').filter((line) => line.startsWith('npm error') && line.trim() !== 'npm error');
  return (lines.length > 0 ? lines : output.split('\n')).slice(0, 12).join('\n');
}
