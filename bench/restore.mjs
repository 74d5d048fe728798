// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../scripts/support/report.mjs';
import { contenders } from './contenders.mjs';
import { expectedSums } from './payments.mjs';
import { untilCommitted, writeInput } from './run.mjs';
import { rounded } from './statistics.mjs';
import { checkSums } from './sums.mjs';
import { grouped, table } from './table.mjs';

/** @typedef {import('./service-process.mjs').ServiceProcess} ServiceProcess */

/** How long the load goes on before the kill, so that a transaction is open then. */
const loadBeforeKillMs = 2_000;
const runningTimeoutMs = 300_000;

/**
 * `kill -9` to running: each contender has worked off the input, so that its changelog is long, and is killed under load; the same program is started
 * again at once in the same directory. Afterwards the sums must still be right.
 * @param {import('./run.mjs').Run} run
 */
export async function restore(run) {
  const { records, keys, rate, only } = run.options;
  /** @type {Partial<Record<import('./arguments.mjs').ContenderName, { runningMs: number, committedMs: number }>>} */
  const figures = {};
  /** @type {string[][]} */
  const rows = [];
  for (const name of only) {
    const { title } = contenders[name];
    say(`${title}: ${grouped(records)} payments of ${grouped(keys)} accounts, then kill -9 at ${grouped(rate)} records/s`);
    const measured = await measureContender(run, name);
    figures[name] = measured;
    rows.push([title, (measured.runningMs / 1_000).toFixed(2), (measured.committedMs / 1_000).toFixed(2)]);
  }
  return { text: table(['', 'kill to running s', 'kill to first commit s'], rows), figures };
}

/** @param {import('./run.mjs').Run} run @param {import('./arguments.mjs').ContenderName} name */
async function measureContender(run, name) {
  const { records } = run.options;
  const input = await run.topic(`${name}-payments`);
  await writeInput(run, input, records);
  const entry = await run.prepare(contenders[name], input);
  const victim = entry.start();
  /** @type {ServiceProcess | undefined} */
  let successor;
  // Another seed: what the load adds is another sequence of its own.
  const load = await prepareLoad(run, entry, victim);
  try {
    await sleep(loadBeforeKillMs);
    await victim.crash();
    const killedMs = performance.now();
    const before = await entry.offsets.committedRecords();
    successor = entry.start();
    const committed = untilCommitted(entry, successor, before + 1).then(() => performance.now() - killedMs);
    const running = successor.line('state running', runningTimeoutMs).then(() => performance.now() - killedMs);
    const [runningMs, committedMs] = await Promise.all([running, committed]);
    await checkAfterwards(run, entry, successor, await load.end());
    return { runningMs: rounded(runningMs, 0), committedMs: rounded(committedMs, 0) };
  } finally {
    await load.end();
    await victim.stop();
    await successor?.stop();
    await entry.remove();
  }
}

/** @param {import('./run.mjs').Run} run @param {import('./run.mjs').Entry} entry @param {ServiceProcess} victim */
async function prepareLoad(run, entry, victim) {
  try {
    await untilCommitted(entry, victim, run.options.records);
  } catch (error) {
    await victim.stop();
    throw error;
  }
  const load = run.load({ topic: entry.input, records: Number.MAX_SAFE_INTEGER, rate: run.options.rate, seed: run.options.seed + 1 });
  return {
    /** Ends the load; gives how many payments it wrote. */
    async end() {
      await load.stop();
      const [line] = await load.completed();
      return Number(line?.replace('written ', ''));
    },
  };
}

/** @param {import('./run.mjs').Run} run @param {import('./run.mjs').Entry} entry @param {ServiceProcess} service @param {number} added */
async function checkAfterwards(run, entry, service, added) {
  const { records, seed, keys } = run.options;
  await untilCommitted(entry, service, records + added);
  const expected = expectedSums(seed, keys, records);
  for (const [account, sum] of expectedSums(seed + 1, keys, added)) expected.set(account, (expected.get(account) ?? 0) + sum);
  const { title, fold } = entry.contender;
  await checkSums({ contender: title, cluster: run.cluster, topic: entry.output, fold, expected, records: records + added });
}
