// @ts-check
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { which } from '../support/command.mjs';
import { PlainError, withProgress } from '../support/report.mjs';
import { installDirectory, userCache } from '../support/user-cache.mjs';
import { downloadJars } from './jar-download.mjs';
import { faultsOf, readJarLock, sha256 } from './jar-lock.mjs';
import { kafkaVersion } from './kafka-version.mjs';
import { copyWithMaven } from './maven.mjs';
import { mavenCentral } from './maven-central.mjs';

/**
 * Fetches the broker's jars into the user's cache, unless they are there.
 *
 * @returns {Promise<string>} the directory that holds them
 */
export async function kafkaJars(env = process.env) {
  const jars = readJarLock();
  const directory = join(userCache(env), `kafka-${kafkaVersion}-${sha256(JSON.stringify(jars)).slice(0, 8)}`);
  const mark = 'complete';
  if (existsSync(join(directory, mark))) return directory;
  await installDirectory(directory, async (draft) => {
    await fetchJars(jars, draft, env);
    const faults = faultsOf(draft, jars);
    if (faults.length > 0)
      throw new PlainError(`The broker's jars are not those of scripts/kafka-jars.lock.json:\n  ${faults.join('\n  ')}`);
    writeFileSync(join(draft, mark), '');
  });
  return directory;
}

/**
 * A repository that the user names comes first, then Maven with its own settings and mirrors, then Maven Central itself.
 *
 * @param {readonly import('./jar-lock.mjs').LockedJar[]} jars
 * @param {string} directory
 * @param {NodeJS.ProcessEnv} env
 */
async function fetchJars(jars, directory, env) {
  mkdirSync(directory, { recursive: true });
  const repository = env['TALLY_MAVEN_REPOSITORY'];
  if (!repository && which('mvn', env['PATH']) !== undefined) {
    await withProgress(`Fetching Apache Kafka ${kafkaVersion} with Maven (about 50 MB)`, () => copyWithMaven(directory));
    return;
  }
  const from = repository || (await mavenCentral());
  await withProgress(`Downloading Apache Kafka ${kafkaVersion} (about 50 MB)`, () => downloadJars(from, jars, directory));
}
