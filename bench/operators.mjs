// @ts-check
/** Each family of operators: in the test driver, on the broker, and in Kafka Streams on the same work, whose outputs must be the same. */
import { say } from '../scripts/support/report.mjs';
import { eachCommitted } from './committed-reader.mjs';
import { operatorContender } from './contenders.mjs';
import { measureService, writeInput } from './run.mjs';
import { figuresOf } from './service-process.mjs';
import { mediansOf, rounded } from './statistics.mjs';
import { grouped, table } from './table.mjs';

/** @typedef {{ tally?: number, kafkaStreams?: number, driver: number }} Speeds records/s */

/** @param {import('./run.mjs').Run} run */
export async function operators(run) {
  const { records, keys, repeat, families } = run.options;
  const input = await run.topic('payments');
  say(`Writing ${grouped(records)} payments of ${grouped(keys)} accounts`);
  await writeInput(run, input, records);
  /** @type {Record<string, Speeds & { ratio?: number }>} */
  const figures = {};
  for (const family of families) {
    const rounds = [];
    for (let round = 0; round < repeat; round++) rounds.push(await measureFamily(run, family, input));
    const { driver, tally, kafkaStreams } = mediansOf(rounds);
    figures[family] = {
      driver: rounded(driver, 0),
      ...(tally === undefined ? {} : { tally: rounded(tally, 0) }),
      ...(kafkaStreams === undefined ? {} : { kafkaStreams: rounded(kafkaStreams, 0) }),
      ...(tally === undefined || kafkaStreams === undefined ? {} : { ratio: rounded(tally / kafkaStreams, 3) }),
    };
  }
  return { text: run.options.smoke ? '' : report(figures), figures };
}

/** @param {import('./run.mjs').Run} run @param {string} family @param {string} input @returns {Promise<Speeds>} */
async function measureFamily(run, family, input) {
  const { only, records, smoke } = run.options;
  /** @type {Speeds} */
  const speeds = { driver: await measureDriver(run, family) };
  /** @type {{ title: string, output: Output } | undefined} */
  let first;
  for (const name of /** @type {const} */ (['tally', 'kafkaStreams'])) {
    if (!only.includes(name)) continue;
    const contender = operatorContender(name, family);
    const { recordsPerSecond, result: output } = await measureService(run, contender, input, records, ({ output: topic }) =>
      readOutput(run.cluster, topic),
    );
    speeds[name] = recordsPerSecond;
    say(`${contender.title}, ${family}: ${grouped(output.records)} results${smoke ? '' : `, ${grouped(recordsPerSecond)} records/s`}`);
    first ??= { title: contender.title, output };
    if (first.output.records !== output.records || first.output.checksum !== output.checksum)
      throw new Error(`${contender.title} and ${first.title} have made different results of the family ${family}.`);
  }
  return speeds;
}

/** @param {import('./run.mjs').Run} run @param {string} family */
async function measureDriver({ options: { records, keys, seed, smoke, profile }, env }, family) {
  // A part of the records takes long enough.
  const words = [`family=${family}`, `payments=${Math.ceil(smoke ? records : records / 5)}`, `accounts=${keys}`, `seed=${seed}`];
  const { recordsPerSecond } = await figuresOf(`The driven ${family}`, ['operators-driver.mjs', ...words], { profile }, env);
  return recordsPerSecond ?? NaN;
}

/** @typedef {{ records: number, checksum: number }} Output independent of the order between keys and partitions */

/**
 * @param {import('./cluster.mjs').Cluster} cluster @param {string} topic
 * @returns {Promise<Output>}
 */
async function readOutput(cluster, topic) {
  let [records, checksum] = [0, 0];
  await eachCommitted(cluster, topic, ({ key, value }) => {
    records++;
    checksum = (checksum + hashOf(key, value)) % Number.MAX_SAFE_INTEGER;
  });
  return { records, checksum };
}

/** FNV-1a over both, @param {import('@confluentinc/kafka-javascript').Message['key']} key @param {Buffer | null} value */
function hashOf(key, value) {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(key ?? '')) hash = Math.imul(hash ^ byte, 0x01000193);
  for (const byte of value ?? [0xff]) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** @param {Record<string, Speeds & { ratio?: number }>} figures */
function report(figures) {
  const shown = (/** @type {number | undefined} */ speed) => (speed === undefined ? '-' : grouped(speed));
  const rows = Object.entries(figures).map(([family, { tally, kafkaStreams, driver, ratio }]) => [
    family,
    shown(driver),
    shown(tally),
    shown(kafkaStreams),
    ratio?.toFixed(2) ?? '-',
  ]);
  return table(['records/s', 'in the driver', 'Tally', 'Kafka Streams', 'Tally is x times'], rows);
}
