import { describe, expect, it } from 'vitest';
import { noHeaders, type StreamRecord } from '../core/record.js';
import { int64, nullable, string } from '../serde/index.js';
import { keyValueStore, output, outputValue, topic } from '../topology/index.js';
import { StreamsBuilder } from './index.js';
import { runner } from './topology-runner.suite.js';

const words = topic('words', { key: nullable(string()), value: nullable(string()) });
const others = topic('others', { key: nullable(string()), value: nullable(string()) });
const out = topic('out', { key: nullable(string()), value: nullable(string()) });
const counts = topic('counts', { key: string(), value: int64() });

const record = (key: string | null, value: unknown, timestampMs = 5): StreamRecord<unknown, unknown> => ({
  key,
  value,
  timestampMs,
  headers: noHeaders,
});

describe('KStream', () => {
  it('keeps what a predicate refuses', () => {
    const streams = new StreamsBuilder();
    const present = streams.stream(words).filterNot((value) => value === null);
    present.map((value) => value.toUpperCase()).to(out);
    const { pipe, sent } = runner(streams.build());
    for (const value of ['a', null, 'b']) pipe('words', record('k', value));
    expect(sent.map(([, , value]) => value)).toEqual(['A', 'B']);
  });

  it('makes records of many pairs, and shows what comes by', () => {
    const streams = new StreamsBuilder();
    const seen: unknown[] = [];
    const lines: string[] = [];
    const stream = streams
      .stream(words)
      .flatMapRecord((value, key) => (value ?? '').split(' ').map((word) => [word, key] as const), { key: string() });
    stream.forEach((value, key) => seen.push([key, value]));
    stream.print({ label: 'words', write: (line) => lines.push(line) });
    stream.print({ format: (value, key) => `${key} of ${value}`, write: (line) => lines.push(line) });
    const { pipe } = runner(streams.build());
    pipe('words', record('k', 'x y'));
    expect(seen).toEqual([
      ['x', 'k'],
      ['y', 'k'],
    ]);
    expect(lines).toEqual(['[words]: x, k', 'x of k', '[words]: y, k', 'y of k']);
  });

  it('sends each record to the first branch that takes it', () => {
    const streams = new StreamsBuilder();
    const { short, a, rest } = streams.stream(words).split({
      short: (value) => (value ?? '').length < 2,
      a: (value): value is `a${string}` => value?.startsWith('a') === true,
    });
    const shown: unknown[] = [];
    short.forEach((value) => shown.push(['short', value]));
    a.forEach((value) => shown.push(['a', value]));
    rest.merge(short).forEach((value) => shown.push(['rest or short', value]));
    const { pipe } = runner(streams.build());
    for (const value of ['a', 'ab', 'bc']) pipe('words', record('k', value));
    expect(shown).toEqual([
      ['short', 'a'],
      ['rest or short', 'a'],
      ['a', 'ab'],
      ['rest or short', 'bc'],
    ]);
  });

  it('refuses branches whose order or name is not theirs', () => {
    const stream = new StreamsBuilder().stream(words);
    expect(() => stream.split({ rest: () => true })).toThrow('cannot be called "rest", which takes what no branch took');
    expect(() => stream.split({ '2': () => true })).toThrow('would lose its place in the order');
  });

  it('chooses the topic of each record', () => {
    const streams = new StreamsBuilder();
    streams.stream(words).toRouted((value, _key, metadata) => (value === metadata.topic ? out : others));
    const { pipe, sent } = runner(streams.build());
    pipe('words', record('k', 't'));
    pipe('words', record('k', 'x'));
    expect(sent.map(([name]) => name)).toEqual(['out', 'others']);
  });

  it('repartitions when asked to, under the name given', () => {
    const streams = new StreamsBuilder();
    streams.stream(words).repartition({ name: 'spread', partitions: 7 }).groupByKey().count({ name: 'counted' });
    const topology = streams.build();
    expect(topology.repartitionTopics).toMatchObject([{ name: 'spread-repartition', topic: { partitions: 7 } }]);
    const { pipe, entries } = runner(topology);
    pipe('words', record('k', 'a'));
    expect(entries.get('counted')?.get('k')?.value).toBe(1n);
  });

  it('knows the serdes of merged streams where they agree', () => {
    const streams = new StreamsBuilder();
    const both = streams.stream(words).merge(streams.stream(others).selectKey((value) => value, { key: nullable(string()) }));
    both.groupByKey().count({ name: 'both' });
    expect(streams.build().repartitionTopics.map(({ name }) => name)).toEqual(['both-repartition']);
    const unlike = new StreamsBuilder();
    const lengths = unlike.stream(others).map((value) => BigInt((value ?? '').length), { value: int64() });
    unlike
      .stream(words)
      .merge(lengths)
      .selectKey(() => 'all', { key: string() })
      .groupByKey({ name: 'all' })
      .count();
    expect(() => unlike.build()).toThrow('Operator "all" needs the value\'s serde');
  });

  it('groups by a new key', () => {
    const streams = new StreamsBuilder();
    streams
      .stream(words)
      .groupBy((value) => value, { key: nullable(string()), name: 'by-word' })
      .count({ name: 'counted' });
    const { pipe, entries, dropped } = runner(streams.build());
    for (const value of ['a', 'b', 'a', null]) pipe('words', record('k', value));
    expect(entries.get('counted')?.get('a')?.value).toBe(2n);
    expect(dropped).toEqual([]);
  });

  it('hands what a handler forwards to the operators behind', () => {
    const seen = keyValueStore('seen', { key: string(), value: int64() });
    const streams = new StreamsBuilder();
    streams
      .stream(words)
      .process({
        stores: { seen },
        forwards: output<string, bigint>(),
        key: string(),
        value: int64(),
        process(given, context) {
          const key = given.key ?? '';
          const count = (context.stores.seen.get(key) ?? 0n) + 1n;
          context.stores.seen.put(key, count);
          context.forward({ key, value: count });
          context.forward({ key: 'later', value: count, timestampMs: 99 });
        },
      })
      .to(counts);
    const { pipe, sent } = runner(streams.build());
    pipe('words', record('k', 'a'));
    pipe('words', record('k', 'a', 6));
    expect(sent).toEqual([
      ['counts', 'k', 1n, 5],
      ['counts', 'later', 1n, 99],
      ['counts', 'k', 2n, 6],
      ['counts', 'later', 2n, 99],
    ]);
  });

  it('refuses to forward a record from before all times', () => {
    const streams = new StreamsBuilder();
    const stream = streams.stream(words);
    stream.process({
      forwards: output<null, null>(),
      process: (_given, context) => context.forward({ key: null, value: null, timestampMs: -1 }),
    });
    const { pipe } = runner(streams.build());
    expect(() => pipe('words', record('k', 'a'))).toThrow('cannot be forwarded with the timestamp -1');
    const values = new StreamsBuilder();
    values
      .stream(words)
      .processValues({ forwards: outputValue<null>(), process: (_given, context) => context.forward(null, { timestampMs: 0.5 }) });
    expect(() => runner(values.build()).pipe('words', record('k', 'a'))).toThrow('cannot be forwarded with the timestamp 0.5');
  });

  it('keeps the key of a handler of values, so that nothing is re-partitioned', () => {
    const streams = new StreamsBuilder();
    streams
      .stream(words)
      .processValues({
        forwards: outputValue<bigint>(),
        value: int64(),
        process(given, context) {
          context.forward(BigInt((given.value ?? '').length));
          context.forward(0n, { timestampMs: given.timestampMs + 1 });
        },
      })
      .groupByKey()
      .count({ name: 'counted' });
    const topology = streams.build();
    expect(topology.repartitionTopics).toEqual([]);
    const { pipe, entries } = runner(topology);
    pipe('words', record('k', 'abc'));
    expect(entries.get('counted')?.get('k')).toEqual({ value: 2n, timestampMs: 6 });
  });
});
