import {
  type Hooks,
  keyValueStore,
  MemoryEngine,
  nullable,
  StreamsBuilder,
  string,
  TallyError,
  topic,
  type StreamsWorker,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { SimulatedBroker } from '../broker/index.js';
import { type Setting, setting } from './setting.suite.js';

const tombstoneRetentionMs = 60_000;
const orders = topic('orders', { key: string(), value: string() });
const names = topic('names', { key: string(), value: nullable(string()), tombstoneRetentionMs });
const rows = keyValueStore('rows', { key: string(), value: string() });
const out = topic('out', { key: string(), value: string() });

function joining() {
  const streams = new StreamsBuilder();
  const table = streams.globalTable(names, rows);
  streams
    .stream(orders)
    .leftJoinGlobal(table, { key: (order) => order, join: (order, name) => `${order}=${name}` })
    .to(out);
  return streams.build();
}

/** A cluster with a compacted topic of names in two partitions. */
function withNames(): Setting {
  const test = setting({ orders: 1, out: 1 });
  test.cluster.createTopic('names', 2, { 'cleanup.policy': 'compact', 'delete.retention.ms': String(tombstoneRetentionMs) });
  return test;
}

function put(test: Setting, key: string, value: string | null, partition = 0): void {
  test.cluster.append('names', partition, [{ key, value }]);
}

/** Hooks that tell how many records were read before the start was over, and what was made anew. */
function watched(): { readonly hooks: Hooks; readonly read: () => number; readonly rebuilt: string[] } {
  let records = 0;
  const rebuilt: string[] = [];
  return {
    hooks: {
      restored: (_task, _store, count) => {
        records += count;
      },
      rebuilt: (task, store, reason) => void rebuilt.push(`${task} ${store}: ${reason}`),
    },
    read: () => records,
    rebuilt,
  };
}

async function rowsOf(test: Setting, worker: StreamsWorker): Promise<Record<string, string>> {
  const found: [string, string][] = [];
  await test.clock.run(
    (async () => {
      for await (const [key, value] of worker.query(rows).all()) found.push([key, value]);
    })(),
  );
  return Object.fromEntries(found);
}

describe('a global store', () => {
  it('is up to its topic before the first record is processed', async () => {
    const test = withNames();
    for (let index = 0; index < 50; index++) put(test, `k${index}`, 'old', index % 2);
    put(test, 'x', 'ada', 1);
    test.cluster.append('orders', 0, [{ key: 'k', value: 'x' }]);
    test.cluster.faults.add(({ name: request, clientId }) =>
      request === 'fetch' && clientId.endsWith('reader') ? { delayMs: 200 } : undefined,
    );
    const worker = await test.start(joining());
    await test.until(() => worker.health().counters.records === 1);
    expect(test.cluster.faults.fired.length).toBeGreaterThan(0);
    expect(test.texts('out')).toEqual([['k', 'x=ada']]);
  });

  it('does not wait for transactions that are open in its topic, and sees them when they have ended', async () => {
    const test = withNames();
    put(test, 'x', 'ada');
    const other = new SimulatedBroker(test.cluster, { process: 'other' });
    const producer = other.createTransactionalProducer({ transactionalId: 'other', transactionTimeoutMs: 600_000, clientId: 'other' });
    await test.clock.run(producer.init());
    await test.clock.run(producer.begin());
    producer.produce('names', 0, Buffer.from('x'), Buffer.from('eve'), 5, []);
    await test.clock.advance(500);
    const worker = await test.start(joining());
    expect(await rowsOf(test, worker)).toEqual({ x: 'ada' });
    await test.clock.run(producer.commit());
    await test.until(() => worker.health().globalStores[0]!.position >= 3);
    expect(await rowsOf(test, worker)).toEqual({ x: 'eve' });
    await test.clock.run(producer.close());
  });

  it('goes on where it was when the process is started again, and begins anew on another disk', async () => {
    const test = withNames();
    for (const key of ['a', 'b', 'c']) put(test, key, '1', key === 'b' ? 1 : 0);
    const disk = new MemoryEngine();
    const first = await test.start(joining(), {}, {}, disk);
    put(test, 'd', '1', 1);
    await test.until(() => first.health().globalStores[1]!.position === 2);
    disk.crash();
    await test.stop(first).catch(() => {});
    put(test, 'a', null);
    put(test, 'e', '1');
    for (const [engine, read] of [
      [disk, 2],
      [new MemoryEngine(), 6],
    ] as const) {
      const seen = watched();
      const worker = await test.start(joining(), {}, seen.hooks, engine);
      expect(await rowsOf(test, worker)).toEqual({ b: '1', c: '1', d: '1', e: '1' });
      expect(seen.read()).toBe(read);
      expect(seen.rebuilt).toEqual([]);
      await test.stop(worker);
    }
  });

  it('is made anew where what it missed can no longer be read', async () => {
    const test = withNames();
    for (const key of ['gone', 'stays']) put(test, key, '1');
    const disk = new MemoryEngine();
    await test.stop(await test.start(joining(), {}, {}, disk));
    put(test, 'gone', null);
    put(test, 'new', '1');
    test.cluster.compact();
    await test.clock.advance(2 * tombstoneRetentionMs);
    test.cluster.compact();
    const seen = watched();
    const worker = await test.start(joining(), {}, seen.hooks, disk);
    expect(await rowsOf(test, worker)).toEqual({ stays: '1', new: '1' });
    expect(seen.rebuilt).toEqual([expect.stringMatching(/^global rows: its position is 0 hours old/)]);
    expect(test.log.join('\n')).toMatch(/Global store 'rows' is made anew of its topic/);
  });

  it('is trusted after a quiet time, for it looks now and then whether it is at the end', async () => {
    const test = withNames();
    put(test, 'gone', '1');
    const disk = new MemoryEngine();
    const first = await test.start(joining(), {}, {}, disk);
    await test.clock.advance(3 * tombstoneRetentionMs);
    await test.stop(first);
    put(test, 'new', '1');
    const seen = watched();
    const worker = await test.start(joining(), {}, seen.hooks, disk);
    expect([seen.read(), seen.rebuilt]).toEqual([1, []]);
    expect(await rowsOf(test, worker)).toEqual({ gone: '1', new: '1' });
  });

  it('is made anew when its topic was, and says so while it runs', async () => {
    const test = withNames();
    put(test, 'old', '1');
    const disk = new MemoryEngine();
    const first = await test.start(joining(), {}, {}, disk);
    test.cluster.deleteTopic('names');
    test.cluster.createTopic('names', 1, { 'cleanup.policy': 'compact' });
    put(test, 'new', '1');
    await test.until(() => first.health().phase === 'failed');
    expect(first.health().error).toMatchObject({ code: 'TOPIC_RECREATED', message: expect.stringMatching(/global topic 'names'/) });
    const seen = watched();
    const worker = await test.start(joining(), {}, seen.hooks, disk);
    expect(await rowsOf(test, worker)).toEqual({ new: '1' });
    expect(seen.rebuilt).toEqual(['global rows: its topic was deleted and created again']);
  });

  it('is finished when the process ended in the middle of making it anew', async () => {
    const test = withNames();
    put(test, 'gone', '1');
    let writes = Number.POSITIVE_INFINITY;
    const disk = new MemoryEngine({
      faults: {
        beforeWrite(directory) {
          if (directory.endsWith('/global') && --writes === 0)
            throw new TallyError({ code: 'STATE_DISK_FULL', kind: 'fatal', message: 'full' });
        },
      },
    });
    await test.stop(await test.start(joining(), {}, {}, disk));
    test.cluster.deleteTopic('names');
    test.cluster.createTopic('names', 2, { 'cleanup.policy': 'compact' });
    put(test, 'new', '1');
    // The positions are deleted, the rows not yet.
    writes = 2;
    await expect(test.start(joining(), {}, {}, disk)).rejects.toThrow('full');
    expect(writes).toBe(0);
    const worker = await test.start(joining(), {}, {}, disk);
    expect(await rowsOf(test, worker)).toEqual({ new: '1' });
  });

  it('is kept up again after an outage, and takes partitions that were added', async () => {
    const test = withNames();
    put(test, 'a', '1');
    const worker = await test.start(joining());
    test.cluster.stop();
    await test.clock.advance(20_000);
    test.cluster.start();
    put(test, 'a', '2');
    await test.until(() => worker.health().globalStores[0]!.position === 2);
    test.cluster.addPartitions('names', 3);
    put(test, 'b', '1', 2);
    await test.until(() => worker.health().globalStores[2]?.position === 1);
    expect(await rowsOf(test, worker)).toEqual({ a: '2', b: '1' });
    expect(worker.query(rows).partitions()).toEqual([0, 1, 2]);
  });

  it('stops the worker where records were deleted before it had read them', async () => {
    const test = withNames();
    put(test, 'a', '1');
    const worker = await test.start(joining());
    const remove = test.cluster.faults.add(({ name: request, clientId }) =>
      request === 'fetch' && clientId.endsWith('reader') ? { lose: 'request' } : undefined,
    );
    put(test, 'a', '2');
    put(test, 'b', '2');
    test.cluster.topics.log({ topic: 'names', partition: 0 }).deleteBefore(2);
    await test.until(() => worker.health().phase === 'failed');
    remove();
    expect(worker.health().error).toMatchObject({
      code: 'OFFSET_OUT_OF_RANGE',
      message: expect.stringMatching(/Records 1 to 1 of the global topic names-0/),
    });
  });

  it('does not hold up a stop while it is being read', async () => {
    const test = withNames();
    put(test, 'a', '1');
    test.cluster.faults.add(({ name: request, clientId }) =>
      request === 'fetch' && clientId.endsWith('reader') ? { lose: 'request' } : undefined,
    );
    const worker = test.worker(joining());
    const starting = worker.start().then(
      () => 'started',
      (error: unknown) => (error as TallyError).code,
    );
    await test.clock.advance(1_000);
    expect(worker.health()).toMatchObject({ phase: 'starting', globalStores: [{ position: 0 }, { position: 0 }] });
    await test.stop(worker);
    expect(await starting).toBe('WORKER_STOPPED');
  });

  it('stops the worker when it is damaged, whatever the policy, and is made anew by the next start', async () => {
    const test = withNames();
    put(test, 'x', 'ada');
    let isDamaged = false;
    const disk = new MemoryEngine({
      faults: {
        beforeRead(directory) {
          if (isDamaged && directory.endsWith('/global'))
            throw new TallyError({ code: 'STATE_CORRUPT', kind: 'corrupt', message: 'a bad block' });
        },
      },
    });
    const first = await test.start(joining(), { errors: { processing: { action: 'skip' } } }, {}, disk);
    isDamaged = true;
    test.cluster.append('orders', 0, [{ key: 'k', value: 'x' }]);
    await test.until(() => first.health().phase === 'failed');
    expect(first.health().error).toMatchObject({ code: 'GLOBAL_STATE_CORRUPT' });
    isDamaged = false;
    await test.clock.run(first.finished.catch(() => {}));
    const seen = watched();
    const worker = await test.start(joining(), {}, seen.hooks, disk);
    expect(seen.read()).toBe(1);
    await test.until(() => worker.health().counters.records === 1);
    expect(test.texts('out')).toEqual([['k', 'x=ada']]);
  });

  it('needs its topic', async () => {
    const test = setting({ orders: 1, out: 1 });
    await expect(test.start(joining())).rejects.toMatchObject({ code: 'TOPIC_MISSING', message: expect.stringMatching(/'names'/) });
  });
});
