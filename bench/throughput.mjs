// @ts-check
import { say } from '../scripts/support/report.mjs';
import { contenders } from './contenders.mjs';
import { expectedSums } from './payments.mjs';
import { measureService, writeInput } from './run.mjs';
import { mediansOf, rounded } from './statistics.mjs';
import { checkSums } from './sums.mjs';
import { grouped, table } from './table.mjs';

/** @typedef {import('./arguments.mjs').ContenderName} ContenderName */

/**
 * @typedef {object} Figures
 * @property {number} recordsPerSecond from the first commit to the last
 * @property {number} cpuSecondsPerMillion user and system time of the whole process, its start included
 * @property {number} peakRssMb
 */
/** @typedef {Figures & { wallSeconds: number }} Measured with the time from the start of the process to the last commit */

/**
 * Runs the contenders one after another on the same input, and checks that all computed the same sums.
 * @param {import('./run.mjs').Run} run
 */
export async function throughput(run) {
  const { records, keys, seed, only, repeat, smoke } = run.options;
  const input = await run.topic('payments');
  say(`Writing ${grouped(records)} payments of ${grouped(keys)} accounts`);
  await writeInput(run, input, records);
  const expected = expectedSums(seed, keys, records);
  if (!smoke) await warmUp(run, input, expected);

  /** @type {Map<ContenderName, Measured[]>} */
  const measured = new Map(only.map((name) => [name, []]));
  for (let round = 1; round <= repeat; round++) {
    for (const name of only) {
      const figures = await measureContender(run, name, input, expected);
      measured.get(name)?.push(figures);
      say(
        `${contenders[name].title}: sums agree${smoke ? '' : `, ${grouped(figures.recordsPerSecond)} records/s`}${repeat > 1 ? ` (${round} of ${repeat})` : ''}`,
      );
    }
  }
  /** @type {Map<ContenderName, Measured>} */
  const medians = new Map();
  for (const [name, rows] of measured) medians.set(name, mediansOf(rows));
  return { text: smoke ? '' : report(medians), figures: figuresOf(medians) };
}

/**
 * The broker's own code is compiled while it works, on the cores that the contenders need: the first of them would pay for all.
 * @param {import('./run.mjs').Run} run @param {string} input @param {ReadonlyMap<string, number>} expected
 */
async function warmUp(run, input, expected) {
  say('Warming the broker up with the raw client; this run does not count');
  await measureContender(run, 'rawClient', input, expected);
}

/**
 * @param {import('./run.mjs').Run} run @param {ContenderName} name @param {string} input @param {ReadonlyMap<string, number>} expected
 * @param {Readonly<Record<string, string>>} [env]
 * @returns {Promise<Measured>}
 */
export async function measureContender(run, name, input, expected, env) {
  const { records } = run.options;
  const check = (/** @type {import('./run.mjs').Entry} */ { contender: { title, fold }, output }) =>
    checkSums({ contender: title, cluster: run.cluster, topic: output, fold, expected, records });
  const { result: _result, ...measured } = await measureService(run, contenders[name], input, records, check, env);
  return measured;
}

/** @param {ReadonlyMap<ContenderName, Measured>} medians */
function report(medians) {
  const rows = Array.from(medians, ([name, { recordsPerSecond, cpuSecondsPerMillion, peakRssMb, wallSeconds }]) => [
    contenders[name].title,
    grouped(recordsPerSecond),
    cpuSecondsPerMillion.toFixed(1),
    grouped(peakRssMb),
    wallSeconds.toFixed(1),
    medians.has('tally') ? ratio(medians, name).toFixed(2) : '-',
  ]);
  return table(['', 'records/s', 'CPU s per million', 'peak MB', 'whole run s', 'Tally is x times'], rows);
}

/** @param {ReadonlyMap<ContenderName, Measured>} medians @param {ContenderName} other */
function ratio(medians, other) {
  return (medians.get('tally')?.recordsPerSecond ?? NaN) / (medians.get(other)?.recordsPerSecond ?? NaN);
}

/**
 * What goes into the file; contenders that did not take part are absent.
 * @param {ReadonlyMap<ContenderName, Measured>} medians
 */
export function figuresOf(medians) {
  const figures = Array.from(medians, ([name, { recordsPerSecond, cpuSecondsPerMillion, peakRssMb }]) => [
    name,
    {
      recordsPerSecond: rounded(recordsPerSecond, 0),
      cpuSecondsPerMillion: rounded(cpuSecondsPerMillion, 2),
      peakRssMb: rounded(peakRssMb, 1),
    },
  ]);
  const others = /** @type {const} */ (['kafkaStreams', 'kafkaStreamsTransactional', 'rawClient']).filter(
    (name) => medians.has(name) && medians.has('tally'),
  );
  return { ...Object.fromEntries(figures), ratios: Object.fromEntries(others.map((name) => [name, rounded(ratio(medians, name), 3)])) };
}
