// @ts-check
import { eachCommitted } from './committed-reader.mjs';
import { partitionCount } from './cluster.mjs';

/**
 * How an output record changes the sum of its key: a contender with state writes the new sum, the raw client passes the payment on.
 * @typedef {(sum: number, value: Buffer) => number} Fold
 */

/** @type {Fold} */
export const newSum = (_sum, value) => Number(value.readBigInt64BE());

/** @type {Fold} */
export const addPayment = (sum, value) => sum + Number(JSON.parse(value.toString()).amount);

/**
 * Folds all committed records of an output topic.
 * @param {import('./cluster.mjs').Cluster} cluster
 * @param {string} topic
 * @param {Fold} fold
 * @returns {Promise<{ sums: Map<string, number>, records: number }>}
 */
export async function readSums(cluster, topic, fold) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  let records = 0;
  await eachCommitted(cluster, topic, ({ key, value }) => {
    if (key === null || key === undefined || value === null) throw new Error(`A record of ${topic} has no key or no value.`);
    const account = key.toString();
    sums.set(account, fold(sums.get(account) ?? 0, value));
    records++;
  });
  return { sums, records };
}

/**
 * @param {ReadonlyMap<string, number>} expected
 * @param {ReadonlyMap<string, number>} actual
 * @returns {string[]} what differs, at most a few examples; empty when nothing does
 */
export function differences(expected, actual) {
  const found = [];
  for (const [account, sum] of expected) {
    const other = actual.get(account);
    if (other !== sum) found.push(`${account}: ${other ?? 'nothing'} instead of ${sum}`);
  }
  for (const account of actual.keys()) if (!expected.has(account)) found.push(`${account}: ${actual.get(account)} instead of nothing`);
  const examples = found.slice(0, 5);
  return found.length > examples.length ? [...examples, `and ${found.length - examples.length} more`] : examples;
}

/**
 * Fails unless the output holds one update per input record and the right sums.
 * @param {object} claim
 * @param {string} claim.contender
 * @param {import('./cluster.mjs').Cluster} claim.cluster
 * @param {string} claim.topic
 * @param {Fold} claim.fold
 * @param {ReadonlyMap<string, number>} claim.expected
 * @param {number} claim.records
 */
export async function checkSums({ contender, cluster, topic, fold, expected, records }) {
  const output = await readSums(cluster, topic, fold);
  const wrong = differences(expected, output.sums);
  if (wrong.length > 0) throw new Error(`${contender} computed other sums over ${partitionCount} partitions: ${wrong.join('; ')}.`);
  if (output.records !== records)
    throw new Error(`${contender} wrote ${output.records} updates for ${records} payments; each update is to be emitted.`);
}
