import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { int64, json, string } from '../serde/index.js';
import { keyValueStore, topic, TopologyBuilder, type NodeHandle, type Topic } from './index.js';

const named = (name: string): Topic<string, bigint> => topic(name, { key: string(), value: int64() });
const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(named) as [
  Topic<string, bigint>,
  Topic<string, bigint>,
  Topic<string, bigint>,
  Topic<string, bigint>,
];
const shared = keyValueStore('shared', { key: string(), value: int64() });
const other = keyValueStore('other', { key: string(), value: int64() });
const nothing = { process(): void {} };

function divided(
  fill: (builder: TopologyBuilder) => void,
): { id: string; topics: readonly string[]; copartitioned: unknown; stores: readonly string[] }[] {
  const builder = new TopologyBuilder();
  fill(builder);
  return builder
    .build()
    .subTopologies.map(({ id, sourceTopics, copartitioned, stores }) => ({ id, topics: sourceTopics, copartitioned, stores }));
}

describe('sub-topologies', () => {
  it('are apart where nothing connects them, each under its smallest topic', () => {
    const result = divided((builder) => {
      builder.processor(builder.source(b), { name: 'b', stores: [shared], ...nothing });
      builder.processor(builder.source([d, a]), { name: 'a', ...nothing });
    });
    expect(result).toEqual([
      { id: 'a', topics: ['a', 'd'], copartitioned: [], stores: [] },
      { id: 'b', topics: ['b'], copartitioned: [], stores: ['shared'] },
    ]);
  });

  it('are one where they share a topic, without asking for equal partition counts', () => {
    const result = divided((builder) => {
      builder.processor(builder.source([a, b]), { name: 'one', ...nothing });
      builder.processor(builder.source([b, c]), { name: 'two', ...nothing });
    });
    expect(result).toEqual([{ id: 'a', topics: ['a', 'b', 'c'], copartitioned: [], stores: [] }]);
  });

  it('are one where they share a store, and then counts must be equal', () => {
    const result = divided((builder) => {
      builder.processor(builder.source(a), { name: 'one', stores: [shared], ...nothing });
      builder.processor(builder.source(b), { name: 'two', stores: [shared], ...nothing });
    });
    expect(result).toEqual([{ id: 'a', topics: ['a', 'b'], copartitioned: [['a', 'b']], stores: ['shared'] }]);
  });

  it('ask for equal counts only of the topics whose records reach one store', () => {
    const result = divided((builder) => {
      const merged = builder.source([a, b, c]);
      const onlyAb = builder.processor(builder.source([a, b]), { name: 'ab', create: () => ({ process(): void {} }) });
      builder.processor(onlyAb, { name: 'sum', stores: [shared], ...nothing });
      builder.processor(merged, { name: 'log', ...nothing });
    });
    expect(result).toEqual([{ id: 'a', topics: ['a', 'b', 'c'], copartitioned: [['a', 'b']], stores: ['shared'] }]);
  });

  it('join and align what is declared copartitioned', () => {
    const result = divided((builder) => {
      const left: NodeHandle<string, bigint> = builder.source(a);
      builder.processor(left, { name: 'one', ...nothing });
      builder.copartition(left, builder.source(b));
      builder.source(c);
    });
    expect(result).toEqual([
      { id: 'a', topics: ['a', 'b'], copartitioned: [['a', 'b']], stores: [] },
      { id: 'c', topics: ['c'], copartitioned: [], stores: [] },
    ]);
  });

  it('bear their explicit name', () => {
    const result = divided((builder) => {
      builder.processor(builder.source([a, b], { subTopology: 'ledger' }), { name: 'one', ...nothing });
      builder.source(a, { subTopology: 'ledger' });
    });
    expect(result).toEqual([{ id: 'ledger', topics: ['a', 'b'], copartitioned: [], stores: [] }]);
  });

  it('cannot be two by name and one by a store', () => {
    expect(() =>
      divided((builder) => {
        builder.processor(builder.source(a, { subTopology: 'left' }), { name: 'one', stores: [other, shared], ...nothing });
        builder.processor(builder.source(b, { subTopology: 'right' }), { name: 'two', stores: [shared], ...nothing });
      }),
    ).toThrow('The sub-topologies "left" and "right" are one, because nodes of both use the store "shared".');
    expect(() =>
      divided((builder) => {
        builder.processor([builder.source(a, { subTopology: 'left' }), builder.source(b, { subTopology: 'right' })], {
          name: 'one',
          ...nothing,
        });
      }),
    ).toThrow('because their nodes are connected');
  });

  it('cannot put one source into two, nor be two of one name', () => {
    expect(() =>
      divided((builder) => {
        builder.source(a, { subTopology: 'left' });
        builder.source(a, { subTopology: 'right' });
      }),
    ).toThrow('Source "source-a" is put into sub-topology "left" and into "right"');
    expect(() =>
      divided((builder) => {
        builder.source(a, { subTopology: 'same' });
        builder.source(b, { subTopology: 'same' });
      }),
    ).toThrow('Two unconnected sub-topologies would both be "same"');
  });

  it('keep their identity when the topology grows elsewhere', () => {
    const before = divided((builder) => builder.processor(builder.source(b), { name: 'b', stores: [shared], ...nothing }));
    const after = divided((builder) => {
      builder.processor(builder.source(a), { name: 'a', stores: [other], ...nothing });
      builder.processor(builder.source(b), { name: 'b', stores: [shared], ...nothing });
    });
    expect(after).toContainEqual(before[0]);
  });
});

