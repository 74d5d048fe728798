/** The DSL on a cluster: two workers, one of them killed in the middle, make per key what one makes in memory. */
import { type ConsumedRecord, nullable, partitionForKey, repartitionTopicName, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaAddresses } from './kafka-setting.js';
import { Cluster } from './support/cluster.js';
import { families, type FamilyRecord, familyTopology, roleOf } from './support/dsl-families.mjs';
import { WorkerProcess } from './support/workers.js';

const partitions = 2;
const applicationId = `dsl-${Date.now().toString(36)}`;
const directory = mkdtempSync(join(tmpdir(), 'tally-dsl-'));
const names: Record<string, string> = {};
const phases = ['before', 'then'] as const;
for (const [family, { before, then }] of Object.entries(families)) {
  for (const role of [...Object.keys(before), ...Object.keys(then), 'output']) {
    names[roleOf(family, role)] = `${applicationId}-${roleOf(family, role)}`;
  }
}
const topology = familyTopology(names);
const text = string();
const nullableText = nullable(text);
const inputOf = (name: string) => topic(name, { key: text, value: nullableText });

/** Topic, key, and what came out of it for the key. */
type Outcome = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

function outcomeOf(records: readonly Pick<ConsumedRecord, 'topic' | 'key' | 'value' | 'timestampMs'>[]): Outcome {
  const outcome = new Map<string, Map<string, string[]>>();
  for (const { topic: name, key, value, timestampMs } of records) {
    const byKey = outcome.get(name) ?? new Map<string, string[]>();
    outcome.set(name, byKey);
    const keyText = text.deserialize(key ?? new Uint8Array());
    const values = byKey.get(keyText) ?? [];
    byKey.set(keyText, values);
    values.push(`${value === null ? 'null' : text.deserialize(value)} @${timestampMs}`);
  }
  return outcome;
}

async function inMemory(): Promise<Outcome> {
  const driver = await TopologyTestDriver.start(topology, { partitions });
  for (const phase of phases) {
    for (const [family, records] of Object.entries(families)) {
      for (const [role, each] of Object.entries(records[phase])) {
        const input = driver.input(inputOf(names[roleOf(family, role)] ?? ''));
        await input.pipeAll(each.map(([key, value, timestampMs]) => ({ key, value, timestampMs })));
      }
    }
  }
  const outcome = outcomeOf(driver.readEmitted());
  await driver.close();
  return outcome;
}

let cluster: Cluster;
const workers: WorkerProcess[] = [];

function start(name: string): WorkerProcess {
  const worker = new WorkerProcess({
    name,
    brokers: cluster.brokers,
    topology: 'families',
    topologies: new URL('support/dsl-families.mjs', import.meta.url).href,
    topics: names,
    options: { applicationId, stateDirectory: join(directory, name), stateFlushIntervalMs: 200 },
  });
  workers.push(worker);
  return worker;
}

/** Sends a part of the records of all families. */
async function send(phase: (typeof phases)[number], from: number, to: number): Promise<void> {
  const producer = cluster.broker.createOutputProducer();
  await producer.connect();
  for (const [family, records] of Object.entries(families)) {
    for (const [role, each] of Object.entries(records[phase])) {
      const part = each.slice(Math.floor(each.length * from), Math.floor(each.length * to));
      for (const record of part) while (!produce(record, names[roleOf(family, role)] ?? '')) await sleep(5);
    }
  }
  await producer.flush(60_000);
  expect(producer.takeFailures()).toEqual([]);
  await producer.close();

  function produce([key, value, timestampMs]: FamilyRecord, name: string): boolean {
    const bytes = Buffer.from(key);
    const partition = partitionForKey(bytes, partitions);
    return producer.produce(name, partition, bytes, value === null ? null : text.serialize(value), timestampMs, []);
  }
}

async function settled(): Promise<void> {
  const isGlobal = new Set([...topology.globalStores.values()].map((each) => each.topic.name));
  const read = Object.values(names).filter((name) => !name.endsWith('-output') && !isGlobal.has(name));
  const internal = topology.repartitionTopics.map(({ name }) => repartitionTopicName(applicationId, name));
  const outputs = Object.values(names).filter((name) => name.endsWith('-output'));
  for (const untilMs = Date.now() + 60_000; ; await sleep(100)) {
    const left = await cluster.unfinished(applicationId, [...read, ...internal], outputs);
    if (left.length === 0) return;
    const gone = workers.find(({ isAlive, isExpectedToEnd }) => !isAlive && !isExpectedToEnd);
    if (gone !== undefined || Date.now() > untilMs)
      throw new Error(`Not everything was processed: ${left.join(', ')}.\n${workers.map((each) => each.describe()).join('\n')}`);
  }
}

async function onCluster(): Promise<Outcome> {
  for (const name of Object.values(names)) await cluster.createTopic(name, partitions);
  await send('before', 0, 1);
  const [a, b] = [start('a'), start('b')];
  for (const worker of [a, b]) await worker.until('it has tasks', () => worker.tasksIn('running').length > 0);
  await settled();
  await send('then', 0, 0.3);
  await a.plan({ action: 'kill', point: 'afterOffsets', passes: 1 });
  await send('then', 0.3, 0.7);
  // It held a transaction with all that it had processed, and its offsets.
  expect((await a.killedByPlan()).point).toBe('afterOffsets');
  start('a');
  await send('then', 0.7, 1);
  await settled();
  const records = [];
  for (const name of Object.values(names)) if (name.endsWith('-output')) records.push(...(await cluster.read(name)));
  return outcomeOf(records);
}

/** What two runs must have alike of a key's records. */
function comparable(values: readonly string[] | undefined, compare: 'sequence' | 'set' | 'last'): readonly string[] {
  if (compare === 'last') return (values ?? []).slice(-1).map((value) => value.replace(/ @\d+$/, ''));
  return compare === 'set' ? (values ?? []).toSorted() : (values ?? []);
}

describe('the DSL with two workers, one of them killed', () => {
  let expected: Outcome;
  let actual: Outcome;
  beforeAll(async () => {
    cluster = await Cluster.connect(kafkaAddresses());
    expected = await inMemory();
    actual = await onCluster();
  }, 240_000);
  afterAll(async () => {
    for (const worker of workers) if (worker.isAlive) await worker.kill();
    await cluster.close();
    rmSync(directory, { recursive: true, force: true });
  });

  for (const [family, { compare }] of Object.entries(families)) {
    it(`makes per key the records of one worker in memory: ${family}`, () => {
      const name = names[roleOf(family, 'output')] ?? '';
      const [wanted, got] = [expected.get(name) ?? new Map(), actual.get(name) ?? new Map()];
      expect(wanted.size).toBeGreaterThan(2);
      const shown = (outcome: ReadonlyMap<string, readonly string[]>) =>
        Object.fromEntries([...wanted.keys()].toSorted().map((key: string) => [key, comparable(outcome.get(key), compare)]));
      expect(shown(got)).toEqual(shown(wanted));
      expect(got.size).toBe(wanted.size);
    });
  }
});
