import {
  int64,
  keyValueStore,
  MemoryEngine,
  seededRandom,
  StreamsBuilder,
  string,
  topic,
  topicPattern,
  type Topology,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { simulatedError } from '../broker/index.js';
import { TopologyTestDriver } from '../driver/index.js';
import { type Setting, setting } from './setting.suite.js';

const orders = topicPattern('orders', /orders-\w+/, { key: string(), value: string() });
const out = topic('orders-out', { key: string(), value: int64() });
const counts = keyValueStore('counts', { key: string(), value: int64() });

/** Counts the orders of each key over all topics. */
function counting(): Topology {
  const streams = new StreamsBuilder();
  streams
    .stream(orders)
    .groupByKey()
    .count(counts)
    .toStream()
    .filter((count) => count !== null)
    .to(out);
  return streams.build();
}

function order(test: Setting, name: string, ...keys: readonly string[]): void {
  const { length } = test.cluster.topics.find(name)!.partitions;
  for (const key of keys) test.cluster.append(name, key.charCodeAt(0) % length, [{ key, value: name }]);
}

/** How often each key was counted, as the outputs say, each count once. */
function counted(test: Setting): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  for (const { key, value } of test.cluster.allRecords('orders-out')) (found[String(key)] ??= []).push(Number(int64().deserialize(value!)));
  return found;
}

const seedsTotal = 15;

const whole = (count: number): number[] => Array.from({ length: count }, (_none, index) => index + 1);

/** Topics that come, kills, lost disks and aborts between two workers, drawn from the seed; then what was counted. */
async function history(seed: number): Promise<{ readonly found: Record<string, number[]>; readonly expected: Record<string, number[]> }> {
  const random = seededRandom(seed);
  const below = (count: number): number => Math.floor(random.next() * count);
  const test = setting({ 'orders-t0': 2, 'orders-out': 1 });
  const sent = new Map<string, number>();
  let topics = 1;
  const disks = [new MemoryEngine(), new MemoryEngine()];
  const begin = (which: number) => test.start(counting(), { stateDirectory: `/state-${which}` }, {}, disks[which]);
  const workers = [await begin(0), await begin(1)];
  for (let step = 0; step < 40; step++) {
    const act = below(12);
    if (act < 5) {
      const key = 'abcd'[below(4)]!;
      order(test, `orders-t${below(topics)}`, key);
      sent.set(key, (sent.get(key) ?? 0) + 1);
    } else if (act < 9) await test.clock.advance(below(6_000));
    else if (act === 9 && topics < 4) test.cluster.createTopic(`orders-t${topics++}`, 2);
    else if (act === 10) test.cluster.faults.next('commitTransactionOffsets', { error: simulatedError('UNKNOWN_MEMBER_ID') });
    else if (act === 11) {
      const which = below(2);
      if (below(2) === 0) disks[which]!.crash();
      await test.stop(workers[which]!).catch(() => {});
      if (below(3) === 0) disks[which] = new MemoryEngine();
      workers[which] = await begin(which);
    }
  }
  test.cluster.faults.clear();
  const total = [...sent.values()].reduce((sum, count) => sum + count, 0);
  await test.until(() => test.cluster.allRecords('orders-out').length >= total);
  await test.clock.advance(15_000);
  return { found: counted(test), expected: Object.fromEntries([...sent].map(([key, count]) => [key, whole(count)])) };
}

