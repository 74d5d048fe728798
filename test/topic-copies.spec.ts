/* oxlint-disable vitest/no-standalone-expect -- called from within tests */
/** Stores that are copies of topics, on a real broker: global tables, and tables whose topic is their changelog. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { int64 } from '@tally/streams';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaAddresses } from './kafka-setting.js';
import { Cluster } from './support/cluster.js';
import { WorkerProcess } from './support/workers.js';

const topologies = new URL('support/copy-topologies.mjs', import.meta.url).href;
const partitions = 2;
const accountsTotal = 3_000;

type Rows = Map<string, bigint>;

class Copies {
  readonly rates: Rows = new Map();
  readonly accounts: Rows = new Map();
  payments = 0;
  private readonly id = `copies-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`;
  private readonly directory = mkdtempSync(join(tmpdir(), 'tally-copies-'));
  private readonly processes: WorkerProcess[] = [];

  private constructor(readonly cluster: Cluster) {}

  static async begin(): Promise<Copies> {
    const copies = new Copies(await Cluster.connect(kafkaAddresses()));
    const compacted = { 'cleanup.policy': 'compact' };
    await copies.cluster.createTopic(copies.topic('rates'), 3, compacted);
    await copies.cluster.createTopic(copies.topic('accounts'), partitions, compacted);
    for (const name of ['payments', 'output']) await copies.cluster.createTopic(copies.topic(name), partitions);
    return copies;
  }

  topic(name: string): string {
    return `${this.id}-${name}`;
  }

  start(disk: string): WorkerProcess {
    const topics = Object.fromEntries(['rates', 'accounts', 'payments', 'output'].map((name) => [name, this.topic(name)]));
    const options = { applicationId: this.id, stateDirectory: join(this.directory, disk), stateFlushIntervalMs: 300 };
    const process = new WorkerProcess({ name: disk, brokers: this.cluster.brokers, topology: 'copies', topologies, topics, options });
    this.processes.push(process);
    return process;
  }

  /** Writes rows to one of the compacted topics, the partition by the key's last digit; null deletes. */
  async put(which: 'rates' | 'accounts', rows: Iterable<readonly [key: string, value: bigint | null]>): Promise<void> {
    const count = which === 'rates' ? 3 : partitions;
    const list = [...rows];
    for (const [key, value] of list) {
      if (value === null) this[which].delete(key);
      else this[which].set(key, value);
    }
    await this.send(
      this.topic(which),
      list.map(([key, value]) => [Number(key.slice(-1)) % count, key, value]),
    );
  }

  async pay(count: number): Promise<void> {
    const ids = Array.from({ length: count }, (_none, index) => BigInt(this.payments + index));
    this.payments += count;
    await this.send(
      this.topic('payments'),
      ids.map((id) => [Number(id) % partitions, `a${id}`, id]),
    );
  }

  /** The rate that each payment was joined with, by its id; waits until all have been. */
  async results(): Promise<ReadonlyMap<bigint, string>> {
    for (;;) {
      const texts = (await this.cluster.read(this.topic('output'))).map(({ value }) =>
        Buffer.from(value ?? [])
          .toString()
          .split(':'),
      );
      if (texts.length >= this.payments) {
        expect(texts).toHaveLength(this.payments);
        return new Map(texts.map(([id, rate]) => [BigInt(id ?? ''), rate ?? '']));
      }
      await sleep(100);
    }
  }

  /** Waits until the process holds what the topics hold. */
  async upToDate(process: WorkerProcess): Promise<void> {
    for (const name of ['rates', 'accounts'] as const) {
      const expected = [...this[name]].map(([key, value]) => `${key}=${value}`).toSorted();
      await expect
        .poll(async () => (await process.queryAll(name)).entries.map(([key, value]) => `${key}=${value}`).toSorted(), { timeout: 60_000 })
        .toEqual(expected);
    }
  }

  async end(): Promise<void> {
    for (const process of this.processes) if (process.isAlive) await process.kill();
    await this.cluster.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private async send(topic: string, records: readonly (readonly [partition: number, key: string, value: bigint | null])[]): Promise<void> {
    const producer = this.cluster.broker.createOutputProducer();
    await producer.connect();
    for (const [partition, key, value] of records) {
      const bytes = value === null ? null : int64().serialize(value);
      while (!producer.produce(topic, partition, Buffer.from(key), bytes, Date.now(), [])) await sleep(5);
    }
    await producer.flush(30_000);
    expect(producer.takeFailures()).toEqual([]);
    await producer.close();
  }
}

/** Records that were read before the process ran, of each store, over all partitions. */
function replayed(process: WorkerProcess, store: string): number {
  return process.of('restored').reduce((sum, event) => sum + (event.store === store ? event.records : 0), 0);
}

function* numbered(
  prefix: string,
  from: number,
  to: number,
  value: (index: number) => bigint | null,
): Generator<readonly [string, bigint | null]> {
  for (let index = from; index < to; index++) yield [`${prefix}${index}`, value(index)];
}

describe('stores that are copies of topics', () => {
  let copies: Copies;
  let first: WorkerProcess;

  beforeAll(async () => {
    copies = await Copies.begin();
  });
  afterAll(() => copies?.end());

  it('are there before the first record is processed', async () => {
    await copies.put(
      'rates',
      numbered('r', 0, 10, (index) => BigInt(index * 100)),
    );
    await copies.put('accounts', numbered('a', 0, accountsTotal, BigInt));
    await copies.pay(200);
    first = copies.start('a');
    const results = await copies.results();
    expect([...results].filter(([id, rate]) => rate !== String((id % 10n) * 100n))).toEqual([]);
    await copies.upToDate(first);
  });

  it('follow their topics', async () => {
    await copies.put('rates', [
      ['r3', 7n],
      ['r4', null],
    ]);
    await copies.put(
      'accounts',
      numbered('a', 0, 100, (index) => (index % 3 === 0 ? null : -BigInt(index))),
    );
    await copies.upToDate(first);
    await copies.pay(20);
    const results = await copies.results();
    expect([results.get(203n), results.get(204n), results.get(205n)]).toEqual(['7', 'none', '500']);
  });

  it('read the tail alone after a SIGKILL', async () => {
    await sleep(1_000);
    await first.kill();
    await copies.put('rates', [['r5', 1n]]);
    await copies.put(
      'accounts',
      numbered('a', 50, 60, () => 5n),
    );
    const second = copies.start('a');
    await copies.upToDate(second);
    await copies.pay(10);
    expect((await copies.results()).get(225n)).toBe('1');
    expect(replayed(second, 'rates')).toBe(1);
    expect(replayed(second, 'accounts')).toBeLessThan(200);
    expect(second.of('rebuilt')).toEqual([]);
    await second.stop();
  });

  it('come from their topics on a new disk', async () => {
    const third = copies.start('b');
    await copies.upToDate(third);
    expect(replayed(third, 'rates')).toBeGreaterThanOrEqual(copies.rates.size);
    expect(replayed(third, 'accounts')).toBeGreaterThanOrEqual(copies.accounts.size);
    await copies.pay(10);
    await copies.results();
    await third.stop();
  });
});
