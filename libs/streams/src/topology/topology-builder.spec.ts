import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { InvalidConfigurationError } from '../core/errors.js';
import { int64, json, nullable, string } from '../serde/index.js';
import { keyValueStore, output, topic, TopologyBuilder, type NodeHandle, type ProcessorContext, type Topology } from './index.js';

const payments = topic('payments', { key: string(), value: int64() });
const refunds = topic('refunds', { key: string(), value: int64() });
const totals = topic('totals', { key: string(), value: int64() });
const balances = keyValueStore('balances', { key: string(), value: int64() });
const nothing = { process(): void {} };

function refusal(run: () => unknown): InvalidConfigurationError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidConfigurationError);
    return error as InvalidConfigurationError;
  }
  throw new Error('nothing was refused');
}

function nodeOf(topology: Topology, name: string): unknown {
  const node = topology.nodes.get(name);
  expect(node).toBeDefined();
  return node;
}

describe('handles', () => {
  it('are frozen data', () => {
    expect(Object.isFrozen(payments) && Object.isFrozen(balances)).toBe(true);
    expect(balances).toMatchObject({ kind: 'keyValue', name: 'balances', version: 0, changelog: true });
  });

  it.each(['', 'a b', 'a/b', '.', '..', 'ü', 'a'.repeat(250)])('refuse the topic name "%s"', (name) => {
    expect(refusal(() => topic(name, { key: string(), value: string() })).code).toBe('INVALID_NAME');
  });

  it('leave room for the rest of an internal topic in the name of a store', () => {
    expect(keyValueStore('a'.repeat(100), { key: string(), value: string() }).name).toHaveLength(100);
    expect(refusal(() => keyValueStore('a'.repeat(101), { key: string(), value: string() })).message).toContain(
      '101 characters, 100 are allowed',
    );
  });

  it.each([
    ['partitions', { partitions: 0 }],
    ['partitions', { partitions: 1.5 }],
    ['maxRecordBytes', { maxRecordBytes: -1 }],
    ['startAt', { startAt: 'newest' as 'latest' }],
    ['key', { key: undefined as never }],
    ['value', { value: {} as never }],
  ])('refuse a wrong %s of a topic, %j', (option, options) => {
    const error = refusal(() => topic('a', { key: string(), value: string(), ...options }));
    expect(error.code).toBe('INVALID_OPTION');
    expect(error.place.option).toBe(option);
    expect(error.message).toContain(`"${option}" of topic "a"`);
  });

  it.each([
    ['version', { version: 256 }],
    ['version', { version: -1 }],
    ['ttlMs', { ttlMs: 0 }],
    ['key', { key: undefined as never }],
  ])('refuse a wrong %s of a store, %j', (option, options) => {
    expect(refusal(() => keyValueStore('a', { key: string(), value: string(), ...options })).place.option).toBe(option);
  });

  it('refuse a store of nulls, which mean that there is no entry', () => {
    expect(refusal(() => keyValueStore('a', { key: string(), value: nullable(string()) })).message).toContain('a store cannot hold null');
  });
});

