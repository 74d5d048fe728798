// @ts-check
import { say } from '../scripts/support/report.mjs';
import { openCommittedReader } from './committed-reader.mjs';
import { contenders } from './contenders.mjs';
import { percentile, rounded } from './statistics.mjs';
import { grouped, table } from './table.mjs';

/** Part of the records, from the first on, that is not counted: the programs warm up. */
const warmUpShare = 0.2;
const graceMs = 60_000;
const warmUpSeconds = 20;

/**
 * Record timestamp to read_committed visibility, under a load that does not wait for anyone.
 * @param {import('./run.mjs').Run} run
 */
export async function latency(run) {
  const { rate, seconds, commitMs, only, smoke } = run.options;
  /** @type {Record<string, { p50Ms: number, p99Ms: number }>} */
  const figures = {};
  /** @type {string[][]} */
  const rows = [];
  if (!smoke) {
    // As for throughput: it is the broker whose commits take longest at first.
    say('Warming the broker up with the raw client; this run does not count');
    await measureContender(run, 'rawClient', warmUpSeconds);
  }
  for (const name of only) {
    say(`${contenders[name].title}: ${grouped(rate)} records/s for ${seconds} s, commits every ${commitMs} ms`);
    const sorted = await measureContender(run, name, seconds);
    const at = (/** @type {number} */ share) => rounded(percentile(sorted, share), 1);
    figures[name] = { p50Ms: at(0.5), p99Ms: at(0.99) };
    rows.push([contenders[name].title, ...[0.5, 0.95, 0.99, 0.999, 1].map((share) => String(at(share)))]);
  }
  return {
    text: table(['', 'p50 ms', 'p95 ms', 'p99 ms', 'p99.9 ms', 'max ms'], rows),
    figures: { ...figures, rate, commitIntervalMs: commitMs },
  };
}

/**
 * @param {import('./run.mjs').Run} run @param {import('./arguments.mjs').ContenderName} name @param {number} seconds
 * @returns {Promise<Float64Array>} latencies in milliseconds, in ascending order
 */
async function measureContender(run, name, seconds) {
  const { rate } = run.options;
  const entry = await run.prepare(contenders[name], await run.topic(`${name}-payments`));
  const service = entry.start();
  try {
    await service.line('state running', 60_000);
    const reader = await openCommittedReader({
      brokers: run.cluster.brokers,
      topic: entry.output,
      starts: await run.cluster.stableEnds(entry.output),
    });
    const load = run.load({ topic: entry.input, records: rate * seconds, rate });
    try {
      return await collect(reader, rate * seconds, service);
    } finally {
      await load.stop();
      await reader.close();
    }
  } finally {
    await service.stop();
    await entry.remove();
  }
}

/**
 * @param {Awaited<ReturnType<typeof openCommittedReader>>} reader
 * @param {number} total
 * @param {import('./service-process.mjs').ServiceProcess} service
 */
async function collect(reader, total, service) {
  const latencies = new Float64Array(total);
  let seen = 0;
  let lastMs = performance.now();
  while (seen < total) {
    const messages = await reader.consume();
    const visibleMs = Date.now();
    for (const { timestamp } of messages) if (seen < total) latencies[seen++] = visibleMs - (timestamp ?? NaN);
    service.assertAlive();
    if (messages.length > 0) lastMs = performance.now();
    else if (performance.now() - lastMs > graceMs) throw new Error(`Only ${seen} of ${total} updates became visible.`);
  }
  return latencies.subarray(Math.floor(total * warmUpShare)).toSorted();
}
