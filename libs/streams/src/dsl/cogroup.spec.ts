import { describe, expect, it } from 'vitest';
import { noHeaders } from '../core/record.js';
import { int64, nullable, string } from '../serde/index.js';
import { keyValueStore, sessionStore, topic, windowStore } from '../topology/index.js';
import { session, StreamsBuilder, tumbling } from './index.js';
import { runner } from './topology-runner.suite.js';

const deposits = topic('deposits', { key: nullable(string()), value: nullable(int64()) });
const names = topic('names', { key: nullable(string()), value: nullable(string()) });
const rows = topic('rows', { key: string(), value: nullable(string()) });
const accounts = keyValueStore('accounts', { key: string(), value: string() });

const add = {
  deposits: (account: string, amount: bigint) => `${account}+${amount}`,
  names: (account: string, name: string) => `${account}(${name})`,
};

describe('a cogroup', () => {
  it('folds several streams into one table', () => {
    const streams = new StreamsBuilder();
    const groups = { deposits: streams.stream(deposits).groupByKey(), names: streams.stream(names).groupByKey() };
    streams
      .cogroup(groups)
      .aggregate(accounts, { initial: () => '', add })
      .toStream()
      .to(rows);
    const topology = streams.build();
    expect(topology.subTopologies).toHaveLength(1);
    const { pipe, sent, dropped } = runner(topology);
    const given: [string, string | null, unknown, number][] = [
      ['deposits', 'a', 5n, 3],
      ['names', 'a', 'Ann', 1],
      ['names', 'b', 'Ben', 2],
      ['names', null, 'Eve', 2],
      ['deposits', 'a', null, 2],
    ];
    for (const [name, key, value, timestampMs] of given) pipe(name, { key, value, timestampMs, headers: noHeaders });
    expect(sent).toEqual([
      ['rows', 'a', '+5', 3],
      ['rows', 'a', '+5(Ann)', 3],
      ['rows', 'b', '(Ben)', 2],
    ]);
    expect(dropped).toEqual(['nullKey', 'nullValue']);
  });

  it('tells those behind it of old rows, whatever stream they came from', () => {
    const totals = topic('totals', { key: string(), value: nullable(int64()) });
    const sums = keyValueStore('sums', { key: string(), value: int64() });
    const streams = new StreamsBuilder();
    const groups = {
      left: streams.stream(deposits).groupByKey(),
      right: streams.stream(topic('more', { key: nullable(string()), value: nullable(int64()) })).groupByKey(),
    };
    const plus = (sum: bigint, amount: bigint): bigint => sum + amount;
    streams
      .cogroup(groups)
      .aggregate(sums, { initial: () => 0n, add: { left: plus, right: plus } })
      .groupBy((sum) => ['all', sum], { key: string(), value: int64(), name: 'all' })
      .reduce(keyValueStore('total', { key: string(), value: int64() }), { add: plus, subtract: (left, right) => left - right })
      .toStream()
      .to(totals);
    const { pipe, sent } = runner(streams.build());
    pipe('deposits', { key: 'a', value: 5n, timestampMs: 1, headers: noHeaders });
    pipe('more', { key: 'a', value: 2n, timestampMs: 1, headers: noHeaders });
    pipe('more', { key: 'b', value: 1n, timestampMs: 1, headers: noHeaders });
    expect(sent.map(([, , total]) => total)).toEqual([5n, 7n, 8n]);
  });

  it('has one store, which is its own', () => {
    const streams = new StreamsBuilder();
    const groups = { deposits: streams.stream(deposits).groupByKey(), names: streams.stream(names).groupByKey() };
    streams.cogroup(groups).aggregate(accounts, { initial: () => '', add });
    const again = (): unknown => streams.cogroup(groups).aggregate(accounts, { initial: () => '', add });
    expect(again).toThrow('The store "accounts" is the table of "accounts-aggregate" already');
    expect([...streams.build().nodes.keys()]).toEqual(
      expect.arrayContaining(['accounts-aggregate-deposits', 'accounts-aggregate-names', 'accounts-aggregate']),
    );
  });

  it('needs names for groupings that are repartitioned, when there are several', () => {
    const build = (name?: string): readonly string[] => {
      const streams = new StreamsBuilder();
      const named = name === undefined ? {} : { name };
      const groups = {
        deposits: streams.stream(deposits).groupBy((value) => String(value), { key: nullable(string()), ...named }),
        names: streams.stream(names).groupBy((value) => value, { key: nullable(string()) }),
      };
      streams.cogroup(groups).aggregate(accounts, { initial: () => '', add });
      return streams.build().repartitionTopics.map((repartition) => repartition.name);
    };
    expect(() => build()).toThrow('The groupings "deposits" and "names" that are aggregated in the store "accounts" both pass through');
    expect(build('by-amount')).toEqual(['by-amount-repartition', 'accounts-repartition']);
  });

  it('checks that its store fits the windows', () => {
    const streams = new StreamsBuilder();
    const cogroup = streams.cogroup({ names: streams.stream(names).groupByKey() });
    const fold = { initial: () => '', add: { names: (all: string, name: string | null) => `${all}${name}` } };
    const windows = windowStore('windows', { key: string(), value: string(), retentionMs: 9 });
    expect(() => cogroup.windowedBy(tumbling({ sizeMs: 10, graceMs: 0 })).aggregate(windows, fold)).toThrow('at least 10 ms');
    const sessions = sessionStore('sessions', { key: string(), value: string(), retentionMs: 9 });
    const merge = (left: string, right: string): string => left + right;
    expect(() => cogroup.windowedBy(session({ gapMs: 10, graceMs: 0 })).aggregate(sessions, { ...fold, merge })).toThrow('at least 10 ms');
  });

  it('has at least one stream', () => {
    expect(() => new StreamsBuilder().cogroup({})).toThrow('A cogroup needs at least one grouped stream.');
  });
});
