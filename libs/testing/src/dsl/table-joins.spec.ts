import { type KTable, keyValueStore, nullable, StreamsBuilder, string, topic, type Topology, versionedStore } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { setting } from '../runtime/setting.suite.js';
import { driven } from './driven.suite.js';

const accounts = topic('accounts', { key: string(), value: nullable(string()) });
const limits = topic('limits', { key: string(), value: nullable(string()) });
const out = topic('out', { key: string(), value: nullable(string()) });

type Table = KTable<string, string>;
const pair = (one: string | null, other: string | null): string => `${one}|${other}`;

function topologyOf(make: (left: Table, right: Table) => Table, versionedMs?: number): Topology {
  const streams = new StreamsBuilder();
  const table = (of: typeof accounts): Table =>
    versionedMs === undefined
      ? streams.table(of)
      : streams.table(of, versionedStore(`${of.name}-versions`, { key: string(), value: string(), historyRetentionMs: versionedMs }));
  make(table(accounts), table(limits)).toStream().to(out);
  return streams.build();
}

const joining = (...parts: Parameters<typeof topologyOf>) => driven(topologyOf(...parts), out);

describe('joins of tables, without a read that waits,', () => {
  it('follow both tables, with the larger time of both rows and the headers of the update', async () => {
    const { pipe } = await joining((left, right) => left.join(right, pair));
    expect(await pipe(accounts, 'a', 'A', 10)).toEqual([]);
    expect(await pipe(limits, 'a', '5', 4, 'h')).toEqual(['a=A|5 @10 h']);
    expect(await pipe(limits, 'a', '6', 20)).toEqual(['a=A|6 @20']);
    expect(await pipe(accounts, 'a', null, 15)).toEqual(['a=null @20']);
  });

  it('keep rows without a partner, on the sides that are kept', async () => {
    const left = await joining((one, other) => one.leftJoin(other, pair));
    expect(await left.pipe(limits, 'a', '5', 1)).toEqual([]);
    expect(await left.pipe(accounts, 'b', 'B', 2)).toEqual(['b=B|null @2']);
    const outer = await joining((one, other) => one.outerJoin(other, pair));
    expect(await outer.pipe(limits, 'a', '5', 1)).toEqual(['a=null|5 @1']);
    expect(await outer.pipe(accounts, 'a', 'A', 2)).toEqual(['a=A|5 @2']);
    expect(await outer.pipe(limits, 'a', null, 3)).toEqual(['a=A|null @3']);
    expect(await outer.pipe(accounts, 'a', null, 4)).toEqual(['a=null @4']);
  });

  it('hold their rows with their times in the store that they are given, a versioned one too', async () => {
    const stored = keyValueStore('stored', { key: string(), value: string() });
    const plain = await joining((left, right) => left.join(right, pair, { store: stored }));
    await plain.pipe(accounts, 'a', 'A', 10);
    await plain.pipe(limits, 'a', '5', 4);
    expect(await plain.driver.editStore(stored, 0, (store) => store.getWithTimestamp('a'))).toEqual({ value: 'A|5', timestampMs: 10 });
    const versions = versionedStore('joined', { key: string(), value: string(), historyRetentionMs: 100 });
    const versioned = await joining((left, right) => left.join(right, pair, { store: versions }));
    await versioned.pipe(accounts, 'a', 'A', 10);
    await versioned.pipe(limits, 'a', '5', 4);
    await versioned.pipe(limits, 'a', '6', 20);
    expect(await versioned.driver.editStore(versions, 0, (store) => store.getAsOf('a', 19)?.value)).toBe('A|5');
  });

  it('pass over updates of versioned tables that came out of order, and count them', async () => {
    const { pipe, health } = await joining((left, right) => left.outerJoin(right, pair), 1_000);
    await pipe(accounts, 'a', 'A', 10);
    await pipe(limits, 'a', '5', 10);
    expect(await pipe(accounts, 'a', 'old', 9)).toEqual([]);
    expect(await pipe(limits, 'a', 'old', 9)).toEqual([]);
    expect(health().counters.recordsDropped).toBe(2);
    expect(await pipe(limits, 'a', '6', 11)).toEqual(['a=A|6 @11']);
  });

  it('join a table with itself', async () => {
    const { pipe } = await joining((left) => left.join(left, pair));
    expect(await pipe(accounts, 'a', 'A', 1)).toEqual(['a=A|A @1', 'a=A|A @1']);
  });

  it('are refused at start where the topics have unequal partition counts', async () => {
    const test = setting({ accounts: 2, limits: 3, out: 1 });
    const started = test.start(topologyOf((left, right) => left.join(right, pair)));
    await expect(started).rejects.toMatchObject({ code: 'NOT_COPARTITIONED' });
  });
});
