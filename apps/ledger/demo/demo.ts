/** Entry of the demo. Needs a cluster (KAFKA_BROKERS) and the built ledger; `npm run demo` supplies both. */
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ArgumentError } from '../load/arguments.js';
import { parseArguments, usage } from './arguments.js';
import { Progress } from './progress.js';
import { findFaults, toJson, toTable } from './results.js';
import { runDemo } from './run.js';

/** Seen from dist/apps/ledger-tools/demo. */
const entryFile = fileURLToPath(new URL('../../ledger/main.js', import.meta.url));

async function main(): Promise<number> {
  const args = parseArguments(process.argv.slice(2));
  if (args === 'help') {
    console.log(usage);
    return 0;
  }
  const brokers = process.env['KAFKA_BROKERS'] ?? '';
  if (brokers === '')
    throw new ArgumentError('KAFKA_BROKERS does not say where the cluster is. `npm run demo` starts a broker and sets it.');
  if (!existsSync(entryFile)) throw new ArgumentError(`The ledger is not built: ${entryFile} does not exist. \`npm run build\` builds it.`);
  const interrupted = new AbortController();
  // `once`: a second Ctrl-C ends the process at once, should cleaning up hang.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupted.abort(new ArgumentError(`Stopped by ${name}.`)));
  const results = await runDemo(args, { brokers, entryFile, progress: new Progress(process.stdout), signal: interrupted.signal });
  if (args.json !== undefined) writeFileSync(args.json, toJson(results));
  console.log(`\n${toTable(results)}\n`);
  const faults = findFaults(results, args.kills);
  if (faults.length === 0) {
    console.log(`Proved: each of ${results.payments} payments was counted exactly once.`);
    return 0;
  }
  console.error(
    ['Not proved:', ...faults.map((fault) => `  - ${fault}`), ...results.proof.examples.map((example) => `    ${example}`)].join('\n'),
  );
  return 1;
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(`\n${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  },
);
