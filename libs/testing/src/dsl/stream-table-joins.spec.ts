import {
  type KStream,
  type KTable,
  MemoryEngine,
  nullable,
  StreamsBuilder,
  string,
  topic,
  type Topology,
  versionedStore,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { setting } from '../runtime/setting.suite.js';
import { driven } from './driven.suite.js';

const payments = topic('payments', { key: nullable(string()), value: nullable(string()) });
const accounts = topic('accounts', { key: string(), value: nullable(string()) });
const out = topic('out', { key: nullable(string()), value: string() });
const versions = versionedStore('versions', { key: string(), value: string(), historyRetentionMs: 1_000 });

type Stream = KStream<string | null, string | null>;
const pair = (payment: string, account: string | null): string => `${payment}|${account}`;

function topologyOf(
  make: (stream: Stream, table: KTable<string, string>) => KStream<string, string> | KStream<string | null, string>,
  store?: typeof versions,
): Topology {
  const streams = new StreamsBuilder();
  make(streams.stream(payments), streams.table(accounts, store)).to(out);
  return streams.build();
}

const joining = (...parts: Parameters<typeof topologyOf>) => driven(topologyOf(...parts), out);

describe('joins of a stream with a table', () => {
  it('join each record with the row of its key as it is then, with the time and the headers of the record', async () => {
    const { pipe, health } = await joining((stream, table) =>
      stream.join(table, (payment, account, key) => `${key} ${pair(payment, account)}`),
    );
    expect(await pipe(payments, 'a', 'early', 1)).toEqual([]);
    expect(await pipe(accounts, 'a', 'A', 50)).toEqual([]);
    expect(await pipe(payments, 'a', 'P', 2, 'own')).toEqual(['a=a P|A @2 own']);
    await pipe(accounts, 'a', null, 51);
    expect(await pipe(payments, 'a', 'P', 52)).toEqual([]);
    await pipe(payments, 'a', null, 53);
    await pipe(payments, null, 'P', 53);
    expect(health().counters.recordsDropped).toBe(2);
  });

  it('forward what has no row in left joins, and what has no key', async () => {
    const { pipe, health } = await joining((stream, table) => stream.leftJoin(table, pair));
    expect(await pipe(payments, 'a', 'P', 1)).toEqual(['a=P|null @1']);
    expect(await pipe(payments, null, 'P', 2)).toEqual(['null=P|null @2']);
    await pipe(payments, null, null, 3);
    expect(health().counters.recordsDropped).toBe(1);
  });

  it('read rows of views and of versioned tables, those as of the time of the record', async () => {
    const views = await joining((stream, table) =>
      stream.join(
        table.filter((row) => row !== 'B').map((row) => `${row}!`),
        pair,
      ),
    );
    await views.pipe(accounts, 'a', 'A', 1);
    expect(await views.pipe(payments, 'a', 'P', 2)).toEqual(['a=P|A! @2']);
    await views.pipe(accounts, 'a', 'B', 3);
    expect(await views.pipe(payments, 'a', 'P', 4)).toEqual([]);
    const versioned = await joining(
      (stream, table) =>
        stream.leftJoin(
          table.map((row) => `${row}!`),
          pair,
        ),
      versions,
    );
    await versioned.pipe(accounts, 'a', 'A', 10);
    await versioned.pipe(accounts, 'a', 'B', 20);
    const rows: string[] = [];
    for (const timestampMs of [20, 19, 10, 9]) rows.push(...(await versioned.pipe(payments, 'a', 'P', timestampMs)));
    expect(rows).toEqual(['a=P|B! @20', 'a=P|A! @19', 'a=P|A! @10', 'a=P|null @9']);
  });

  it('go through a repartition topic where the key was replaced, in left joins without a key too', async () => {
    const rekeyed = (stream: Stream): Stream => stream.selectKey((value) => (value === 'none' ? null : 'a'), { key: nullable(string()) });
    const topology = topologyOf((stream, table) => rekeyed(stream).leftJoin(table, pair, { name: 'enriched' }));
    expect(topology.repartitionTopics.map(({ name }) => name)).toEqual(['enriched-left-repartition']);
    expect(topology.subTopologies.map(({ copartitioned }) => copartitioned)).toEqual([[['accounts', 'enriched-left-repartition']], []]);
    const { pipe } = await driven(topology, out);
    await pipe(accounts, 'a', 'A', 1);
    expect(await pipe(payments, 'x', 'P', 2)).toEqual(['a=P|A @2']);
    expect(await pipe(payments, 'x', 'none', 3)).toEqual(['null=none|null @3']);
    const inner = await joining((stream, table) => rekeyed(stream).join(table, pair));
    await inner.pipe(accounts, 'a', 'A', 1);
    expect(await inner.pipe(payments, 'x', 'none', 3)).toEqual([]);
    expect(inner.health().counters.recordsDropped).toBe(0);
  });

  it('are refused at start where the topics have unequal partition counts', async () => {
    const test = setting({ payments: 2, accounts: 3, out: 1 });
    const started = test.start(topologyOf((stream, table) => stream.join(table, pair)));
    await expect(started).rejects.toMatchObject({ code: 'NOT_COPARTITIONED' });
  });
});

describe('joins of a stream with a versioned table and a grace period', () => {
  const graceful = (kind: 'join' | 'leftJoin', graceMs: number) =>
    topologyOf(
      (stream, table) => (kind === 'join' ? stream.join(table, pair, { graceMs }) : stream.leftJoin(table, pair, { graceMs })),
      versions,
    );

  it('wait for late updates of the table, and forward in the order of the times, with the headers of the records', async () => {
    const { pipe } = await driven(graceful('leftJoin', 10), out);
    expect(await pipe(payments, 'b', 'P20', 20, 'b')).toEqual([]);
    expect(await pipe(payments, 'a', 'P20', 20, 'a')).toEqual([]);
    expect(await pipe(payments, 'a', 'P20 again', 20)).toEqual([]);
    expect(await pipe(payments, 'a', 'P15', 15, 'late')).toEqual([]);
    await pipe(accounts, 'a', 'A', 15);
    await pipe(accounts, 'a', 'B', 40);
    expect(await pipe(payments, 'c', 'P30', 30)).toEqual(['a=P15|A @15 late', 'a=P20|A @20 a', 'a=P20 again|A @20', 'b=P20|null @20 b']);
    // Later than the grace period: joined at once.
    expect(await pipe(payments, 'a', 'P19', 19)).toEqual(['a=P19|A @19']);
    expect(await pipe(payments, 'c', 'P40', 40)).toEqual(['c=P30|null @30']);
  });

  it('drop what has no key, which would have no place in the buffer, and what has no value', async () => {
    const { pipe, health } = await driven(graceful('leftJoin', 0), out);
    expect(await pipe(payments, null, 'P', 1)).toEqual([]);
    expect(await pipe(payments, 'a', null, 1)).toEqual([]);
    expect(await pipe(payments, 'a', 'P', 1)).toEqual(['a=P|null @1']);
    expect(health().counters.recordsDropped).toBe(2);
    const inner = await driven(graceful('join', 0), out);
    expect(await inner.pipe(payments, 'a', 'P', 1)).toEqual([]);
  });

  it('hold what they held, and know the time, when the process is started again, on the same disk or another one', async () => {
    for (const sameDisk of [true, false]) {
      const test = setting({ payments: 1, accounts: 1, out: 1 });
      const disk = new MemoryEngine();
      const topology = graceful('leftJoin', 10);
      const first = await test.start(topology, {}, {}, disk);
      test.cluster.append('payments', 0, [
        { key: 'b', value: 'P20', timestampMs: 20 },
        { key: 'a', value: 'P12', timestampMs: 12 },
      ]);
      await test.until(() => first.health().counters.records === 2);
      await test.stop(first);
      const second = await test.start(topology, {}, {}, sameDisk ? disk : new MemoryEngine());
      test.cluster.append('payments', 0, [{ key: 'late', value: 'P9', timestampMs: 9 }]);
      test.cluster.append('payments', 0, [{ key: 'a', value: 'P25', timestampMs: 25 }]);
      await test.until(() => second.health().counters.records === 2);
      await test.stop(second);
      expect(test.texts('out')).toEqual([
        ['late', 'P9|null'],
        ['a', 'P12|null'],
      ]);
    }
  });

  it('are refused where the table keeps no earlier rows, or serdes are missing for the buffer', () => {
    expect(() => topologyOf((stream, table) => stream.join(table, pair, { graceMs: 1, name: 'waiting' }))).toThrow(
      /"waiting" cannot join with a grace period, because its table keeps no earlier rows/,
    );
    expect(() => topologyOf((stream, table) => stream.map((value) => value ?? '').join(table, pair, { graceMs: 1 }), versions)).toThrow(
      /"payments-join" needs the value's serde, because it keeps records in a store/,
    );
    expect(() => topologyOf((stream, table) => stream.join(table, pair, { graceMs: -1, name: 'bad' }), versions)).toThrow(
      '"graceMs" of join "bad"',
    );
  });
});