describe('the hash', () => {
  interface Plan {
    readonly topics?: readonly [Topic<string, bigint>, ...Topic<string, bigint>[]];
    readonly store?: typeof shared;
    readonly node?: string;
    readonly more?: (builder: TopologyBuilder, source: NodeHandle<string, bigint>) => void;
    readonly version?: number;
    readonly subTopology?: string;
  }
  const hashOf = ({ topics = [a], store = shared, node = 'sum', more, version = 1, subTopology }: Plan): string => {
    const builder = new TopologyBuilder({ version });
    const source = builder.source(topics, subTopology === undefined ? {} : { subTopology });
    builder.processor(source, { name: node, stores: [store], ...nothing });
    more?.(builder, source);
    return builder.build().hash;
  };
  const stored = (options: object): typeof shared => keyValueStore('shared', { key: string(), value: int64(), ...options });

  it.each<[string, Plan]>([
    ['names of processors', { node: 'renamed' }],
    ['stateless nodes', { more: (builder, source) => builder.sink(source, b) }],
    ['another sub-topology without state', { more: (builder) => builder.processor(builder.source(c), { name: 'c', ...nothing }) }],
    ['the version of the topology', { version: 2 }],
    ['how long entries are kept', { store: stored({ ttlMs: 5 }) }],
    ['how old values are read', { store: stored({ migrate: () => 0n }) }],
  ])('does not change with %s', (_what, plan) => {
    expect(hashOf(plan)).toBe(hashOf({}));
  });

  it.each<[string, Plan]>([
    ['the name of a store', { store: keyValueStore('renamed', { key: string(), value: int64() }) }],
    ['the serde of a key', { store: stored({ key: json<string>() }) }],
    ['the serde of a value', { store: stored({ value: json<bigint>() }) }],
    ['the version of the values', { store: stored({ version: 1 }) }],
    ['the changelog of a store', { store: stored({ changelog: false }) }],
    ['the sources', { topics: [a, b] }],
    ['the owner', { subTopology: 'renamed' }],
    ['a further store', { more: (builder, source) => builder.processor(source, { name: 'more', stores: [other], ...nothing }) }],
  ])('changes with %s', (_what, plan) => {
    expect(hashOf(plan)).not.toBe(hashOf({}));
  });

  it('does not depend on the order of declaration', () => {
    const parts: readonly ((builder: TopologyBuilder) => void)[] = [
      (builder) => builder.processor(builder.source(a), { name: 'a1', stores: [shared, other], ...nothing }),
      (builder) => builder.processor(builder.source([b, a]), { name: 'a2', stores: [other], ...nothing }),
      (builder) =>
        builder.processor(builder.source(d), {
          name: 'd',
          stores: [keyValueStore('third', { key: string(), value: string() })],
          ...nothing,
        }),
      (builder) =>
        builder.processor(builder.source(c), {
          name: 'c',
          stores: [keyValueStore('fourth', { key: string(), value: string() })],
          ...nothing,
        }),
    ];
    const shape = (order: readonly number[]): unknown => {
      const builder = new TopologyBuilder();
      for (const index of order) parts[index]!(builder);
      const { hash, subTopologies } = builder.build();
      return { hash, subTopologies: subTopologies.map(({ nodes, ...rest }) => ({ ...rest, nodes: [...nodes].sort() })) };
    };
    const expected = shape([0, 1, 2, 3]);
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }), (order) => {
        expect(shape(order)).toEqual(expected);
      }),
    );
  });
});