describe('a source of all topics that match a pattern', () => {
  it('reads those that there are, and none that is not its own', async () => {
    const test = setting({ 'orders-a': 2, 'orders-b': 2, 'orders-out': 1, 'my-orders-a': 2, __orders: 1 });
    order(test, 'orders-a', 'x', 'y');
    order(test, 'orders-b', 'x');
    order(test, 'my-orders-a', 'x');
    const worker = await test.start(counting());
    await test.until(() => worker.health().counters.records === 3);
    await test.clock.advance(15_000);
    expect(counted(test)).toEqual({ x: [1, 2], y: [1] });
    expect(worker.health().tasks.map(({ id }) => id)).toEqual(['orders/0', 'orders/1']);
    expect(worker.health().counters.records).toBe(3);
  });

  it('takes in a topic that comes later, with the state that there is', async () => {
    const test = setting({ 'orders-a': 2, 'orders-out': 1 });
    const worker = await test.start(counting());
    order(test, 'orders-a', 'x', 'y', 'x');
    await test.until(() => worker.health().counters.records === 3);
    test.cluster.createTopic('orders-new', 2);
    order(test, 'orders-new', 'x', 'z');
    order(test, 'orders-a', 'y');
    await test.until(() => worker.health().counters.records === 6);
    order(test, 'orders-a', 'z');
    order(test, 'orders-new', 'y');
    await test.until(() => worker.health().counters.records === 8);
    expect(counted(test)).toEqual({ x: whole(3), y: whole(3), z: whole(2) });
    expect(worker.health().counters.transactionsAborted).toBe(0);
    expect(test.log.join('\n')).toMatch(/Topic 'orders-new' was found and joins sub-topology 'orders'/);
    // It begins where it was, with the topic among its own.
    await test.stop(worker);
    order(test, 'orders-new', 'x');
    const again = await test.start(counting(), {}, {}, new MemoryEngine());
    await test.until(() => again.health().counters.records === 1);
    expect(counted(test)['x']).toEqual(whole(4));
  });

  it('takes in a topic that came while nobody ran, although there is state', async () => {
    const test = setting({ 'orders-a': 1, 'orders-out': 1 });
    const disk = new MemoryEngine();
    const first = await test.start(counting(), {}, {}, disk);
    order(test, 'orders-a', 'x');
    await test.until(() => first.health().counters.records === 1);
    await test.stop(first);
    test.cluster.createTopic('orders-new', 1);
    order(test, 'orders-new', 'x');
    const second = await test.start(counting(), {}, {}, disk);
    await test.until(() => second.health().counters.records === 1);
    expect(counted(test)).toEqual({ x: [1, 2] });
    await test.stop(second);
    // Its offset is now as precious as the others'.
    test.cluster.expireOffsets('app', [{ topic: 'orders-new', partition: 0 }]);
    const third = await test.start(counting(), {}, {}, disk);
    await test.until(() => third.health().phase === 'failed');
    expect(third.health().error).toMatchObject({ code: 'OFFSETS_EXPIRED' });
  });

  it('shares a topic that comes later among workers, each record once', async () => {
    const test = setting({ 'orders-a': 4, 'orders-out': 1 });
    const engines = [new MemoryEngine(), new MemoryEngine()];
    const workers = [
      await test.start(counting(), {}, {}, engines[0]),
      await test.start(counting(), { stateDirectory: '/other' }, {}, engines[1]),
    ];
    const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const records = (): number => workers.reduce((sum, worker) => sum + worker.health().counters.records, 0);
    for (let round = 0; round < 3; round++) order(test, 'orders-a', ...keys);
    await test.until(() => records() === 24);
    test.cluster.createTopic('orders-new', 4);
    for (let round = 0; round < 5; round++) {
      order(test, 'orders-a', ...keys);
      order(test, 'orders-new', ...keys);
      await test.clock.advance(7_000);
    }
    await test.until(() => records() === 24 + 80);
    expect(counted(test)).toEqual(Object.fromEntries(keys.map((key) => [key, whole(13)])));
    expect(workers.map((worker) => worker.health().tasks.length)).toEqual([2, 2]);
    expect(workers.map((worker) => worker.health().ready)).toEqual([true, true]);
  });

  it('counts each record once, whatever happens while topics come', { timeout: 120_000 }, async () => {
    for (let seed = 1; seed <= seedsTotal; seed++) {
      const { found, expected } = await history(seed);
      expect(found, `seed ${seed}`).toEqual(expected);
    }
  });

  it('reads no topic that has another number of partitions, and says so', async () => {
    const test = setting({ 'orders-a': 2, 'orders-out': 1 });
    const worker = await test.start(counting());
    test.cluster.createTopic('orders-odd', 3);
    order(test, 'orders-odd', 'x');
    await test.clock.advance(45_000);
    expect(worker.health().counters.records).toBe(0);
    expect(test.log.filter((line) => line.includes("'orders-odd' matches a pattern and is not read: it has 3 partitions"))).toHaveLength(1);
    await test.stop(worker);
    await expect(test.start(counting())).rejects.toMatchObject({ code: 'NOT_COPARTITIONED' });
  });

  it.each(['was taken in', 'was found, before the group has given it to anyone'] as const)(
    'stops the worker when a topic is deleted that %s, and goes on without it: the task would not be opened any more',
    async (when) => {
      const test = setting({ 'orders-a': 1, 'orders-out': 1 });
      const worker = await test.start(counting());
      order(test, 'orders-a', 'x');
      await test.until(() => worker.health().counters.records === 1);
      const isFound = (): boolean => test.log.some((line) => line.includes("'orders-new' was found"));
      const isTakenIn = (): boolean => worker.health().counters.records === 2;
      test.cluster.createTopic('orders-new', 1);
      if (when === 'was taken in') order(test, 'orders-new', 'x');
      await test.until(when === 'was taken in' ? isTakenIn : isFound);
      test.cluster.deleteTopic('orders-new');
      await test.until(() => worker.health().phase === 'failed');
      expect(worker.health().error).toMatchObject({
        code: 'TOPIC_RECREATED',
        message: expect.stringMatching(/'orders-new' was deleted .*goes on with the other topics/),
      });
      order(test, 'orders-a', 'x');
      const again = await test.start(counting());
      await test.until(() => again.health().counters.records === 1);
      expect(counted(test)).toEqual({ x: whole(when === 'was taken in' ? 3 : 2) });
    },
  );

  it('needs one topic to begin with', async () => {
    const test = setting({ 'orders-out': 1 });
    await expect(test.start(counting())).rejects.toMatchObject({
      code: 'TOPIC_MISSING',
      message: expect.stringMatching(/No topic matches .*orders-.* the pattern of 'orders'/),
    });
  });

  it('is driven with the topics that a test names', async () => {
    const driver = await TopologyTestDriver.start(counting(), { topics: ['orders-a', 'orders-b'] });
    const input = (name: string) => driver.input(topic(name, { key: string(), value: string() }));
    await input('orders-a').pipe('x', '1');
    await input('orders-b').pipe('x', '2');
    expect(
      driver
        .output(out)
        .readAll()
        .map(({ value }) => value),
    ).toEqual([1n, 2n]);
    expect(() => input('orders-c')).toThrow(/does not read topic 'orders-c'/);
    await driver.close();
  });

  it('matches whole names, is read as one thing, and is not written', () => {
    expect(orders.pattern.test('orders-a')).toBe(true);
    expect(orders.pattern.test('my-orders-a')).toBe(false);
    expect(() => topicPattern('p', /a/g, { key: string(), value: string() })).toThrow(/without flags/);
    const streams = new StreamsBuilder();
    streams.stream(orders);
    expect(() => streams.stream(topicPattern('orders', /other/, { key: string(), value: string() }))).toThrow(/different pattern/);
    expect(counting().subTopologies.map(({ id, sourceTopics }) => [id, sourceTopics])).toEqual([['orders', ['orders']]]);
  });
});
