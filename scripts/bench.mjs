// @ts-check
/** `npm run bench -- throughput|latency|restore|telemetry|testkit`: sets the clone up, starts a broker where one is needed, and measures. Arguments are those of bench/main.mjs. */
import { join } from 'node:path';
import { needsBroker, parseArguments } from '../bench/arguments.mjs';
import { provideAllocator } from './allocator.mjs';
import { ensureBroker } from './broker.mjs';
import { buildIfStale } from './build.mjs';
import { setUp } from './setup.mjs';
import { runMain } from './support/main.mjs';
import { passThrough } from './support/pass-through.mjs';
import { root } from './support/paths.mjs';
import { PlainError, tail } from './support/report.mjs';

const entry = join(root, 'bench', 'main.mjs');

await runMain(async () => {
  await setUp();
  const args = process.argv.slice(2);
  if (args.length === 0 || args.includes('--help'))
    return passThrough(process.execPath, [entry, ...(args.length === 0 ? ['--help'] : args)]);
  const { mode, allocator } = parseArguments(args);
  if (allocator === 'auto') await provideAllocator();
  const { code, output } = await buildIfStale();
  if (code !== 0) throw new PlainError(`The build failed:\n${tail(output)}`);
  if (!needsBroker(mode)) return passThrough(process.execPath, [entry, ...args]);
  const broker = await ensureBroker();
  try {
    return await passThrough(process.execPath, [entry, ...args], { ...process.env, KAFKA_BROKERS: broker.brokers });
  } finally {
    await broker.stop();
  }
});
