import { MemoryEngine, seededRandom, StreamsWorker, TopologyBuilder, int64, keyValueStore, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { SimulatedBroker, SimulatedCluster, VirtualClock } from '../index.js';

const amounts = topic('amounts', { key: string(), value: int64() });
const copies = topic('copies', { key: string(), value: int64() });
const sums = keyValueStore('sums', { key: string(), value: int64() });

function copying() {
  const builder = new TopologyBuilder({ name: 'copying' });
  builder.processor(builder.source(amounts), {
    name: 'copy',
    stores: [sums],
    process({ key, value }, context) {
      context.store(sums).put(key, (context.store(sums).get(key) ?? 0n) + value);
      for (let copy = 0; copy < 5; copy += 1) context.send(copies, key, value);
    },
  });
  return builder.build();
}

describe('a worker whose producer is slow', () => {
  it('makes epochs so small that they are committed in time', async () => {
    const records = 400;
    const clock = new VirtualClock();
    const cluster = new SimulatedCluster({ clock, random: seededRandom(1), latency: { minMs: 10, maxMs: 30 } });
    cluster.createTopic('amounts', 1);
    cluster.createTopic('copies', 1);
    cluster.append(
      'amounts',
      0,
      Array.from({ length: records }, (_, index) => ({ key: `k${index}`, value: Buffer.from(int64().serialize(1n) ?? []) })),
    );
    // Ten records in 40 ms or so: what is there at once would take ten times as long as a transaction may.
    const broker = new SimulatedBroker(cluster, { clock, producer: { queueRecordsMax: 10 } });
    const worker = new StreamsWorker(
      { topology: copying(), broker, storeEngine: new MemoryEngine(), clock, random: seededRandom(1) },
      { applicationId: 'app', stateDirectory: '/state', transactionTimeoutMs: 1_000, commitIntervalMs: 100 },
    );
    await clock.run(worker.start());
    await clock.runUntil(() => worker.health().counters.records === records, 300_000);
    expect(cluster.allRecords('copies')).toHaveLength(5 * records);
    expect(worker.health().counters.producersReplaced).toBeGreaterThan(0);
    await clock.run(worker.stop());
    expect(cluster.violations).toEqual([]);
  });
});
