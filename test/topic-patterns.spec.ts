/** A source of all topics that match a pattern, on a real broker: topics that come while workers run, a kill, and a restart. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { int64 } from '@tally/streams';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaAddresses } from './kafka-setting.js';
import { Cluster } from './support/cluster.js';
import { WorkerProcess } from './support/workers.js';

const topologies = new URL('support/pattern-topologies.mjs', import.meta.url).href;
const partitions = 4;
const keysTotal = 40;
const prefix = `pattern-${Date.now().toString(36)}`;
const output = `${prefix}-output`;

describe('a source of all topics that match a pattern', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tally-pattern-'));
  const processes: WorkerProcess[] = [];
  const rounds = new Map<string, number>();
  let cluster: Cluster;

  function start(name: string): WorkerProcess {
    const options = { applicationId: prefix, stateDirectory: join(directory, name) };
    const process = new WorkerProcess({
      name,
      brokers: cluster.brokers,
      topology: 'pattern',
      topologies,
      topics: { prefix, output },
      options,
    });
    processes.push(process);
    return process;
  }

  /** Sends each key as often as there are rounds to each of the topics. */
  async function send(count: number, ...topics: readonly string[]): Promise<void> {
    const producer = cluster.broker.createOutputProducer();
    await producer.connect();
    for (let round = 0; round < count; round++) {
      for (const topic of topics) {
        for (let key = 0; key < keysTotal; key++)
          producer.produce(`${prefix}-in-${topic}`, key % partitions, Buffer.from(`k${key}`), int64().serialize(1n), Date.now(), []);
      }
    }
    await producer.flush(30_000);
    await producer.close();
    for (const topic of topics) rounds.set(topic, (rounds.get(topic) ?? 0) + count);
  }

  /** Waits until everything has been counted; what is wrong with the counts. */
  async function wrongCounts(): Promise<readonly string[]> {
    const expected = [...rounds.values()].reduce((sum, count) => sum + count, 0);
    for (;;) {
      const records = await cluster.read(output);
      const counts = new Map<string, number[]>();
      for (const { key, value } of records) {
        const name = Buffer.from(key ?? []).toString();
        counts.set(name, [...(counts.get(name) ?? []), Number(int64().deserialize(value ?? new Uint8Array()))]);
      }
      if (records.length >= expected * keysTotal) {
        const wrong = [...counts].filter(([, list]) => list.some((count, index) => count !== index + 1) || list.length !== expected);
        return wrong.map(([key, list]) => `${key}: ${list.join(' ')}`);
      }
      await sleep(200);
    }
  }

  beforeAll(async () => {
    cluster = await Cluster.connect(kafkaAddresses());
    await cluster.createTopic(`${prefix}-in-a`, partitions);
    await cluster.createTopic(output, 1);
  });
  afterAll(async () => {
    for (const process of processes) if (process.isAlive) await process.kill();
    await cluster?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('takes in a topic that comes while two workers share the others', async () => {
    const workers = [start('a'), start('b')];
    await send(3, 'a');
    expect(await wrongCounts()).toEqual([]);
    await cluster.createTopic(`${prefix}-in-b`, partitions);
    await send(2, 'a', 'b');
    expect(await wrongCounts()).toEqual([]);
    expect(workers.flatMap(({ events }) => events.filter(({ event }) => event === 'aborted'))).toEqual([]);
  });

  it('keeps it when one of them is killed and started again', async () => {
    const [victim] = processes;
    await send(1, 'a', 'b');
    await victim?.kill();
    await send(2, 'a', 'b');
    start('a');
    await send(2, 'b', 'a');
    expect(await wrongCounts()).toEqual([]);
  });

  it('takes in one that came while nobody ran', async () => {
    for (const process of processes) if (process.isAlive) await process.stop();
    await cluster.createTopic(`${prefix}-in-c`, partitions);
    await send(1, 'a', 'b', 'c');
    start('b');
    expect(await wrongCounts()).toEqual([]);
  });
});
