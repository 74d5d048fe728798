import { describe, expect, it } from 'vitest';
import { noHeaders, type StreamRecord } from '../core/record.js';
import { int64, nullable, string } from '../serde/index.js';
import { keyValueStore, topic } from '../topology/index.js';
import { StreamsBuilder, type KTable } from './index.js';
import { runner } from './topology-runner.suite.js';

const accounts = topic('accounts', { key: nullable(string()), value: nullable(string()) });
const rows = topic('rows', { key: string(), value: nullable(string()) });
const totals = topic('totals', { key: string(), value: nullable(int64()) });
const stored = keyValueStore('stored', { key: string(), value: string() });

const record = (key: string | null, value: unknown, timestampMs = 5): StreamRecord<unknown, unknown> => ({
  key,
  value,
  timestampMs,
  headers: noHeaders,
});

/** What comes out of a table over `accounts`, and the stores of its topology. */
function changesOf(
  make: (table: KTable<string, string>) => KTable<string, string>,
  store?: typeof stored,
): {
  pipe: (key: string | null, value: string | null, timestampMs?: number) => unknown[];
  stores: string[];
} {
  const streams = new StreamsBuilder();
  make(streams.table(accounts, store)).toStream().to(rows);
  const topology = streams.build();
  const { pipe, sent } = runner(topology);
  return {
    stores: [...topology.stores.keys()],
    pipe(key, value, timestampMs) {
      pipe('accounts', record(key, value, timestampMs));
      return sent.splice(0).map(([, , row]) => row);
    },
  };
}

