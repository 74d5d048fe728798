// @ts-check
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processIdentity } from '../support/process-identity.mjs';

const ownerFile = 'owner.json';

/**
 * Makes a directory for one broker, and removes those whose owner was killed before it could.
 *
 * @param {string} parent
 */
export function newDirectory(parent) {
  mkdirSync(parent, { recursive: true });
  for (const name of readdirSync(parent)) {
    if (isAbandoned(join(parent, name))) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const directory = join(parent, randomBytes(6).toString('hex'));
  mkdirSync(directory);
  writeFileSync(join(directory, ownerFile), JSON.stringify({ pid: process.pid, identity: processIdentity(process.pid) }));
  return directory;
}

/**
 * Lets the directory outlive this process, as its broker does: only `stop` removes it then.
 *
 * @param {string} directory
 */
export function disown(directory) {
  rmSync(join(directory, ownerFile), { force: true });
}

/** @param {string} directory */
function isAbandoned(directory) {
  try {
    const { pid, identity } = JSON.parse(readFileSync(join(directory, ownerFile), 'utf8'));
    return processIdentity(pid) !== identity;
  } catch {
    // No owner is named, or it is just being written.
    return false;
  }
}
