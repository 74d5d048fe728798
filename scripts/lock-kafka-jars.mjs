// @ts-check
/** Writes scripts/kafka-jars.lock.json anew: to be run with Maven after a change of scripts/broker/kafka-version.mjs. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { copyWithMaven } from './broker/maven.mjs';
import { fileName, lockFile, sha256 } from './broker/jar-lock.mjs';
import { runMain } from './support/main.mjs';
import { say } from './support/report.mjs';

/**
 * @param {string} repository a directory in Maven's own layout: group/artifact/version/file
 * @returns {import('./broker/jar-lock.mjs').LockedJar[]}
 */
function jarsIn(repository) {
  const jars = readdirSync(repository, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.jar'))
    .map((file) => {
      const parts = relative(repository, join(repository, file)).split('/');
      const [artifact = '', version = ''] = parts.slice(-3, -1);
      const jar = { group: parts.slice(0, -3).join('.'), artifact, version, sha256: sha256(readFileSync(join(repository, file))) };
      if (!file.endsWith(fileName(jar))) throw new Error(`${file} has a classifier, which the lock file cannot express.`);
      return jar;
    });
  return jars.sort((left, right) => (fileName(left) < fileName(right) ? -1 : 1));
}

await runMain(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tally-lock-'));
  try {
    await copyWithMaven(directory, ['-Dmdep.useRepositoryLayout=true']);
    const jars = jarsIn(directory);
    writeFileSync(lockFile, `{\n  "jars": [\n${jars.map((jar) => `    ${JSON.stringify(jar)}`).join(',\n')}\n  ]\n}\n`);
    say(`${jars.length} jars are locked in ${lockFile}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
