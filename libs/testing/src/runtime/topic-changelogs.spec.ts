import {
  int64,
  keyValueStore,
  MemoryEngine,
  nullable,
  StreamsBuilder,
  type StreamsWorker,
  string,
  topic,
  type Topology,
  output,
  seededRandom,
  type Hooks,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { simulatedError } from '../broker/index.js';
import { type Setting, setting } from './setting.suite.js';

const tombstoneRetentionMs = 60_000;
const seedsTotal = 20;
const accounts = topic('accounts', { key: nullable(string()), value: nullable(string()), tombstoneRetentionMs });
const out = topic('out', { key: nullable(string()), value: string() });
const rows = keyValueStore('rows', { key: string(), value: string() });

/** Tells of each record what its key's row was before and is now. */
function copying(topicIsChangelog = true): Topology {
  const streams = new StreamsBuilder();
  const source = streams.stream(accounts);
  const look = (when: string) => ({
    stores: { rows },
    forwards: output<string | null, string>(),
    process: (
      record: { readonly key: string | null; readonly value: string | null },
      context: {
        readonly stores: { readonly rows: { get(key: string): string | undefined } };
        forward(record: { key: string | null; value: string }): void;
      },
    ) =>
      context.forward({
        key: record.key,
        value: `${when} ${record.value}: ${record.key === null ? 'no key' : context.stores.rows.get(record.key)}`,
      }),
  });
  source.process(look('before')).to(out, { name: 'before' });
  streams.table(accounts, rows, { topicIsChangelog });
  source.process(look('after')).to(out, { name: 'after' });
  return streams.build();
}

function withAccounts(): Setting {
  const test = setting({ out: 1 });
  test.cluster.createTopic('accounts', 1, { 'cleanup.policy': 'compact', 'delete.retention.ms': String(tombstoneRetentionMs) });
  return test;
}

function put(test: Setting, ...records: readonly (readonly [key: string | null, value: string | null])[]): void {
  test.cluster.append(
    'accounts',
    0,
    records.map(([key, value]) => ({ key, value })),
  );
}

async function processed(test: Setting, worker: StreamsWorker, records: number): Promise<void> {
  await test.until(() => worker.health().counters.records === records);
}

async function rowsOf(test: Setting, worker: StreamsWorker): Promise<Record<string, string>> {
  const found: [string, string][] = [];
  const read = async (): Promise<void> => {
    for await (const [key, value] of worker.query(rows).all()) found.push([key, value]);
  };
  await test.clock.run(read());
  return Object.fromEntries(found);
}

function watched(): { readonly hooks: Hooks; readonly replayed: number[]; readonly rebuilt: string[] } {
  const [replayed, rebuilt]: [number[], string[]] = [[], []];
  const hooks: Hooks = {
    restored: (_task, _store, records) => void replayed.push(records),
    rebuilt: (_task, _store, reason) => void rebuilt.push(reason),
  };
  return { hooks, replayed, rebuilt };
}

describe('a table whose topic is its changelog', () => {
  it('has no changelog beside it, and the rows of its records', async () => {
    const test = setting({ accounts: 1, out: 1 });
    const worker = await test.start(copying());
    put(test, ['a', '1'], [null, 'x'], ['a', '2'], ['b', '3'], ['b', null]);
    await processed(test, worker, 5);
    expect(test.texts('out').map(([, text]) => text)).toEqual([
      'before 1: undefined',
      'after 1: 1',
      'before x: no key',
      'after x: no key',
      'before 2: 1',
      'after 2: 2',
      'before 3: undefined',
      'after 3: 3',
      'before null: 3',
      'after null: undefined',
    ]);
    expect([...test.cluster.topics.all()].map(({ name }) => name).toSorted()).toEqual(['accounts', 'out']);
    expect(copying().describe()).toContain('its changelog is topic accounts');
  });

  it('comes back as far as it was processed, on a disk that was kept, was killed, or is new', async () => {
    for (const how of ['stopped', 'killed', 'new disk'] as const) {
      const test = withAccounts();
      let disk = new MemoryEngine();
      const first = await test.start(copying(), {}, {}, disk);
      put(test, ['a', '1'], ['b', '1'], ['gone', '1'], ['gone', null]);
      await processed(test, first, 4);
      if (how === 'killed') disk.crash();
      await test.stop(first).catch(() => {});
      if (how === 'new disk') disk = new MemoryEngine();
      put(test, ['a', '2'], ['c', '1']);
      const seen = watched();
      const second = await test.start(copying(), {}, seen.hooks, disk);
      await processed(test, second, 2);
      const last = test
        .texts('out')
        .slice(8)
        .map(([, text]) => text);
      // What has not been processed yet is not in the table.
      expect(last).toEqual(['before 2: 1', 'after 2: 2', 'before 1: undefined', 'after 1: 1']);
      expect(await rowsOf(test, second)).toEqual({ a: '2', b: '1', c: '1' });
      expect(seen.rebuilt).toEqual([]);
      expect(seen.replayed).toEqual([how === 'stopped' ? 0 : 4]);
    }
  });

  it('keeps what was flushed when the process is killed later', async () => {
    const test = withAccounts();
    const disk = new MemoryEngine();
    const first = await test.start(copying(), { stateFlushIntervalMs: 2_000 }, {}, disk);
    put(test, ['a', '1'], ['b', '1']);
    await processed(test, first, 2);
    await test.clock.advance(3_000);
    put(test, ['c', '1']);
    await processed(test, first, 3);
    disk.crash();
    await test.stop(first).catch(() => {});
    const seen = watched();
    const second = await test.start(copying(), {}, seen.hooks, disk);
    await test.until(() => second.health().ready && second.health().tasks.length === 1);
    expect(seen.replayed).toEqual([1]);
    expect(await rowsOf(test, second)).toEqual({ a: '1', b: '1', c: '1' });
  });

  it('forgets what an aborted transaction had read, under each guarantee', async () => {
    for (const guarantee of ['exactly-once', 'at-least-once', 'at-most-once'] as const) {
      const test = withAccounts();
      const disk = new MemoryEngine();
      const first = await test.start(copying(), { guarantee, stateFlushIntervalMs: 100 }, {}, disk);
      put(test, ['a', '1']);
      await processed(test, first, 1);
      const request = guarantee === 'at-least-once' ? 'commitOffsets' : 'commitTransactionOffsets';
      test.cluster.faults.next(request, { error: simulatedError('UNKNOWN_MEMBER_ID') });
      put(test, ['a', '2'], ['b', '2']);
      await processed(test, first, 3);
      expect(test.cluster.faults.fired).toHaveLength(1);
      await test.clock.advance(1_000);
      disk.crash();
      await test.stop(first).catch(() => {});
      const second = await test.start(copying(), { guarantee }, {}, disk);
      await test.until(() => second.health().ready && second.health().tasks.length === 1);
      expect(await rowsOf(test, second)).toEqual({ a: '2', b: '2' });
    }
  });

  /** Appends, kills, stops, lost disks and aborts, drawn from the seed; then what came out of each key, in order. */
  async function history(seed: number): Promise<{ readonly expected: string[]; readonly found: string[] }> {
    const random = seededRandom(seed);
    const below = (count: number): number => Math.floor(random.next() * count);
    const test = withAccounts();
    const expected: string[] = [];
    const held = new Map<string, string>();
    let disk = new MemoryEngine();
    const options = { stateFlushIntervalMs: 200 };
    let worker = await test.start(copying(), options, {}, disk);
    const append = (): void => {
      const key = `k${below(4)}`;
      const value = below(5) === 0 ? null : `v${expected.length}`;
      put(test, [key, value]);
      expected.push(`${key}: before ${value}: ${held.get(key)}`, `${key}: after ${value}: ${value ?? undefined}`);
      if (value === null) held.delete(key);
      else held.set(key, value);
    };
    for (let step = 0; step < 40; step++) {
      const act = below(10);
      if (act < 5) for (let count = below(4); count >= 0; count--) append();
      else if (act < 8) await test.clock.advance(below(600));
      else if (act === 8) test.cluster.faults.next('commitTransactionOffsets', { error: simulatedError('UNKNOWN_MEMBER_ID') });
      else {
        if (below(2) === 0) disk.crash();
        await test.stop(worker).catch(() => {});
        if (below(3) === 0) disk = new MemoryEngine();
        // What comes while nobody runs lies behind the committed offset when the rows are restored.
        append();
        worker = await test.start(copying(), options, {}, disk);
      }
    }
    test.cluster.faults.clear();
    await test.until(() => test.texts('out').length >= expected.length && worker.health().ready);
    // What a reader of the topic sees already is confirmed a moment later.
    await test.clock.advance(1_000);
    expect(await rowsOf(test, worker)).toEqual(Object.fromEntries(held));
    return { expected, found: test.texts('out').map(([key, text]) => `${key}: ${text}`) };
  }

  it('knows of each record what its row was before, whatever happens between', { timeout: 120_000 }, async () => {
    for (let seed = 1; seed <= seedsTotal; seed++) {
      const { expected, found } = await history(seed);
      expect(found, `seed ${seed}`).toEqual(expected);
    }
  });

  it('is made anew where its topic forgot deletions that it has not seen, or where the group goes back', async () => {
    const test = withAccounts();
    const disk = new MemoryEngine();
    const first = await test.start(copying(), {}, {}, disk);
    put(test, ['gone', '1'], ['stays', '1']);
    await processed(test, first, 2);
    await test.stop(first);
    // Another disk goes on, and the topic is compacted meanwhile.
    const other = await test.start(copying(), {}, {}, new MemoryEngine());
    put(test, ['gone', null], ['new', '1']);
    await processed(test, other, 2);
    await test.stop(other);
    test.cluster.compact();
    await test.clock.advance(2 * tombstoneRetentionMs);
    test.cluster.compact();
    const seen = watched();
    const back = await test.start(copying(), {}, seen.hooks, disk);
    await test.until(() => back.health().ready && back.health().tasks.length === 1);
    expect(await rowsOf(test, back)).toEqual({ stays: '1', new: '1' });
    expect(seen.rebuilt).toEqual([expect.stringMatching(/tombstones behind it may be gone/)]);
    await test.stop(back);

    test.cluster.group('app').offsets.commit([{ topic: 'accounts', partition: 0, offset: 2, metadata: '' }]);
    const again = watched();
    const reset = await test.start(copying(), {}, again.hooks, disk);
    await processed(test, reset, 1);
    expect(again.rebuilt).toEqual([expect.stringMatching(/is behind the end of its topic, 2/)]);
    expect(
      test
        .texts('out')
        .slice(-2)
        .map(([, text]) => text),
    ).toEqual(['before 1: undefined', 'after 1: 1']);
  });

  it('passes over what its policy passed over, when it comes back', async () => {
    const test = withAccounts();
    const numbers = topic('accounts', { key: string(), value: int64(), tombstoneRetentionMs });
    const counts = keyValueStore('counts', { key: string(), value: int64() });
    const build = (): Topology => {
      const streams = new StreamsBuilder();
      streams.table(numbers, counts, { topicIsChangelog: true });
      return streams.build();
    };
    const options = { errors: { deserialization: { action: 'skip' } } } as const;
    const eight = Buffer.alloc(8, 1);
    test.cluster.append('accounts', 0, [
      { key: 'a', value: eight },
      { key: 'b', value: 'short' },
    ]);
    const first = await test.start(build(), options, {}, new MemoryEngine());
    await processed(test, first, 2);
    await test.stop(first);
    const second = await test.start(build(), options, {}, new MemoryEngine());
    await test.until(() => second.health().ready && second.health().tasks.length === 1);
    expect(await test.clock.run(second.query(counts).get('a'))).toBe(0x0101_0101_0101_0101n);
    expect(await test.clock.run(second.query(counts).get('b'))).toBeUndefined();
  });

  it('may be begun where there was a changelog, and is not given one again without a word', async () => {
    const test = withAccounts();
    const disk = new MemoryEngine();
    const first = await test.start(copying(false), {}, {}, disk);
    put(test, ['a', '1']);
    await processed(test, first, 1);
    await test.stop(first);
    const seen = watched();
    const second = await test.start(copying(), {}, seen.hooks, disk);
    put(test, ['b', '1']);
    await processed(test, second, 1);
    expect(await rowsOf(test, second)).toEqual({ a: '1', b: '1' });
    expect(seen.rebuilt).toEqual(['its topic was deleted and created again']);
    await test.stop(second);
    const third = await test.start(copying(false), {}, {}, disk);
    await test.until(() => third.health().phase === 'failed');
    expect(third.health().error).toMatchObject({
      code: 'STORE_INCOMPATIBLE',
      message: expect.stringMatching(/'rows' is a copy of topic 'accounts' so far/),
    });
  });

  it('is written by nobody else', async () => {
    const test = withAccounts();
    const streams = new StreamsBuilder();
    streams.table(accounts, rows, { topicIsChangelog: true });
    streams.stream(accounts).process({ stores: { rows }, process: (_record, { stores }) => stores.rows.put('x', 'y') });
    const worker = await test.start(streams.build());
    put(test, ['a', '1']);
    await test.until(() => worker.health().phase === 'failed');
    expect(worker.health().error?.message).toMatch(/Store 'rows' holds what topic 'accounts' holds, and is only read/);
    const other = await test.start(copying());
    expect(() => other.editStore(rows, 0, (store) => store.put('x', 'y'))).toThrow(/only read/);
  });

  it('is refused where an operator needs old rows, or topic and store do not fit', () => {
    const streams = new StreamsBuilder();
    streams.table(accounts, rows, { topicIsChangelog: true }).groupBy((row, key) => [row, key], { key: string(), value: string() });
    expect(() => streams.build()).toThrow(/behind table "accounts-table" needs to know what a row was.*"topicIsChangelog"/);
    const options = { topicIsChangelog: true };
    const plain = { key: string(), value: string() };
    const table =
      (made: object, store: object): (() => unknown) =>
      () =>
        new StreamsBuilder().table(topic('t', { ...plain, ...made }), keyValueStore('s', { ...plain, ...store }), options);
    expect(table({}, { ttlMs: 1 })).toThrow(/"ttlMs"/);
    expect(table({}, { version: 2 })).toThrow(/no schema version/);
    expect(table({}, { changelog: false })).toThrow(/"changelog: false"/);
    expect(table({ startAt: 'latest' }, {})).toThrow(/"startAt"/);
    expect(table({ timestamps: 'logAndSkip' }, {})).toThrow(/"timestamps"/);
    const views = new StreamsBuilder();
    views
      .table(accounts, rows, options)
      .filter((row) => row !== 'x')
      .toStream()
      .to(topic('o', { key: string(), value: nullable(string()) }));
    expect(views.build().topicChangelogs.get('rows')?.node).toBe('accounts-table');
  });
});
