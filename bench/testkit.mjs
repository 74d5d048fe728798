// @ts-check
/** What the test kit does in memory, without a broker: each figure is taken in a process of its own, on one core. */
import { say } from '../scripts/support/report.mjs';
import { figuresOf } from './service-process.mjs';
import { mediansOf, rounded } from './statistics.mjs';
import { grouped, table } from './table.mjs';

/** @typedef {import('./arguments.mjs').BenchOptions} BenchOptions */
/** @typedef {{ options: BenchOptions, memoryEnv: Readonly<Record<string, string>> }} Setting */

/**
 * @typedef {object} Measurement
 * @property {string} title
 * @property {string} unit
 * @property {(setting: Setting) => Promise<Record<string, number>>} measure the first figure is the one that is shown
 */

/** @type {Readonly<Record<string, Measurement>>} */
const measurements = {
  driver: { title: 'the test driver: records through the ledger, piped together', unit: 'records/s', measure: measureDriver },
  simulator: { title: 'the simulator: histories of the ledger', unit: 'histories/s', measure: measureSimulator },
};

/** @param {Setting} setting */
export async function testkit(setting) {
  const { repeat, smoke } = setting.options;
  /** @type {Record<string, Record<string, number>>} */
  const figures = {};
  /** @type {string[][]} */
  const rows = [];
  for (const [name, { title, unit, measure }] of Object.entries(measurements)) {
    const taken = [];
    for (let round = 1; round <= repeat; round++) {
      say(`${title}${repeat > 1 ? ` (${round} of ${repeat})` : ''}`);
      taken.push(await measure(setting));
    }
    const medians = mediansOf(taken);
    figures[name] = Object.fromEntries(Object.entries(medians).map(([figure, value]) => [figure, rounded(value, 2)]));
    rows.push([title, grouped(Object.values(medians)[0] ?? NaN), unit]);
  }
  return { text: smoke ? '' : table(['', 'figure', ''], rows), figures };
}

/** @param {Setting} setting */
function measureDriver({ options, memoryEnv }) {
  const { records, keys, seed } = options;
  return figuresOf(
    'The driven ledger',
    ['ledger-driver.mjs', `payments=${records}`, `accounts=${keys}`, `seed=${seed}`],
    options,
    memoryEnv,
  );
}

/** Of the size that a history must have to prove anything. */
const paymentsPerHistory = 300;

/** @param {Setting} setting */
function measureSimulator({ options, memoryEnv }) {
  const histories = options.smoke ? 5 : 200;
  const words = ['ledger-simulation.mjs', `histories=${histories}`, `payments=${paymentsPerHistory}`];
  return figuresOf('The simulated ledger', words, options, memoryEnv);
}
