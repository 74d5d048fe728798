import {
  int64,
  keyValueStore,
  type ProcessorContext,
  sessionStore,
  sortedStore,
  string,
  timeOrdered,
  topic,
  type Topology,
  TopologyBuilder,
  versionedStore,
  windowStore,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { setting, type Setting } from './setting.suite.js';

const amounts = topic('amounts', { key: string(), value: int64() });
const seen = keyValueStore('seen', { key: string(), value: int64(), ttlMs: 100_000 });
const windows = windowStore('windows', { key: string(), value: int64(), retentionMs: 60_000, windowSizeMs: 1000 });
const sessions = sessionStore('sessions', { key: string(), value: int64(), retentionMs: 60_000 });
const versions = versionedStore('versions', { key: string(), value: int64(), historyRetentionMs: 60_000 });
const queue = sortedStore('queue', { key: timeOrdered(string()), value: int64() });
const stores = [seen, windows, sessions, versions, queue];

/** One processor writes the stores, another one reads what it has written for the same record, and adds to it. */
function sharing(read: (context: ProcessorContext, key: string, timestampMs: number) => void): Topology {
  const builder = new TopologyBuilder({ name: 'kinds' });
  const written = builder.processor(builder.source(amounts), {
    name: 'write',
    stores,
    process(record, context: ProcessorContext<string, bigint>) {
      const { key, value, timestampMs } = record;
      context.store(seen).put(key, value);
      context.store(windows).put(key, value, timestampMs);
      context.store(sessions).put(key, { startMs: timestampMs, endMs: timestampMs + 10 }, value);
      context.store(versions).put(key, value, timestampMs);
      context.store(queue).put({ timeMs: timestampMs, key }, value);
      if (value < 0n) throw new Error('a negative amount');
      context.forward(record);
    },
  });
  builder.processor(written, {
    name: 'read',
    stores,
    process: ({ key, timestampMs }, context) => read(context, key, timestampMs),
  });
  return builder.build();
}

const amount = (key: string, value: bigint, timestampMs: number) => ({ key, value: int64().serialize(value), timestampMs });

async function listed<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const entry of entries) list.push(entry);
  return list;
}

const records = [amount('a', 1n, 1000), amount('b', 2n, 1500), amount('a', -1n, 2000), amount('a', 3n, 2500), amount('', 4n, 3000)];

/** All records that there are have been processed and committed. */
async function processed(on: Setting, topology: Topology, options = {}) {
  const worker = await on.start(topology, { errors: { processing: { action: 'skip' as const } }, ...options });
  await on.until(() => worker.health().ready && worker.health().tasks.length === 1);
  await committed(on, worker);
  return worker;
}

async function committed(on: Setting, worker: Awaited<ReturnType<Setting['start']>>): Promise<void> {
  const end = on.cluster.allRecords('amounts').length;
  await on.until(() => worker.isSettled && Number(on.cluster.committedOffset('app', { topic: 'amounts', partition: 0 }).offset) === end);
}

async function answers(worker: Awaited<ReturnType<typeof processed>>): Promise<unknown> {
  return {
    windows: [
      await worker.query(windows).get('a', 2500),
      await worker.query(windows).fetch('a', 0, 9999),
      await listed(worker.query(windows).all()),
      await listed(worker.query(windows).fetchAll(1500, 2500)),
      worker.query(windows).partitions(),
    ],
    sessions: [
      await worker.query(sessions).get('b', { startMs: 1500, endMs: 1510 }),
      await worker.query(sessions).fetch('a'),
      await worker.query(sessions).findSessions('a', 1011, 9999),
      await listed(worker.query(sessions).all()),
    ],
    versions: [
      await worker.query(versions).get('a'),
      await worker.query(versions).getAsOf('a', 2000),
      await worker.query(versions).history('a'),
      await listed(worker.query(versions).all()),
    ],
    queue: await listed(worker.query(queue).all()),
    seen: [await worker.query(seen).get('a'), await listed(worker.query(seen).range('a', 'b')), await listed(worker.query(seen).all())],
  };
}

