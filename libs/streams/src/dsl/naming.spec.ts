import { describe, expect, it } from 'vitest';
import { int64, json, nullable, string } from '../serde/index.js';
import { keyValueStore, topic, TopologyBuilder, type Topology } from '../topology/index.js';
import { StreamsBuilder } from './index.js';

interface Payment {
  readonly id: string;
  readonly account: string;
  readonly amount: bigint;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const amounts = topic('amounts', { key: nullable(string()), value: nullable(int64()) });
const words = topic('words', { key: string(), value: string() });
const balances = keyValueStore('balances', { key: string(), value: int64() });

describe('names', () => {
  const namesOf = (topology: Topology): string[] => [...topology.nodes.keys()];

  it('are made of what an operator works on, and of what it does', () => {
    const streams = new StreamsBuilder();
    const stream = streams.stream(payments).filter(() => true);
    stream
      .filter(() => true)
      .groupByKey()
      .count()
      .toStream()
      .to(amounts);
    stream
      .map((value) => value.id, { name: 'ids' })
      .peek(() => undefined)
      .to(words, { name: 'out' });
    expect(namesOf(streams.build())).toEqual([
      'source-payments',
      'payments-filter',
      'payments-filter-2',
      'payments-count-aggregate',
      'payments-count-toStream',
      'sink-amounts',
      'ids',
      'ids-peek',
      'out',
    ]);
  });

  it('stay as they are when another part of the application grows', () => {
    const build = (other: boolean): Topology => {
      const topology = new TopologyBuilder({ name: 'bank' });
      if (other) {
        const growing = new StreamsBuilder({ topology, namePrefix: 'audit' });
        growing
          .stream(payments)
          .selectKey((value) => value.id, { key: string() })
          .groupByKey()
          .count();
        growing
          .stream(payments)
          .filter(() => true)
          .groupByKey()
          .count();
      }
      const streams = new StreamsBuilder({ topology, namePrefix: 'ledger' });
      streams
        .stream(payments)
        .filter(() => true)
        .groupByKey()
        .count();
      streams
        .stream(payments)
        .selectKey((value) => value.account, { key: string() })
        .groupByKey()
        .count();
      return topology.build();
    };
    const alone = build(false);
    const together = build(true);
    expect([...alone.stores.keys()]).toEqual(['ledger-payments-count', 'ledger-payments-count-2']);
    expect(namesOf(together)).toEqual(expect.arrayContaining(namesOf(alone)));
    expect([...together.stores.keys()]).toEqual(expect.arrayContaining([...alone.stores.keys()]));
    expect(together.repartitionTopics.map(({ name }) => name)).toEqual([
      'audit-payments-count-repartition',
      'ledger-payments-count-2-repartition',
    ]);
  });

  it('are taken as given where they are given', () => {
    const streams = new StreamsBuilder({ namePrefix: 'ledger' });
    streams
      .stream(payments, { name: 'in', subTopology: 'entry' })
      .selectKey((value) => value.account, { name: 'accounts', key: string() })
      .groupByKey({ name: 'by-account' })
      .count();
    const topology = streams.build();
    expect(topology.repartitionTopics.map(({ name }) => name)).toEqual(['by-account-repartition']);
    expect([...topology.stores.keys()]).toEqual(['ledger-by-account-count']);
    expect(topology.subTopologies.map(({ id }) => id)).toEqual(['by-account-repartition', 'entry']);
  });

  it('cannot begin with a prefix that is no name', () => {
    expect(() => new StreamsBuilder({ namePrefix: 'a b' })).toThrow('name prefix "a b"');
  });
});

describe('build refuses', () => {
  it('a repartition without the serde of the value, and names the operator', () => {
    const streams = new StreamsBuilder();
    streams
      .stream(payments)
      .map((value) => value.amount)
      .selectKey(() => 'all', { key: string() })
      .groupByKey({ name: 'totals' })
      .count(balances);
    expect(() => streams.build()).toThrow(expect.objectContaining({ code: 'TOPOLOGY_SERDE_MISSING', place: { node: 'totals' } }));
    expect(() => streams.build()).toThrow(
      'Operator "totals" needs the value\'s serde, because its records pass through a repartition topic',
    );
  });

  it('a store of its own without the serde of the key, and names both problems', () => {
    const streams = new StreamsBuilder();
    streams
      .stream(payments)
      .mapRecord((value) => [value.account, value.amount] as const)
      .groupByKey()
      .count({ name: 'counted' });
    expect(() => streams.build()).toThrow(/Operator "counted" needs the key's serde.*\nOperator "counted" needs the value's serde/);
  });

  it('two tables in one store', () => {
    const streams = new StreamsBuilder();
    const grouped = streams.stream(words).groupByKey();
    grouped.count({ name: 'counted' });
    expect(() => grouped.count({ name: 'counted' })).toThrow('The store "counted" is the table of "counted-aggregate" already');
    grouped.count();
    grouped.count();
    expect([...streams.build().stores.keys()]).toEqual(['counted', 'words-count', 'words-count-2']);
  });

  it('nothing where the serdes are given late', () => {
    const streams = new StreamsBuilder();
    streams
      .stream(payments)
      .mapRecord((value) => [value.account, value.amount] as const)
      .groupByKey({ key: string(), value: int64() })
      .count();
    expect(streams.build().repartitionTopics[0]?.topic).toMatchObject({ key: string(), value: int64() });
  });
});