describe('TopologyBuilder', () => {
  it('links nodes in the order of declaration', () => {
    const builder = new TopologyBuilder({ name: 'bank', version: 3 });
    const source = builder.source(payments);
    const sum = builder.processor(source, {
      name: 'sum',
      stores: [balances],
      process(record, context: ProcessorContext<string, bigint>) {
        context.forward(record);
      },
    });
    builder.sink(sum, totals);
    builder.sink(sum, () => totals, { name: 'elsewhere' });
    builder.processor(source, { name: 'audit', create: () => nothing, deadlineMs: 50, errors: { processing: { action: 'skip' } } });
    const topology = builder.build();
    expect(topology).toMatchObject({ name: 'bank', version: 3 });
    expect([...topology.nodes.keys()]).toEqual(['source-payments', 'sum', 'sink-totals', 'elsewhere', 'audit']);
    expect(nodeOf(topology, 'source-payments')).toMatchObject({ kind: 'source', topics: [payments], children: ['sum', 'audit'] });
    expect(nodeOf(topology, 'sum')).toMatchObject({
      kind: 'processor',
      stores: ['balances'],
      children: ['sink-totals', 'elsewhere'],
      concurrency: 1,
      deadlineMs: undefined,
    });
    expect(nodeOf(topology, 'sink-totals')).toEqual({ kind: 'sink', name: 'sink-totals', topic: totals });
    expect(nodeOf(topology, 'audit')).toMatchObject({ deadlineMs: 50, errors: { processing: { action: 'skip' } } });
    expect(topology.stores.get('balances')).toBe(balances);
  });

  it('makes one processor for each task', () => {
    const builder = new TopologyBuilder();
    builder.processor(builder.source(payments), { name: 'own', create: () => ({ process(): void {} }) });
    const node = builder.build().nodes.get('own');
    expect(node?.kind === 'processor' && node.create() !== node.create()).toBe(true);
  });

  it('reads a topic once, however often and in whatever company it is named', () => {
    const builder = new TopologyBuilder();
    const both = builder.source([payments, refunds]);
    expect(both.nodes).toEqual(['source-payments', 'source-refunds']);
    expect(builder.source(topic('payments', { key: string(), value: int64() })).nodes).toEqual(['source-payments']);
    builder.processor(both, { name: 'both', ...nothing });
    builder.processor(builder.source(refunds), { name: 'one', ...nothing });
    const topology = builder.build();
    expect(nodeOf(topology, 'source-payments')).toMatchObject({ children: ['both'] });
    expect(nodeOf(topology, 'source-refunds')).toMatchObject({ children: ['both', 'one'] });
  });

  it('takes several parents, and a parent named twice once', () => {
    const builder = new TopologyBuilder();
    const [left, right] = [builder.source(payments), builder.source(refunds)];
    builder.processor([left, right, left], { name: 'both', ...nothing });
    expect(nodeOf(builder.build(), 'source-payments')).toMatchObject({ children: ['both'] });
  });

  it('goes on after build, and leaves what was built as it was', () => {
    const builder = new TopologyBuilder();
    const source = builder.source(payments);
    const before = builder.build();
    builder.sink(source, totals);
    expect(nodeOf(before, 'source-payments')).toMatchObject({ children: [] });
    expect(nodeOf(builder.build(), 'source-payments')).toMatchObject({ children: ['sink-totals'] });
  });

  it('names sinks of one topic apart', () => {
    const builder = new TopologyBuilder();
    const source = builder.source(payments);
    builder.sink(source, totals);
    builder.sink(source, totals);
    builder.sink(source, () => totals);
    expect([...builder.build().nodes.keys()]).toEqual(['source-payments', 'sink-totals', 'sink-totals-2', 'sink-routed']);
  });

  it('gives a branching processor one node for each output', () => {
    const builder = new TopologyBuilder();
    const { large, small } = builder.branchingProcessor(builder.source(payments), {
      name: 'size',
      outputs: { large: output<string, bigint>(), small: output<string, string>() },
      process() {},
    });
    builder.sink(large, totals);
    builder.sink(small, topic('small', { key: string(), value: string() }));
    const topology = builder.build();
    expect(nodeOf(topology, 'size')).toMatchObject({ children: ['size-large', 'size-small'] });
    expect(nodeOf(topology, 'size-large')).toMatchObject({ children: ['sink-totals'] });
    expect(nodeOf(topology, 'size-small')).toMatchObject({ children: ['sink-small'] });
  });

  it('divides at a repartition', () => {
    const builder = new TopologyBuilder();
    const again = builder.repartition(builder.source(payments), { name: 'by-kind', key: string(), value: int64(), partitions: 8 });
    builder.sink(again, totals);
    const topology = builder.build();
    expect(topology.repartitionTopics).toMatchObject([
      { name: 'by-kind-repartition', topic: { name: 'by-kind-repartition', partitions: 8 } },
    ]);
    const [repartition] = topology.repartitionTopics;
    expect(nodeOf(topology, 'sink-by-kind-repartition')).toMatchObject({ topic: repartition!.topic });
    expect(nodeOf(topology, 'source-by-kind-repartition')).toMatchObject({ topics: [repartition!.topic] });
    expect(topology.subTopologies.map(({ id }) => id)).toEqual(['by-kind-repartition', 'payments']);
  });

  it('describes itself', () => {
    const builder = new TopologyBuilder({ name: 'bank' });
    const source = builder.source([payments, refunds]);
    const archive = keyValueStore('archive', { key: string(), value: string(), changelog: false, ttlMs: 5 });
    builder.processor(source, { name: 'sum', stores: [balances, archive], ...nothing });
    builder.processor(source, { name: 'call', concurrency: { perTask: 4, orderedBy: 'key' }, ...nothing });
    builder.sink(source, totals);
    builder.sink(source, () => totals);
    const topology = builder.build();
    expect(topology.describe()).toBe(
      [
        `Topology bank, version 1, hash ${topology.hash.slice(0, 12)}`,
        '  Sub-topology payments',
        '    topics: payments, refunds',
        '    equal partition counts: payments, refunds',
        '    store archive (keyValue, string -> string, version 0, no changelog, kept for 5 ms)',
        '    store balances (keyValue, string -> int64, version 0)',
        '    source source-payments (payments) -> sum, call, sink-totals, sink-routed',
        '    source source-refunds (refunds) -> sum, call, sink-totals, sink-routed',
        '    processor sum (stores balances, archive)',
        '    processor call (4 records at a time)',
        '    sink sink-totals -> totals',
        '    sink sink-routed -> chosen by record',
        '',
      ].join('\n'),
    );
  });
});

