// @ts-check
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { downloadJars } from '../scripts/broker/jar-download.mjs';
import { findJava, oldestJava } from '../scripts/broker/java.mjs';
import { faultsOf, parseJarLock } from '../scripts/broker/jar-lock.mjs';
import { kafkaVersion } from '../scripts/broker/kafka-version.mjs';
import { mavenCentral } from '../scripts/broker/maven-central.mjs';
import { run, which } from '../scripts/support/command.mjs';
import { MissingError, PlainError, tail, withProgress } from '../scripts/support/report.mjs';
import { installDirectory, userCache } from '../scripts/support/user-cache.mjs';

const kafkaStreams = { group: 'org.apache.kafka', artifact: 'kafka-streams', version: kafkaVersion };
const lockFile = join(import.meta.dirname, 'kafka-streams-jars.lock.json');
const withoutJava = 'npm run bench -- throughput --only tally,tallyHandler,rawClient';
const sources = join(import.meta.dirname, 'kafka-streams');

/**
 * @typedef {object} JavaPeer
 * @property {string} java the executable
 * @property {string} classPath
 */

/**
 * Kafka Streams with its dependencies and the project's own peer, compiled; both kept in the user cache.
 * @returns {Promise<JavaPeer>}
 */
export async function prepareJavaPeer() {
  const { java } = await findJava();
  const javac = java === undefined ? undefined : compilerBeside(java.executable);
  if (java === undefined || javac === undefined) {
    throw new MissingError({
      what: `A Java development kit of version ${oldestJava} or newer is not installed.`,
      why: 'The Kafka Streams side of the benchmark is compiled and run with it.',
      command: `apt-get install openjdk-17-jdk-headless\nor leave Kafka Streams out: ${withoutJava}`,
    });
  }
  const jars = join(userCache(), `kafka-streams-${kafkaStreams.version}`);
  if (!existsSync(jars)) await withProgress(`Fetching Kafka Streams ${kafkaStreams.version}`, () => installDirectory(jars, resolveJars));
  const classPath = join(jars, '*');
  const files = readdirSync(sources)
    .filter((name) => name.endsWith('.java'))
    .map((name) => join(sources, name));
  const hash = createHash('sha256').update(classPath);
  for (const file of files) hash.update(file).update(readFileSync(file));
  const classes = join(userCache(), `bench-classes-${hash.digest('hex').slice(0, 16)}`);
  if (!existsSync(classes)) await installDirectory(classes, (directory) => compile(javac, files, classPath, directory));
  return { java: java.executable, classPath: `${classes}:${classPath}` };
}

/**
 * A repository that the user names comes first, then Maven with its own settings, then Maven Central itself, as for the broker.
 * @param {string} directory
 */
async function resolveJars(directory) {
  const jars = parseJarLock(readFileSync(lockFile, 'utf8'));
  const repository = process.env['TALLY_MAVEN_REPOSITORY'];
  const maven = which('mvn');
  if (repository || maven === undefined) await downloadJars(repository || (await mavenCentral()), jars, directory);
  else await copyWithMaven(maven, directory);
  const faults = faultsOf(directory, jars);
  if (faults.length > 0) throw new PlainError(`The jars of Kafka Streams are not those of ${lockFile}:\n  ${faults.join('\n  ')}`);
}

/** @param {string} maven @param {string} directory */
async function copyWithMaven(maven, directory) {
  const { group, artifact, version } = kafkaStreams;
  const pom = join(directory, 'pom.xml');
  writeFileSync(
    pom,
    `<project><modelVersion>4.0.0</modelVersion><groupId>tally</groupId><artifactId>bench</artifactId><version>1</version><dependencies>` +
      `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>` +
      `</dependencies></project>\n`,
  );
  const result = await run(maven, [
    '-q',
    '-B',
    '-f',
    pom,
    'dependency:copy-dependencies',
    '-DincludeScope=runtime',
    `-DoutputDirectory=${directory}`,
  ]);
  if (result.code !== 0) throw new PlainError(`Maven could not fetch Kafka Streams:\n${tail(result.output)}`);
}

/** @param {string} java @returns {string | undefined} */
function compilerBeside(java) {
  const beside = join(dirname(java), 'javac');
  return existsSync(beside) ? beside : which('javac');
}

/** @param {string} javac @param {readonly string[]} files @param {string} classPath @param {string} directory */
async function compile(javac, files, classPath, directory) {
  const result = await run(javac, ['-Xlint:all', '-Werror', '-cp', classPath, '-d', directory, ...files]);
  if (result.code !== 0) throw new Error(`The Kafka Streams side of the benchmark does not compile:\n${tail(result.output)}`);
}
