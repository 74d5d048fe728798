import {
  int64,
  json,
  type KStream,
  keyValueStore,
  MemoryEngine,
  nullable,
  StreamsBuilder,
  type StreamJoinOptions,
  string,
  topic,
  type Topology,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { setting } from '../runtime/setting.suite.js';
import { driven } from './driven.suite.js';

const left = topic('left', { key: nullable(string()), value: nullable(string()) });
const right = topic('right', { key: nullable(string()), value: nullable(string()) });
const out = topic('out', { key: nullable(string()), value: string() });

const window: StreamJoinOptions<string> = { beforeMs: 5, afterMs: 5, graceMs: 0 };
type Stream = KStream<string | null, string | null>;
const pair = (one: string | null, other: string | null): string => `${one}|${other}`;

function topologyOf(make: (left: Stream, right: Stream) => KStream<string, string> | KStream<string | null, string>): Topology {
  const streams = new StreamsBuilder();
  make(streams.stream(left), streams.stream(right)).to(out);
  return streams.build();
}

const joining = (make: Parameters<typeof topologyOf>[0]) => driven(topologyOf(make), out);

describe('inner joins of streams', () => {
  it('join what has one key and times within the window, with the larger time of both', async () => {
    const { pipe } = await joining((one, other) => one.join(other, (l, r, key) => `${key}: ${l}|${r}`, window));
    expect(await pipe(left, 'a', 'L10', 10)).toEqual([]);
    expect(await pipe(right, 'a', 'R5', 5, 'late')).toEqual(['a=a: L10|R5 @10 late']);
    expect(await pipe(right, 'a', 'R15', 15)).toEqual(['a=a: L10|R15 @15']);
    expect(await pipe(right, 'a', 'R16', 16)).toEqual([]);
    expect(await pipe(right, 'b', 'R10', 10)).toEqual([]);
    expect(await pipe(left, 'a', 'L12', 12)).toEqual(['a=a: L12|R15 @15', 'a=a: L12|R16 @16']);
  });

  it('have windows that reach further to one side, or lie on one side', async () => {
    const soon = await joining((one, other) => one.join(other, pair, { beforeMs: -2, afterMs: 4, graceMs: 10 }));
    await soon.pipe(left, 'a', 'L', 10);
    const met: string[] = [];
    for (const timestampMs of [9, 11, 12, 14, 15]) met.push(...(await soon.pipe(right, 'a', `R${timestampMs}`, timestampMs)));
    expect(met).toEqual(['a=L|R12 @12', 'a=L|R14 @14']);
    expect(await soon.pipe(left, 'a', 'L8', 8)).toEqual(['a=L8|R11 @11', 'a=L8|R12 @12']);
  });

  it('keep several records of one key and time, each of which meets the others', async () => {
    const { pipe } = await joining((one, other) => one.join(other, pair, window));
    for (const value of ['1', '2', '1']) await pipe(left, 'a', value, 7);
    expect(await pipe(right, 'a', 'R', 7)).toEqual(['a=1|R @7', 'a=2|R @7', 'a=1|R @7']);
  });

  it('keep records as long as the grace period says', async () => {
    const graceful = await joining((one, other) => one.join(other, pair, { ...window, graceMs: 10 }));
    await graceful.pipe(right, 'a', 'R', 10);
    await graceful.pipe(right, 'b', 'time', 29);
    expect(await graceful.pipe(left, 'a', 'L', 10)).toEqual(['a=L|R @10']);
    await graceful.pipe(right, 'b', 'time', 30);
    expect(await graceful.pipe(left, 'a', 'L', 10)).toEqual([]);
  });

  it('drop what has no key or no value', async () => {
    const { pipe, health } = await joining((one, other) => one.join(other, pair, window));
    for (const source of [left, right]) {
      await pipe(source, null, 'x', 1);
      await pipe(source, 'a', null, 1);
    }
    expect(health().counters.recordsDropped).toBe(4);
  });

  it('join a stream with itself, through one repartition topic where its key was replaced', async () => {
    const topology = topologyOf((one) => {
      const rekeyed = one.selectKey((value) => value?.[0] ?? null, { key: nullable(string()) });
      return rekeyed.join(rekeyed, pair, { ...window, name: 'self' });
    });
    expect(topology.repartitionTopics.map(({ name }) => name)).toEqual(['self-left-repartition']);
    const { pipe } = await driven(topology, out);
    expect(await pipe(left, 'x', 'a1', 1)).toEqual(['a=a1|a1 @1']);
    expect(await pipe(left, 'y', 'a2', 3)).toEqual(['a=a2|a1 @3', 'a=a1|a2 @3', 'a=a2|a2 @3']);
  });

  it('with a window of no length and no grace never join anything', async () => {
    const { pipe } = await joining((one, other) => one.join(other, pair, { beforeMs: 0, afterMs: 0, graceMs: 0 }));
    await pipe(left, 'a', 'L', 1);
    expect(await pipe(right, 'a', 'R', 1)).toEqual([]);
  });
});

describe('left and outer joins of streams', () => {
  it('forward what met nothing once its window is closed, with its own time and the headers of the record that closes it', async () => {
    const { pipe } = await joining((one, other) => one.leftJoin(other, pair, window));
    expect(await pipe(left, 'a', 'L1', 10)).toEqual([]);
    expect(await pipe(left, 'b', 'L2', 11, 'own')).toEqual([]);
    expect(await pipe(right, 'c', 'R', 15)).toEqual([]);
    expect(await pipe(right, 'c', 'R', 17, 'later')).toEqual(['a=L1|null @10 later', 'b=L2|null @11 later']);
    expect(await pipe(right, 'c', 'R', 99)).toEqual([]);
  });

  it('do not forward alone what met a record, even all of one key and time', async () => {
    const { pipe } = await joining((one, other) => one.outerJoin(other, pair, window));
    await pipe(left, 'a', 'L1', 10);
    await pipe(left, 'a', 'L2', 10);
    await pipe(left, 'a', 'L3', 11);
    expect(await pipe(right, 'a', 'R', 6)).toEqual(['a=L1|R @10', 'a=L2|R @10', 'a=L3|R @11']);
    expect(await pipe(right, 'b', 'R', 99)).toEqual([]);
  });

  it('forward the unmatched of both sides in the order of their times, the right ones first at one time', async () => {
    const { pipe } = await joining((one, other) => one.outerJoin(other, pair, window));
    await pipe(left, 'b', 'L12', 12);
    await pipe(left, 'a', 'L12', 12);
    await pipe(right, 'z', 'R12', 12);
    await pipe(right, 'c', 'R11', 11);
    expect(await pipe(left, 'x', 'L', 50)).toEqual(['c=null|R11 @11', 'z=null|R12 @12', 'a=L12|null @12', 'b=L12|null @12']);
  });

  it('forward at once what comes when its window is closed already, and what has no key', async () => {
    const { pipe, health } = await joining((one, other) => one.outerJoin(other, pair, window));
    await pipe(left, 'a', 'L', 50);
    expect(await pipe(right, 'b', 'R', 40)).toEqual(['b=null|R @40']);
    expect(await pipe(left, null, 'L', 50)).toEqual(['null=L|null @50']);
    expect(await pipe(right, null, 'R', 50)).toEqual(['null=null|R @50']);
    await pipe(right, null, null, 50);
    expect(health().counters.recordsDropped).toBe(1);
    const one = await joining((stream, other) => stream.leftJoin(other, pair, window));
    expect(await one.pipe(right, null, 'R', 50)).toEqual([]);
    expect(one.health().counters.recordsDropped).toBe(1);
  });

  it('let records without a key through the topic of a replaced key', async () => {
    const { pipe } = await joining((one, other) => one.selectKey(() => null, { key: nullable(string()) }).leftJoin(other, pair, window));
    expect(await pipe(left, 'a', 'L', 1)).toEqual(['null=L|null @1']);
    const through = await joining((stream, other) => stream.repartition({ keepsNullKeys: true }).leftJoin(other, pair, window));
    expect(await through.pipe(left, null, 'L', 1)).toEqual(['null=L|null @1']);
    const without = await joining((stream, other) => stream.repartition().leftJoin(other, pair, window));
    expect(await without.pipe(left, null, 'L', 1)).toEqual([]);
  });

  it('hold what they held, and know the time, when the process is started again, on the same disk or another one', async () => {
    for (const sameDisk of [true, false]) {
      const test = setting({ left: 1, right: 1, out: 1 });
      const disk = new MemoryEngine();
      const topology = topologyOf((one, other) => one.outerJoin(other, pair, window));
      const first = await test.start(topology, {}, {}, disk);
      test.cluster.append('left', 0, [{ key: 'a', value: 'L', timestampMs: 10 }]);
      test.cluster.append('right', 0, [{ key: 'm', value: 'R', timestampMs: 12 }]);
      await test.until(() => first.health().counters.records === 2);
      await test.stop(first);
      expect(test.texts('out')).toEqual([]);
      const second = await test.start(topology, {}, {}, sameDisk ? disk : new MemoryEngine());
      test.cluster.append('left', 0, [{ key: 'm', value: 'met', timestampMs: 13 }]);
      test.cluster.append('left', 0, [{ key: 'late', value: 'L', timestampMs: 2 }]);
      test.cluster.append('left', 0, [{ key: 'z', value: 'L', timestampMs: 60 }]);
      await test.until(() => second.health().counters.records === 3);
      await test.stop(second);
      expect(test.texts('out')).toEqual([
        ['m', 'met|R'],
        ['late', 'L|null'],
        ['a', 'L|null'],
      ]);
    }
  });

  it('forward nothing twice when a record fails while it closes windows', async () => {
    const fails = { once: true };
    const { driver, pipe } = await joining((one, other) =>
      one.leftJoin(other, pair, window).peek((value) => {
        if (value !== 'L2|null' || !fails.once) return;
        fails.once = false;
        throw new Error('The record failed half-way.');
      }),
    );
    await pipe(left, 'a', 'L1', 10);
    await pipe(left, 'b', 'L2', 11);
    await expect(pipe(left, 'c', 'L3', 60)).rejects.toThrow('half-way');
    expect(driver.output(out).readAll()).toEqual([]);
    await driver.close();
  });
});

describe('joins of streams', () => {
  it('have stores, topics and nodes named after the join, and both topics in one task', () => {
    const topology = topologyOf((one, other) =>
      one
        .selectKey((_value, key) => key, { key: nullable(string()) })
        .outerJoin(other, pair, { ...window, name: 'both', value: string() })
        .join(other, pair, window),
    );
    expect([...topology.stores.values()].map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'both-left window',
      'both-right window',
      'both-unmatched sorted',
      'both-join-left window',
      'both-join-right window',
    ]);
    expect(topology.repartitionTopics.map(({ name }) => name)).toEqual(['both-left-repartition']);
    expect(topology.subTopologies.map(({ copartitioned }) => copartitioned)).toEqual([[['both-left-repartition', 'right']], []]);
    expect([...topology.nodes.keys()].filter((name) => name.startsWith('both'))).toEqual([
      'both-left',
      'both-right',
      'both',
      'both-join-left',
      'both-join-right',
      'both-join',
    ]);
  });

  it('are refused at start where the topics have unequal partition counts', async () => {
    const test = setting({ left: 2, right: 3, out: 1 });
    const started = test.start(topologyOf((one, other) => one.join(other, pair, window)));
    await expect(started).rejects.toMatchObject({
      code: 'NOT_COPARTITIONED',
      message: expect.stringContaining("'left' has 2, 'right' has 3"),
    });
  });

  it('get as many partitions for a replaced key as the other topic has', async () => {
    const test = setting({ left: 2, right: 3, out: 1 });
    const topology = topologyOf((one, other) => one.selectKey((value) => value, { key: nullable(string()) }).join(other, pair, window));
    const worker = await test.start(topology);
    const described = test.cluster.describe('app-left-join-left-repartition');
    expect(described?.partitions).toHaveLength(3);
    await test.stop(worker);
  });

  it('say which serdes they lack, and for what', () => {
    const streams = new StreamsBuilder();
    const lengths = streams.stream(left).mapRecord((value, key) => [key ?? '', value?.length ?? 0]);
    lengths.join(
      streams.stream(right).map((value) => BigInt(value ?? '')),
      (length, number) => `${length}${number}`,
      { ...window, name: 'joined' },
    );
    expect(() => streams.build()).toThrow(
      /"joined-left" needs the value's serde, because its records pass through a repartition topic[^]*"joined" needs the value's serde, because it keeps records in a store/,
    );
  });

  it.each([
    [{ beforeMs: -6 }, '"afterMs" of join "bad" must be a whole number from 6'],
    [{ beforeMs: 1.5 }, '"beforeMs"'],
    [{ graceMs: -1 }, '"graceMs"'],
  ])('refuse the window %j', (wrong, message) => {
    expect(() => topologyOf((one, other) => one.join(other, pair, { ...window, ...wrong, name: 'bad' }))).toThrow(message);
  });

  it('can be grouped by the key that they have', async () => {
    const counts = keyValueStore('counts', { key: string(), value: int64() });
    const streams = new StreamsBuilder();
    const joined = streams.stream(left).join(streams.stream(right), pair, { ...window, value: json<string>() });
    joined.groupByKey().count(counts);
    const topology = streams.build();
    expect(topology.repartitionTopics).toEqual([]);
    const { pipe, driver } = await driven(topology, out);
    await pipe(left, 'a', 'L', 1);
    await pipe(right, 'a', 'R', 1);
    expect(await driver.store(counts).get('a')).toBe(1n);
  });
});
