// @ts-check
/** `npm run demo`: sets the clone up, starts a broker, and runs the demonstration of the built ledger. Arguments are the demonstration's. */
import { join } from 'node:path';
import { chooseAllocator, provideAllocator } from './allocator.mjs';
import { ensureBroker } from './broker.mjs';
import { buildIfStale } from './build.mjs';
import { nodeOptions } from './node-options.mjs';
import { setUp } from './setup.mjs';
import { runMain } from './support/main.mjs';
import { passThrough } from './support/pass-through.mjs';
import { root } from './support/paths.mjs';
import { PlainError, say, tail } from './support/report.mjs';

const entry = join(root, 'dist', 'apps', 'ledger-tools', 'demo', 'demo.js');

await runMain(async () => {
  await setUp();
  const { code, output } = await buildIfStale();
  if (code !== 0) throw new PlainError(`The build failed:\n${tail(output)}`);
  const args = process.argv.slice(2);
  if (args.includes('--help')) return passThrough(process.execPath, [entry, ...args]);
  await provideAllocator();
  const allocator = chooseAllocator();
  const broker = await ensureBroker();
  say(`Allocator: ${allocator.title}`);
  try {
    const env = { ...process.env, ...allocator.env, NODE_OPTIONS: nodeOptions(), KAFKA_BROKERS: broker.brokers };
    return await passThrough(process.execPath, [entry, ...args], env);
  } finally {
    await broker.stop();
  }
});
