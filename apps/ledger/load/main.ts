/** The load generator by itself: `node dist/apps/ledger-tools/load/main.js --payments 100000 --rate 5000`. */
import '@tally/telemetry/register';
import { parseArgs } from 'node:util';
import { wholeNumber, withUsage } from './arguments.js';
import { countLoad, generateLoad } from './payments.js';
import { sendLoad } from './sender.js';

const usage = `Sends payments to the ledger. KAFKA_BROKERS names the cluster (default localhost:9092).

  --payments N   payments to send; copies under the same event id come on top (default 100000)
  --accounts N   accounts that they are spread over (default 10000)
  --rate N       records per second (default: as fast as possible)
  --seed N       the same seed gives the same payments (default 1)
  --topic NAME   topic to send to (default payments)`;

/** Matches the ledger's own window; see apps/ledger/src/ledger.topics.ts. */
const windowMs = 3_600_000;
const stepMs = 50;

async function main(): Promise<void> {
  const { values } = withUsage(usage, () =>
    parseArgs({
      options: {
        payments: { type: 'string' },
        accounts: { type: 'string' },
        rate: { type: 'string' },
        seed: { type: 'string' },
        topic: { type: 'string' },
        help: { type: 'boolean' },
      },
    }),
  );
  if (values.help === true) return console.log(usage);
  const payments = wholeNumber('payments', values.payments, 100_000, 1, 100_000_000);
  const load = {
    payments,
    accounts: wholeNumber('accounts', values.accounts, 10_000, 1, 10_000_000),
    seed: wholeNumber('seed', values.seed, 1, 0, 4_294_967_295),
    startMs: Date.now() - payments * stepMs,
    stepMs,
    windowMs,
  };
  const ratePerSecond = wholeNumber('rate', values.rate, 10_000_000, 1, 10_000_000);
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  const startedMs = performance.now();
  const sent = await sendLoad(generateLoad(load), {
    brokers: process.env['KAFKA_BROKERS'] ?? 'localhost:9092',
    topic: values.topic ?? 'payments',
    ratePerSecond: () => ratePerSecond,
    signal: abort.signal,
  });
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(`${sent} of ${countLoad(payments).records} records sent in ${seconds.toFixed(1)} s`);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
