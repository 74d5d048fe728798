/** The benchmark's work in Tally's DSL: the sum of payments per account, each update emitted, exactly-once, one worker. */
import '@tally/telemetry/register';
import { createKafkaBroker } from '@tally/kafka';
import { LevelDbEngine, StreamsBuilder, StreamsWorker } from '@tally/streams';
import { balances, balanceUpdates, payments, settings } from './payment-sums.js';
import { runningReporter } from './running-reporter.js';

const streams = new StreamsBuilder({ name: 'payment-sums' });
streams
  .stream(payments)
  .groupByKey()
  .aggregate(balances, { initial: () => 0n, add: (sum, payment) => sum + BigInt(payment.amount) })
  .toStream()
  .to(balanceUpdates);

const worker = new StreamsWorker(
  {
    topology: streams.build(),
    broker: createKafkaBroker({ brokers: settings.brokers, fetchProcess: settings.fetchProcess }),
    storeEngine: new LevelDbEngine(),
    hooks: runningReporter(settings.partitions),
  },
  { applicationId: settings.application, stateDirectory: settings.stateDirectory, commitIntervalMs: settings.commitMs },
);
process.once('SIGTERM', () => void worker.stop());
await worker.start();
await worker.finished;
