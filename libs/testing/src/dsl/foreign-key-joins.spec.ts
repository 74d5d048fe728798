import {
  int64,
  keyValueStore,
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

/** An order is `customer,item`. */
const orders = topic('orders', { key: string(), value: nullable(string()) });
const customers = topic('customers', { key: string(), value: nullable(string()) });
const out = topic('out', { key: string(), value: nullable(string()) });
const stored = keyValueStore('stored', { key: string(), value: string() });

type Table = KTable<string, string>;
const foreignKey = (order: string): string | null => order.split(',')[0] || null;
const join = (order: string, customer: string | null): string => `${order}|${customer}`;

function topologyOf(make: (orders: Table, customers: Table) => Table): Topology {
  const streams = new StreamsBuilder();
  make(streams.table(orders), streams.table(customers)).toStream().to(out);
  return streams.build();
}

const joining = (make: (orders: Table, customers: Table) => Table) => driven(topologyOf(make), out);

describe('joins by a foreign key', () => {
  it('join each row with the one that it refers to, and follow both', async () => {
    const { pipe, health } = await joining((left, right) =>
      left.joinOn(right, { foreignKey, join: (l, r, key) => `${key}: ${join(l, r)}` }),
    );
    expect(await pipe(orders, 'o1', 'c1,chair', 10)).toEqual([]);
    expect(await pipe(customers, 'c1', 'Ann', 5, 'h')).toEqual(['o1=o1: c1,chair|Ann @5 h']);
    expect(await pipe(orders, 'o1', 'c1,table', 4, 'own')).toEqual(['o1=o1: c1,table|Ann @5 own']);
    // To a customer who is not there: the result of before goes.
    expect(await pipe(orders, 'o1', 'c2,table', 11)).toEqual(['o1=null @11']);
    expect(await pipe(customers, 'c1', 'Anna', 12)).toEqual([]);
    expect(await pipe(customers, 'c2', 'Bob', 13)).toEqual(['o1=o1: c2,table|Bob @13']);
    // From one to another: only the new result.
    expect(await pipe(orders, 'o1', 'c1,table', 14)).toEqual(['o1=o1: c1,table|Anna @14']);
    expect(await pipe(customers, 'c1', null, 15)).toEqual(['o1=null @15']);
    expect(await pipe(customers, 'c1', 'Ann', 16)).toEqual(['o1=o1: c1,table|Ann @16']);
    // To none.
    expect(await pipe(orders, 'o1', ',table', 17)).toEqual(['o1=null @17']);
    expect(health().counters.recordsDropped).toBe(1);
    expect(await pipe(orders, 'o1', null, 18)).toEqual([]);
    expect(await pipe(customers, 'c1', 'Ann!', 19)).toEqual([]);
  });

  it('have a row for each row of the left table in left joins, those that refer to none too', async () => {
    const { pipe, health } = await joining((left, right) => left.leftJoinOn(right, { foreignKey, join }));
    expect(await pipe(orders, 'o1', 'c1,chair', 1)).toEqual(['o1=c1,chair|null @1']);
    expect(await pipe(customers, 'c1', 'Ann', 2)).toEqual(['o1=c1,chair|Ann @2']);
    expect(await pipe(orders, 'o1', ',chair', 3)).toEqual(['o1=,chair|null @3']);
    expect(await pipe(customers, 'c1', 'Anna', 4)).toEqual([]);
    expect(await pipe(orders, 'o1', 'c1,chair', 5)).toEqual(['o1=c1,chair|Anna @5']);
    expect(await pipe(orders, 'o1', null, 6)).toEqual(['o1=null @6']);
    expect(await pipe(orders, 'o1', null, 7)).toEqual([]);
    expect(health().counters.recordsDropped).toBe(0);
  });

  it('tell all who refer to a row of its change, in the byte order of their keys', async () => {
    const { pipe } = await joining((left, right) => left.joinOn(right, { foreignKey, join }));
    for (const key of ['o2', 'o10', 'o1']) await pipe(orders, key, 'c1,x', 1);
    await pipe(orders, 'o0', 'c10,x', 1);
    expect(await pipe(customers, 'c1', 'Ann', 2)).toEqual(['o1=c1,x|Ann @2', 'o10=c1,x|Ann @2', 'o2=c1,x|Ann @2']);
  });

  it('find the foreign key in the row and its key', async () => {
    const { pipe } = await joining((left, right) => left.joinOn(right, { foreignKey: (_order, key) => key.slice(0, 2), join }));
    await pipe(customers, 'c1', 'Ann', 1);
    expect(await pipe(orders, 'c1-7', 'chair', 2)).toEqual(['c1-7=chair|Ann @2']);
  });

  it('make no row where the joiner gives null, and hold their rows in the store that they are given', async () => {
    const { pipe, driver } = await joining((left, right) =>
      left.joinOn(right, { foreignKey, join: (order, customer) => (customer === 'nobody' ? null : join(order, customer)), store: stored }),
    );
    await pipe(orders, 'o1', 'c1,x', 1);
    await pipe(customers, 'c1', 'Ann', 2);
    expect(await driver.store(stored).get('o1')).toBe('c1,x|Ann');
    expect(await pipe(customers, 'c1', 'nobody', 3)).toEqual(['o1=null @3']);
    expect(await driver.store(stored).get('o1')).toBeUndefined();
  });

  it('discard an answer to a row that has changed since', async () => {
    const { driver, health } = await joining((left, right) => left.joinOn(right, { foreignKey, join }));
    await driver.input(customers).pipe('c1', 'Ann', { timestampMs: 1 });
    await driver.input(orders).pipeAll([
      { key: 'o1', value: 'c1,chair', timestampMs: 2 },
      { key: 'o1', value: 'c1,table', timestampMs: 3 },
    ]);
    expect(driver.output(out).readAll()).toMatchObject([{ key: 'o1', value: 'c1,table|Ann' }]);
    expect(health().counters.recordsDropped).toBe(1);
  });

  it('pass over updates of versioned tables that came out of order', async () => {
    const versions = (name: string) => versionedStore(name, { key: string(), value: string(), historyRetentionMs: 1_000 });
    const streams = new StreamsBuilder();
    const left = streams.table(orders, versions('left'));
    left
      .joinOn(streams.table(customers, versions('right')), { foreignKey, join })
      .toStream()
      .to(out);
    const { pipe, health } = await driven(streams.build(), out);
    await pipe(orders, 'o1', 'c1,x', 10);
    await pipe(customers, 'c1', 'Ann', 10);
    expect(await pipe(orders, 'o1', 'c1,old', 5)).toEqual([]);
    expect(await pipe(customers, 'c1', 'old', 5)).toEqual([]);
    expect(health().counters.recordsDropped).toBe(2);
  });

  it('can be joined, grouped and read again behind it', async () => {
    const counts = keyValueStore('counts', { key: string(), value: int64() });
    const streams = new StreamsBuilder();
    const joined = streams.table(orders).joinOn(streams.table(customers), { foreignKey, join, value: string(), name: 'owned' });
    joined.groupBy((row) => [row.split('|')[1]!, row], { key: string(), value: string() }).count(counts);
    joined.toStream().to(out);
    const topology = streams.build();
    expect([...topology.stores.keys()]).toContain('owned');
    const { pipe, driver } = await driven(topology, out);
    await pipe(customers, 'c1', 'Ann', 1);
    await pipe(orders, 'o1', 'c1,x', 2);
    await pipe(orders, 'o2', 'c1,y', 3);
    await pipe(customers, 'c1', 'Anna', 4);
    expect(await driver.store(counts).entries()).toEqual([
      ['Ann', 0n],
      ['Anna', 2n],
    ]);
  });
});

describe('the two sides of a join by a foreign key', () => {
  const topology = (): Topology => topologyOf((left, right) => left.joinOn(right, { foreignKey, join, name: 'owned' }));

  it('are two sub-topologies that talk through topics, each beside its table', () => {
    const { stores, repartitionTopics, subTopologies, nodes } = topology();
    expect([...stores.keys()].toSorted()).toEqual(['customers-table', 'orders-table', 'owned-subscriptions']);
    expect(repartitionTopics.map(({ name }) => name)).toEqual(['owned-subscriptions-repartition', 'owned-responses-repartition']);
    expect(subTopologies).toMatchObject([
      {
        id: 'customers',
        copartitioned: [['customers', 'owned-subscriptions-repartition']],
        stores: ['customers-table', 'owned-subscriptions'],
      },
      { id: 'orders', copartitioned: [['orders', 'owned-responses-repartition']], stores: ['orders-table'] },
    ]);
    expect([...nodes.keys()].filter((name) => name.startsWith('owned'))).toEqual([
      'owned-subscribe',
      'owned-answer',
      'owned-tell',
      'owned-resolve',
      'owned',
      'owned-toStream',
    ]);
  });

  it('may have different partition counts, and answers go where the row is, however it came there', async () => {
    const test = setting({ orders: 3, customers: 2, out: 1 });
    const worker = await test.start(topology());
    test.cluster.append('customers', 0, [{ key: 'c1', value: 'Ann', timestampMs: 1 }]);
    test.cluster.append('customers', 1, [{ key: 'c1', value: 'Ann', timestampMs: 1 }]);
    await test.until(() => worker.health().counters.records === 2);
    // One key in each partition, as no partitioner would spread it.
    for (const partition of [0, 1, 2]) test.cluster.append('orders', partition, [{ key: 'o1', value: `c1,p${partition}`, timestampMs: 2 }]);
    await test.until(() => worker.health().counters.records === 2 + 3 * 3);
    await test.stop(worker);
    expect(
      test
        .texts('out')
        .map(([, row]) => row)
        .toSorted(),
    ).toEqual(['c1,p0|Ann', 'c1,p1|Ann', 'c1,p2|Ann']);
  });

  it('remember who refers to whom when the process is started again, on the same disk or another one', async () => {
    for (const sameDisk of [true, false]) {
      const test = setting({ orders: 1, customers: 1, out: 1 });
      const disk = new MemoryEngine();
      const first = await test.start(topology(), {}, {}, disk);
      test.cluster.append('orders', 0, [{ key: 'o1', value: 'c1,x', timestampMs: 1 }]);
      await test.until(() => first.health().counters.records === 2);
      await test.stop(first);
      const second = await test.start(topology(), {}, {}, sameDisk ? disk : new MemoryEngine());
      test.cluster.append('customers', 0, [{ key: 'c1', value: 'Ann', timestampMs: 2 }]);
      await test.until(() => second.health().counters.records === 2);
      await test.stop(second);
      expect(test.texts('out')).toEqual([['o1', 'c1,x|Ann']]);
    }
  });

  it('find their partition counts where both tables come from repartition topics', async () => {
    const test = setting({ orders: 3, customers: 2, out: 1 });
    const streams = new StreamsBuilder();
    const rekeyed = (from: typeof orders, name: string): Table =>
      streams
        .stream(from)
        .selectKey((_value, key) => key, { key: string() })
        .toTable({ name });
    rekeyed(orders, 'left').joinOn(rekeyed(customers, 'right'), { foreignKey, join, name: 'owned' }).toStream().to(out);
    const worker = await test.start(streams.build());
    test.cluster.append('customers', 0, [{ key: 'c1', value: 'Ann', timestampMs: 1 }]);
    test.cluster.append('orders', 0, [{ key: 'o1', value: 'c1,x', timestampMs: 2 }]);
    await test.until(() => test.texts('out').length > 0);
    await test.stop(worker);
    expect(test.texts('out')).toEqual([['o1', 'c1,x|Ann']]);
  });

  it('may be one table', async () => {
    const { pipe } = await joining((left) => left.joinOn(left, { foreignKey, join }));
    await pipe(orders, 'c1', 'c9,parent', 1);
    expect(await pipe(orders, 'o1', 'c1,child', 2)).toEqual(['o1=c1,child|c9,parent @2']);
    expect(await pipe(orders, 'c1', 'c8,parent', 3)).toEqual(['o1=c1,child|c8,parent @3', 'c1=null @3']);
  });

  it('say which serdes they lack', () => {
    const streams = new StreamsBuilder();
    const lengths = streams.table(customers).map((row) => row.length);
    streams.table(orders).joinOn(lengths, { foreignKey, join: (order, length) => order.repeat(length), name: 'owned' });
    expect(() => streams.build()).toThrow('Operator "owned" needs the value\'s serde, because the tables talk through topics');
  });
});