const latest = Number.POSITIVE_INFINITY;
const expected = {
  windows: [
    3n,
    [
      { startMs: 1000, value: 1n, timestampMs: 1000 },
      { startMs: 2500, value: 3n, timestampMs: 2500 },
    ],
    [
      [{ key: '', startMs: 3000, endMs: 4000 }, 4n],
      [{ key: 'a', startMs: 1000, endMs: 2000 }, 1n],
      [{ key: 'a', startMs: 2500, endMs: 3500 }, 3n],
      [{ key: 'b', startMs: 1500, endMs: 2500 }, 2n],
    ],
    [
      [{ key: 'a', startMs: 2500, endMs: 3500 }, 3n],
      [{ key: 'b', startMs: 1500, endMs: 2500 }, 2n],
    ],
    [0],
  ],
  sessions: [
    2n,
    [
      { startMs: 1000, endMs: 1010, value: 1n },
      { startMs: 2500, endMs: 2510, value: 3n },
    ],
    [{ startMs: 2500, endMs: 2510, value: 3n }],
    [
      [{ key: '', startMs: 3000, endMs: 3010 }, 4n],
      [{ key: 'a', startMs: 1000, endMs: 1010 }, 1n],
      [{ key: 'a', startMs: 2500, endMs: 2510 }, 3n],
      [{ key: 'b', startMs: 1500, endMs: 1510 }, 2n],
    ],
  ],
  versions: [
    { value: 3n, timestampMs: 2500, validToMs: latest },
    { value: 1n, timestampMs: 1000, validToMs: 2500 },
    [
      { value: 1n, timestampMs: 1000, validToMs: 2500 },
      { value: 3n, timestampMs: 2500, validToMs: latest },
    ],
    [
      ['', { value: 4n, timestampMs: 3000, validToMs: latest }],
      ['a', { value: 3n, timestampMs: 2500, validToMs: latest }],
      ['b', { value: 2n, timestampMs: 1500, validToMs: latest }],
    ],
  ],
  queue: [
    [{ timeMs: 1000, key: 'a' }, 1n],
    [{ timeMs: 1500, key: 'b' }, 2n],
    [{ timeMs: 2500, key: 'a' }, 3n],
    [{ timeMs: 3000, key: '' }, 4n],
  ],
  seen: [
    3n,
    [
      ['a', 3n],
      ['b', 2n],
    ],
    [
      ['', 4n],
      ['a', 3n],
      ['b', 2n],
    ],
  ],
};

describe('stores of all kinds', () => {
  it('are shared by processors, forget a record that failed, are queried, and come back from their changelogs', async () => {
    const on = setting({ amounts: 1 });
    const read: unknown[] = [];
    const topology = sharing((context, key, timestampMs) => {
      read.push([
        context.store(seen).get(key),
        context.store(windows).get(key, timestampMs),
        context.store(sessions).fetch(key).length,
        context.store(versions).get(key)?.value,
        context.store(queue).last()?.[1],
      ]);
    });
    on.cluster.append('amounts', 0, records);
    const worker = await processed(on, topology);
    expect(read).toEqual([
      [1n, 1n, 1, 1n, 1n],
      [2n, 2n, 1, 2n, 2n],
      [3n, 3n, 2, 3n, 3n],
      [4n, 4n, 1, 4n, 4n],
    ]);
    expect(await answers(worker)).toEqual(expected);
    await on.stop(worker);

    on.engine.crash();
    const successor = await processed(on, topology, { stateDirectory: '/other' });
    expect(await answers(successor)).toEqual(expected);
  });

  it('let a key expire everywhere as the time that they observe goes on, and write it into their changelogs', async () => {
    const on = setting({ amounts: 1 });
    const topology = sharing(() => undefined);
    on.cluster.append('amounts', 0, records);
    const worker = await processed(on, topology);
    for (let index = 0; index < 10; index++) on.cluster.append('amounts', 0, [amount('later', 5n, 10_000_000 + index)]);
    await committed(on, worker);
    expect(await listed(worker.query(seen).all())).toEqual([['later', 5n]]);
    expect(await worker.query(windows).fetch('a', 0, 9999)).toEqual([]);
    expect(await worker.query(sessions).fetch('a')).toEqual([]);
    expect(await worker.query(versions).history('a')).toEqual([{ value: 3n, timestampMs: 2500, validToMs: latest }]);
    for (const store of [seen, windows, sessions]) {
      const last = new Map(on.texts(`app-${store.name}-changelog`));
      const left = [...last].filter(([, value]) => value !== null).map(([key]) => key);
      expect(left.filter((key) => key?.startsWith('\u0001') === true)).toHaveLength(1);
    }
  });

  it('refuse handlers that take several records at a time', () => {
    for (const store of stores) {
      const builder = new TopologyBuilder();
      builder.processor(builder.source(amounts), {
        name: 'call',
        stores: [store],
        concurrency: { perTask: 8, orderedBy: 'key' },
        process: () => undefined,
      });
      expect(() => builder.build()).toThrow(expect.objectContaining({ code: 'TOPOLOGY_CONCURRENT_STORE' }));
    }
  });

  it('are refused to a reader whose records are in hand beside others of the task', async () => {
    const on = setting({ amounts: 1 });
    const builder = new TopologyBuilder();
    const source = builder.source(amounts);
    builder.processor(source, { name: 'call', concurrency: { perTask: 8, orderedBy: 'key' }, process: () => Promise.resolve() });
    const codes: unknown[] = [];
    builder.processor(source, {
      name: 'count',
      stores: [windows],
      process({ key, value, timestampMs }, context) {
        try {
          context.store(windows).put(key, value, timestampMs);
        } catch (error) {
          codes.push((error as { code?: string }).code);
        }
      },
    });
    on.cluster.append('amounts', 0, [amount('a', 1n, 1)]);
    await processed(on, builder.build());
    expect(codes).toEqual(['FOREIGN_KEY_STATE']);
  });
});
