// @ts-check
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlainError, say } from '../support/report.mjs';
import { fileName, repositoryPath, sha256 } from './jar-lock.mjs';

const parallelDownloads = 6;
const jarTimeoutMs = 120_000;
const attemptsMax = 3;

/**
 * Downloads jars from a Maven repository and refuses what does not have the locked checksum.
 *
 * @param {string} repository base URL
 * @param {readonly import('./jar-lock.mjs').LockedJar[]} jars
 * @param {string} directory
 */
export async function downloadJars(repository, jars, directory) {
  const waiting = [...jars];
  let done = 0;
  const worker = async () => {
    for (let jar = waiting.shift(); jar !== undefined; jar = waiting.shift()) {
      writeFileSync(join(directory, fileName(jar)), await download(repository, jar));
      done++;
      if (done % 10 === 0 || done === jars.length) say(`  ${done} of ${jars.length} jars`);
    }
  };
  await Promise.all(Array.from({ length: parallelDownloads }, worker));
}

/**
 * @param {string} repository
 * @param {import('./jar-lock.mjs').LockedJar} jar
 */
async function download(repository, jar) {
  const url = `${repository.replace(/\/+$/, '')}/${repositoryPath(jar)}`;
  for (let attempt = 1; ; attempt++) {
    const { bytes, fault } = await fetchOnce(url);
    if (bytes === undefined) {
      if (attempt < attemptsMax) continue;
      throw new PlainError(`${url} could not be downloaded: ${fault}.`);
    }
    const found = sha256(bytes);
    if (found !== jar.sha256) throw new PlainError(`${url} has the checksum ${found}; the lock file says ${jar.sha256}. It is not used.`);
    return bytes;
  }
}

/**
 * @param {string} url
 * @returns {Promise<{bytes?: Buffer, fault?: string}>}
 */
async function fetchOnce(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(jarTimeoutMs) });
    if (!response.ok) return { fault: `the server answered ${response.status}` };
    return { bytes: Buffer.from(await response.arrayBuffer()) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { fault: cause instanceof Error ? cause.message : String(cause) };
  }
}
