import { describe, expect, it } from 'vitest';
import { noHeaders } from '../core/record.js';
import { int64, nullable, string } from '../serde/index.js';
import { keyValueStore, topic } from '../topology/index.js';
import { type KTable, StreamsBuilder } from './index.js';
import { runner } from './topology-runner.suite.js';

const accounts = topic('accounts', { key: string(), value: nullable(string()) });
const limits = topic('limits', { key: string(), value: nullable(string()) });
const rows = topic('rows', { key: string(), value: nullable(string()) });
const stored = keyValueStore('stored', { key: string(), value: string() });

type Table = KTable<string, string>;

function joining(make: (left: Table, right: Table) => Table) {
  const streams = new StreamsBuilder();
  make(streams.table(accounts), streams.table(limits)).toStream().to(rows);
  const topology = streams.build();
  const { pipe, sent, entries } = runner(topology);
  return {
    topology,
    entries,
    pipe: (topicName: string, value: string | null, timestampMs: number): unknown[] => {
      expect(pipe(topicName, { key: 'a', value, timestampMs, headers: noHeaders })).not.toBeInstanceOf(Promise);
      return sent.splice(0).map(([, , row, at]) => [row, at]);
    },
  };
}

describe('joins of tables', () => {
  it('join rows of one key, and end with either of them', () => {
    const { pipe } = joining((left, right) => left.join(right, (account, limit, key) => `${key}=${account}/${limit}`));
    expect(pipe('accounts', 'A', 1)).toEqual([]);
    expect(pipe('limits', '5', 9)).toEqual([['a=A/5', 9]]);
    expect(pipe('accounts', 'B', 3)).toEqual([['a=B/5', 9]]);
    expect(pipe('limits', null, 10)).toEqual([[null, 10]]);
    expect(pipe('accounts', null, 11)).toEqual([]);
  });

  it('keep what has no partner, where that is wanted', () => {
    const left = joining((one, other) => one.leftJoin(other, (account, limit) => `${account}/${limit ?? '-'}`));
    expect(left.pipe('limits', '5', 1)).toEqual([]);
    expect(left.pipe('limits', null, 2)).toEqual([]);
    expect(left.pipe('accounts', 'A', 3)).toEqual([['A/-', 3]]);
    const outer = joining((one, other) => one.outerJoin(other, (account, limit) => `${account ?? '-'}/${limit ?? '-'}`));
    expect(outer.pipe('limits', '5', 1)).toEqual([['-/5', 1]]);
    expect(outer.pipe('accounts', 'A', 2)).toEqual([['A/5', 2]]);
    expect(outer.pipe('limits', null, 3)).toEqual([['A/-', 3]]);
  });

  it('hold their rows in the store that they are given', () => {
    const { pipe, entries, topology } = joining((left, right) =>
      left.outerJoin(right, (l, r) => (l === r ? null : `${l}/${r}`), { store: stored }),
    );
    expect([...topology.stores.keys()]).toEqual(['accounts-table', 'limits-table', 'stored']);
    pipe('accounts', 'A', 4);
    expect(entries.get('stored')?.get('a')).toEqual({ value: 'A/null', timestampMs: 4 });
    expect(pipe('limits', 'A', 5)).toEqual([[null, 5]]);
    expect(entries.get('stored')?.size).toBe(0);
  });

  it('can be joined again, as views too', () => {
    const { pipe, topology } = joining((left, right) => {
      const both = left.join(right, (l, r) => `${l}/${r}`).filter((row) => row !== 'A/6');
      return both.leftJoin(right, (row, limit) => `${row}+${limit}`);
    });
    expect([...topology.stores.keys()]).toEqual(['accounts-table', 'limits-table']);
    pipe('accounts', 'A', 1);
    // The first join sees the limit before the second one does, which then reads it.
    expect(pipe('limits', '5', 2)).toEqual([
      ['A/5+5', 2],
      ['A/5+5', 2],
    ]);
    expect(pipe('limits', '6', 3)).toEqual([[null, 3]]);
  });

  it('tell what is behind them what a row was', () => {
    const streams = new StreamsBuilder();
    const counts = keyValueStore('counts', { key: string(), value: int64() });
    streams
      .table(accounts)
      .join(streams.table(limits), (_account, limit) => limit)
      .groupBy((limit) => [limit, limit], { key: string(), value: string() })
      .count(counts);
    const { pipe, entries } = runner(streams.build());
    const send = (name: string, value: string): void => void pipe(name, { key: 'a', value, timestampMs: 1, headers: noHeaders });
    send('accounts', 'A');
    send('limits', '5');
    send('limits', '6');
    expect([...entries.get('counts')!].map(([key, { value }]) => [key, value])).toEqual([
      ['5', 0n],
      ['6', 1n],
    ]);
  });

  it('are named after the table, and put both topics into one task', () => {
    const { topology } = joining((left, right) =>
      left.join(right, (l, r) => l + r).outerJoin(right, (l, r) => `${l}${r}`, { name: 'all' }),
    );
    expect([...topology.nodes.keys()].filter((name) => name.includes('oin') || name.startsWith('all'))).toEqual([
      'accounts-join-left',
      'accounts-join-right',
      'accounts-join',
      'all-left',
      'all-right',
      'all',
      'all-toStream',
    ]);
    expect(topology.subTopologies).toMatchObject([{ id: 'accounts', copartitioned: [['accounts', 'limits']] }]);
  });

  it('say which serde they lack for the rows that they read', () => {
    const streams = new StreamsBuilder();
    const left = streams
      .stream(accounts)
      .map((account) => account?.length ?? 0)
      .toTable({ name: 'lengths' });
    left.join(streams.table(limits), (length, limit) => limit.repeat(length));
    expect(() => streams.build()).toThrow('Operator "lengths" needs the value\'s serde');
  });
});
