/** One family of operators in Tally's DSL, exactly-once, one worker. */
import { createKafkaBroker } from '@tally/kafka';
import { LevelDbEngine, StreamsWorker } from '@tally/streams';
import { serviceArguments, wordReader } from '../service-arguments.mjs';
import { operatorTopology } from './operator-topologies.js';
import { runningReporter } from './running-reporter.js';

const words = process.argv.slice(2);
const { brokers, application, input, output, stateDirectory, commitMs, partitions } = serviceArguments(words);
const worker = new StreamsWorker(
  {
    topology: operatorTopology(wordReader(words)('family'), input, output),
    broker: createKafkaBroker({ brokers }),
    storeEngine: new LevelDbEngine(),
    hooks: runningReporter(partitions),
  },
  { applicationId: application, stateDirectory, commitIntervalMs: commitMs },
);
process.once('SIGTERM', () => void worker.stop());
await worker.start();
await worker.finished;
