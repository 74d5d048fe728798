// @ts-check
/**
 * A service that reads a topic, and counts by key what it has read. A record `stuck` is never done with; `slow` takes a while. Runs what was built.
 * Its settings are environment variables; its telemetry too, as that of any service.
 */
import '@tally/telemetry/register';
import { createKafkaBroker } from '@tally/kafka';
import { LevelDbEngine, StreamsWorker, TopologyBuilder, int64, keyValueStore, nullable, string, topic } from '@tally/streams';

/** @param {string} name */
const setting = (name) => process.env[name] ?? '';

const input = topic(setting('INPUT'), { key: nullable(string()), value: string() });
const counts = keyValueStore('counts', { key: string(), value: int64() });

const builder = new TopologyBuilder({ name: 'observed' });
builder.processor(builder.source(input), {
  name: 'count',
  stores: [counts],
  process({ key, value }, context) {
    if (value === 'stuck') return new Promise(() => undefined);
    const store = context.store(counts);
    store.put(key ?? '', (store.get(key ?? '') ?? 0n) + 1n);
    return undefined;
  },
});

/** @param {string} message */
const write = (message) => void process.stderr.write(`${message}\n`);
const worker = new StreamsWorker(
  {
    topology: builder.build(),
    broker: createKafkaBroker({ brokers: setting('KAFKA_BROKERS') }),
    storeEngine: new LevelDbEngine(),
    logger: { debug: () => undefined, info: write, warn: write, error: write },
  },
  { applicationId: setting('APPLICATION_ID'), stateDirectory: setting('STATE_DIRECTORY'), commitIntervalMs: 100, shutdownTimeoutMs: 2_000 },
);
const stop = () => {
  process.off('SIGTERM', stop);
  // As Nest ends a process: by the signal itself, once everything has stopped.
  void worker.stop().finally(() => process.kill(process.pid, 'SIGTERM'));
};
process.on('SIGTERM', stop);
await worker.start();
await worker.finished;
