// @ts-check
import { writeFileSync } from 'node:fs';
import { chooseAllocator } from '../scripts/allocator.mjs';
import { nodeOptions } from '../scripts/node-options.mjs';
import { onExit } from '../scripts/support/on-exit.mjs';
import { isMain, runMain } from '../scripts/support/main.mjs';
import { PlainError, say } from '../scripts/support/report.mjs';
import { needsBroker, parseArguments, usage } from './arguments.mjs';
import { buildServices } from './build-services.mjs';
import { contenders } from './contenders.mjs';
import { prepareJavaPeer } from './java-peer.mjs';
import { latency } from './latency.mjs';
import { restore } from './restore.mjs';
import { operators } from './operators.mjs';
import { openRun } from './run.mjs';
import { killAll } from './service-process.mjs';
import { telemetry } from './telemetry.mjs';
import { testkit } from './testkit.mjs';
import { throughput } from './throughput.mjs';

const measurements = { throughput, latency, restore, telemetry, operators };

async function main() {
  const words = process.argv.slice(2);
  if (words.includes('--help')) {
    process.stdout.write(usage);
    return;
  }
  const options = parseArguments(words);
  if (process.platform !== 'linux')
    throw new PlainError('The benchmark reads the figures of its processes from /proc, which only Linux has.');
  const allocator = chooseAllocator(options.allocator === 'auto' ? process.env : { ...process.env, TALLY_ALLOCATOR: options.allocator });
  const memoryEnv = { ...allocator.env, NODE_OPTIONS: nodeOptions() };
  onExit(killAll);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, killAll);
  const { text, figures } = needsBroker(options.mode)
    ? await measureOnBroker(options, allocator.title, memoryEnv)
    : await testkit({ options, memoryEnv });
  if (text !== '') process.stdout.write(`${text}\n`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(figures, undefined, 2)}\n`);
}

/**
 * @param {import('./arguments.mjs').BenchOptions} options @param {string} allocator for the start-up line
 * @param {Readonly<Record<string, string>>} memoryEnv
 */
async function measureOnBroker(options, allocator, memoryEnv) {
  const brokers = process.env['KAFKA_BROKERS'];
  if (!brokers)
    throw new PlainError(
      'KAFKA_BROKERS is not set: start the benchmark with "npm run bench", which brings a broker along, or name your own.',
    );
  const java = options.only.some((name) => contenders[name].platform === 'java');
  const javaPeer = java ? await prepareJavaPeer() : undefined;
  if (options.only.some((name) => name.startsWith('tally'))) await buildServices();
  say(`Benchmark ${options.mode} on ${brokers}, Node ${process.versions.node}, allocator: ${allocator}`);

  const run = openRun({ options, brokers, javaPeer, memoryEnv });
  try {
    return await measurements[/** @type {keyof typeof measurements} */ (options.mode)](run);
  } finally {
    killAll();
    await run.close();
  }
}

if (isMain(import.meta.url)) await runMain(main);
