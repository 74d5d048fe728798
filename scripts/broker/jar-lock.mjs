// @ts-check
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * One jar of the lock file.
 *
 * @typedef {{group: string, artifact: string, version: string, sha256: string}} LockedJar
 */

export const lockFile = fileURLToPath(new URL('../kafka-jars.lock.json', import.meta.url));

/**
 * @param {string} text of the lock file
 * @returns {LockedJar[]}
 */
export function parseJarLock(text) {
  /** @type {unknown} */
  const jars = JSON.parse(text).jars;
  if (!Array.isArray(jars) || jars.length === 0) throw new Error('The lock file of the broker names no jars.');
  for (const jar of jars) {
    const name = `${jar.group}:${jar.artifact}:${jar.version}`;
    if (!/^[\w.-]+:[\w.-]+:[\w.-]+$/.test(name)) throw new Error(`The lock file of the broker has a jar with a bad name: ${name}.`);
    if (!/^[0-9a-f]{64}$/.test(jar.sha256)) throw new Error(`The lock file of the broker has no SHA-256 checksum for ${name}.`);
  }
  return jars;
}

export function readJarLock() {
  return parseJarLock(readFileSync(lockFile, 'utf8'));
}

/** @param {LockedJar} jar */
export function fileName({ artifact, version }) {
  return `${artifact}-${version}.jar`;
}

/**
 * @param {LockedJar} jar
 * @returns {string} its path in a Maven repository
 */
export function repositoryPath(jar) {
  return `${jar.group.replaceAll('.', '/')}/${jar.artifact}/${jar.version}/${fileName(jar)}`;
}

/** @param {string | NodeJS.ArrayBufferView} bytes */
export function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Checks what was fetched, whoever fetched it.
 *
 * @param {string} directory
 * @param {readonly LockedJar[]} jars
 * @returns {string[]} what is wrong, one sentence per jar
 */
export function faultsOf(directory, jars) {
  const faults = [];
  for (const jar of jars) {
    try {
      const found = sha256(readFileSync(join(directory, fileName(jar))));
      if (found !== jar.sha256) faults.push(`${fileName(jar)} has the checksum ${found}; the lock file says ${jar.sha256}.`);
    } catch {
      faults.push(`${fileName(jar)} is missing.`);
    }
  }
  return faults;
}