describe('TopologyBuilder refuses', () => {
  const build = (): { builder: TopologyBuilder; source: NodeHandle<string, bigint> } => {
    const builder = new TopologyBuilder();
    return { builder, source: builder.source(payments) };
  };

  it('an empty topology', () => {
    expect(refusal(() => new TopologyBuilder().build()).code).toBe('TOPOLOGY_EMPTY');
  });

  it('a version or name that cannot be', () => {
    expect(refusal(() => new TopologyBuilder({ version: 0 })).message).toContain('"version"');
    expect(refusal(() => new TopologyBuilder({ name: 'a b' })).code).toBe('INVALID_NAME');
  });

  it('two nodes of one name', () => {
    const { builder, source } = build();
    builder.processor(source, { name: 'sum', ...nothing });
    const error = refusal(() => builder.processor(source, { name: 'sum', ...nothing }));
    expect(error.code).toBe('TOPOLOGY_DUPLICATE_NAME');
    expect(error.message).toContain('"sum"');
    expect(refusal(() => builder.source(refunds, { name: 'sum' })).place.node).toBe('sum');
    expect(refusal(() => builder.sink(source, totals, { name: 'sum' })).place.node).toBe('sum');
  });

  it('two names for one source', () => {
    const { builder } = build();
    expect(refusal(() => builder.source(payments, { name: 'other' })).message).toContain('source "source-payments"');
  });

  it('parents of another builder, and no parents', () => {
    const { builder } = build();
    const stranger = new TopologyBuilder().source(payments);
    const error = refusal(() => builder.processor(stranger, { name: 'sum', ...nothing }));
    expect(error.code).toBe('TOPOLOGY_UNKNOWN_PARENT');
    expect(error.message).toBe('The parent "source-payments" of node "sum" was not made by this topology\'s builder.');
    expect(refusal(() => builder.sink<string, bigint>({ nodes: ['source-payments'] }, totals)).code).toBe('TOPOLOGY_UNKNOWN_PARENT');
    expect(refusal(() => builder.sink<string, bigint>([] as never, totals)).message).toContain('at least one parent');
    expect(refusal(() => builder.sink<string, bigint>(undefined as never, totals)).message).toContain('"undefined"');
  });

  it('a failed declaration halfway: nothing of it stays', () => {
    const { builder, source } = build();
    refusal(() => builder.processor(source, { name: 'sum', deadlineMs: -1, ...nothing }));
    builder.processor(source, { name: 'sum', ...nothing });
    expect(nodeOf(builder.build(), 'source-payments')).toMatchObject({ children: ['sum'] });
  });

  it('a topic of two declarations', () => {
    const { builder, source } = build();
    const other = topic('payments', { key: string(), value: string() });
    const error = refusal(() => builder.source(other));
    expect(error.code).toBe('TOPOLOGY_TOPIC_MISMATCH');
    expect(error.message).toContain('a different value serde (int64 and string)');
    expect(refusal(() => builder.sink(source, topic('payments', { key: int64(), value: int64() }) as never)).message).toContain(
      'key serde',
    );
    expect(refusal(() => builder.source(topic('payments', { key: string(), value: int64(), partitions: 2 }))).message).toContain(
      'number of partitions (undefined and 2)',
    );
    expect(refusal(() => builder.source(topic('payments', { key: string(), value: int64(), startAt: 'latest' }))).message).toContain(
      'startAt',
    );
  });

  it('a topic of two schemas', () => {
    const builder = new TopologyBuilder();
    const First = z.object({ a: z.string() });
    builder.source(topic('t', { key: string(), value: json(First) }));
    builder.source(topic('t', { key: string(), value: json(First) }));
    expect(refusal(() => builder.source(topic('t', { key: string(), value: json(z.object({ a: z.string() })) }))).code).toBe(
      'TOPOLOGY_TOPIC_MISMATCH',
    );
  });

  it.each([
    ['value serde (int64 and string)', { value: string() }],
    ['version (0 and 1)', { version: 1 }],
    ['changelog option', { changelog: false }],
    ['ttlMs', { ttlMs: 5 }],
  ])('a store of two declarations that differ in %s', (difference, options) => {
    const { builder, source } = build();
    builder.processor(source, { name: 'one', stores: [balances], ...nothing });
    const error = refusal(() =>
      builder.processor(source, {
        name: 'two',
        stores: [keyValueStore<string, unknown>('balances', { key: string(), value: int64() as never, ...(options as object) })],
        ...nothing,
      }),
    );
    expect(error.code).toBe('TOPOLOGY_STORE_MISMATCH');
    expect(error.message).toContain(`of node "two" is declared elsewhere with a different ${difference}`);
  });

  it('wrong options of a processor', () => {
    const { builder, source } = build();
    expect(
      refusal(() => builder.processor(source, { name: 'a', concurrency: { perTask: 0, orderedBy: 'key' }, ...nothing })).message,
    ).toContain('concurrency.perTask');
    expect(refusal(() => builder.processor(source, { name: 'a' } as never)).message).toContain('either "process" or "create"');
    expect(refusal(() => builder.branchingProcessor(source, { name: 'a', outputs: {}, ...nothing })).message).toContain(
      'at least one output',
    );
    expect(refusal(() => builder.source([] as never)).code).toBe('TOPOLOGY_NO_TOPIC');
  });

  it('a repartition whose topic or name is taken', () => {
    const { builder, source } = build();
    const options = { name: 'again', key: string(), value: int64() };
    builder.source(topic('taken-repartition', { key: string(), value: int64() }));
    expect(refusal(() => builder.repartition(source, { ...options, name: 'taken' })).message).toContain(
      '"taken-repartition", which is in use',
    );
    builder.repartition(source, options);
    expect(refusal(() => builder.repartition(source, options)).code).toBe('TOPOLOGY_DUPLICATE_NAME');
    expect(refusal(() => builder.source(topic('again-repartition', { key: string(), value: int64() }))).message).toContain(
      'internal topic',
    );
    expect(refusal(() => builder.sink(source, topic('again-repartition', { key: string(), value: int64() }))).message).toContain(
      'internal topic',
    );
  });

  it('a concurrent processor whose store another node uses', () => {
    const { builder, source } = build();
    builder.processor(source, { name: 'calls', stores: [balances], concurrency: { perTask: 8, orderedBy: 'key' }, ...nothing });
    builder.build();
    builder.processor(source, { name: 'reads', stores: [balances], ...nothing });
    const error = refusal(() => builder.build());
    expect(error.code).toBe('TOPOLOGY_CONCURRENT_STORE');
    expect(error.message).toContain(
      'Processor "calls" handles several records at a time, so no other node can use its store "balances"; "reads" does.',
    );
  });

  it('to build with reported problems, and names all of them', () => {
    const { builder } = build();
    builder.reportProblem(new InvalidConfigurationError('FIRST', 'first.', { node: 'a' }));
    expect(refusal(() => builder.build()).message).toBe('first.');
    builder.reportProblem(new InvalidConfigurationError('SECOND', 'second.'));
    expect(refusal(() => builder.build())).toMatchObject({ code: 'FIRST', message: 'first.\nsecond.', place: { node: 'a' } });
  });
});