describe('KTable', () => {
  it('has the rows of a topic, and no store unless somebody needs one', () => {
    const { pipe, stores } = changesOf((table) => table);
    expect(stores).toEqual([]);
    expect(pipe('a', 'x')).toEqual(['x']);
    expect(pipe(null, 'x')).toEqual([]);
    expect(pipe('a', null)).toEqual([null]);
  });

  it('deletes rows once that a filter lets through no more, where it knows the old ones', () => {
    const { pipe } = changesOf((table) => table.filter((row) => row.length > 1), stored);
    expect(pipe('a', 'x')).toEqual([]);
    expect(pipe('a', 'xy')).toEqual(['xy']);
    expect(pipe('a', 'x')).toEqual([null]);
    expect(pipe('a', 'y')).toEqual([]);
  });

  it('deletes what a filter refuses each time where nothing tells what was before', () => {
    const { pipe } = changesOf((table) => table.filterNot((row) => row.length > 1));
    expect(pipe('a', 'xy')).toEqual([null]);
    expect(pipe('a', 'xyz')).toEqual([null]);
    expect(pipe('a', 'x')).toEqual(['x']);
  });

  it('maps rows into a store of its own, and deletions not at all', () => {
    const calls: unknown[] = [];
    const upper = keyValueStore('upper', { key: string(), value: string() });
    const { pipe, stores } = changesOf((table) =>
      table.map((row, key) => (calls.push(row), `${key}${row}`.toUpperCase()), { store: upper }).filter((row) => row !== 'AX'),
    );
    expect(stores).toEqual(['upper']);
    expect(pipe('a', 'y')).toEqual(['AY']);
    expect(pipe('a', null)).toEqual([null]);
    expect(pipe('a', 'x')).toEqual([]);
    expect(calls).toEqual(['y', 'x']);
  });

  it('shows deletions to a transformation with stores', () => {
    const calls = keyValueStore('calls', { key: string(), value: int64() });
    const { pipe } = changesOf((table) =>
      table.transformValues({
        stores: { calls },
        transform(row, key, context) {
          const count = (context.stores.calls.get(key) ?? 0n) + 1n;
          context.stores.calls.put(key, count);
          return row === null ? null : `${row}#${count}`;
        },
      }),
    );
    expect(pipe('a', 'x')).toEqual(['x#1']);
    expect(pipe('a', null)).toEqual([null]);
    expect(pipe('a', 'y')).toEqual(['y#3']);
  });

  it('moves rows between groups: out of the one first, then into the other', () => {
    const streams = new StreamsBuilder();
    const sums = keyValueStore('sums', { key: string(), value: int64() });
    const grouped = streams
      .table(accounts)
      .groupBy((row) => [row.split(',')[0] ?? null, BigInt(row.split(',')[1] ?? 0)], { key: string(), value: int64(), name: 'by-branch' });
    grouped
      .aggregate(sums, { initial: () => 0n, add: (sum, amount) => sum + amount, subtract: (sum, amount) => sum - amount })
      .toStream()
      .to(totals);
    grouped.count({ name: 'counted' });
    grouped.reduce(keyValueStore('reduced', { key: string(), value: int64() }), {
      add: (left, right) => left * 10n + right,
      subtract: (left, right) => left - right,
    });
    const topology = streams.build();
    expect([...topology.stores.keys()]).toEqual(['accounts-table', 'sums', 'counted', 'reduced']);
    expect(topology.repartitionTopics.map(({ name }) => name)).toEqual(['by-branch-repartition']);
    const { pipe, sent, entries } = runner(topology);
    const totalsAfter = (key: string, value: string | null, timestampMs: number): unknown[] => {
      pipe('accounts', record(key, value, timestampMs));
      return sent.splice(0).map(([, group, total, at]) => [group, total, at]);
    };
    expect(totalsAfter('a', 'north,3', 5)).toEqual([['north', 3n, 5]]);
    expect(totalsAfter('b', 'north,4', 9)).toEqual([['north', 7n, 9]]);
    expect(totalsAfter('a', 'north,1', 6)).toEqual([['north', 5n, 9]]);
    expect(totalsAfter('a', 'south,1', 7)).toEqual([
      ['north', 4n, 9],
      ['south', 1n, 7],
    ]);
    expect(totalsAfter('a', null, 8)).toEqual([['south', 0n, 8]]);
    expect(entries.get('counted')).toEqual(
      new Map([
        ['north', { value: 1n, timestampMs: 9 }],
        ['south', { value: 0n, timestampMs: 8 }],
      ]),
    );
    expect(entries.get('reduced')?.get('north')?.value).toBe(310n);
  });

  it('is made of a stream, through a repartition topic that carries deletions', () => {
    const streams = new StreamsBuilder();
    streams
      .stream(accounts)
      .selectKey((_value, key) => (key === null ? null : `${key}!`), { key: nullable(string()) })
      .toTable({ store: stored })
      .toStream()
      .to(rows);
    const topology = streams.build();
    expect(topology.repartitionTopics.map(({ name }) => name)).toEqual(['stored-repartition']);
    const { pipe, sent, entries, dropped } = runner(topology);
    pipe('accounts', record('a', 'x'));
    pipe('accounts', record('b', 'y'));
    pipe('accounts', record('a', null));
    pipe('accounts', record(null, 'z'));
    expect(sent).toEqual([
      ['rows', 'a!', 'x', 5],
      ['rows', 'b!', 'y', 5],
      ['rows', 'a!', null, 5],
    ]);
    expect(entries.get('stored')).toEqual(new Map([['b!', { value: 'y', timestampMs: 5 }]]));
    expect(dropped).toEqual([]);
  });

  it('owns its store alone', () => {
    const streams = new StreamsBuilder();
    const table = streams.table(accounts, stored);
    expect(() => table.filter(() => true, { store: stored })).toThrow('The store "stored" is the table of "accounts-table" already');
  });

  it('says which serde it lacks when an operator needs its rows', () => {
    const streams = new StreamsBuilder();
    streams
      .stream(accounts)
      .map((value) => value?.length ?? 0)
      .toTable({ name: 'lengths' })
      .groupBy((row) => [String(row), 1n], { key: string(), value: int64() })
      .count();
    expect(() => streams.build()).toThrow('Operator "lengths" needs the value\'s serde');
  });
});
