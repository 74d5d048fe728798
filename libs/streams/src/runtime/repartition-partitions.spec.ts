import { describe, expect, it } from 'vitest';
import { string } from '../serde/index.js';
import { topic, TopologyBuilder, type NodeHandle } from '../topology/index.js';
import { repartitionPartitions } from './repartition-partitions.js';

const text = { key: string(), value: string() };
const small = topic('small', text);
const large = topic('large', text);
const external = new Map([
  ['small', 2],
  ['large', 6],
]);

const after = (builder: TopologyBuilder, name: string, parents: NodeHandle<string, string>, partitions?: number) =>
  builder.repartition(parents, { name, ...text, ...(partitions === undefined ? {} : { partitions }) });
const through = (builder: TopologyBuilder, name: string, parents: NodeHandle<string, string>) =>
  builder.processor<string, string, string, string>(parents, { name, process: (record, context) => context.forward(record) });

function counts(build: (builder: TopologyBuilder) => void): Record<string, number> {
  const builder = new TopologyBuilder();
  build(builder);
  const all = repartitionPartitions(builder.build(), external);
  return Object.fromEntries([...all].filter(([name]) => name.endsWith('-repartition')));
}

describe('partitions of repartition topics', () => {
  it('are those of the largest source before, across several steps', () => {
    expect(
      counts((builder) => {
        const first = after(builder, 'first', through(builder, 'both', builder.source([small, large])));
        after(builder, 'second', first);
      }),
    ).toEqual({ 'first-repartition': 6, 'second-repartition': 6 });
  });

  it('are as declared, for what is read beside it too', () => {
    expect(
      counts((builder) => {
        const declared = after(builder, 'declared', builder.source(large), 3);
        builder.copartition(declared, after(builder, 'beside', builder.source(small)));
      }),
    ).toEqual({ 'declared-repartition': 3, 'beside-repartition': 3 });
  });

  it('are those of the topic that is read beside', () => {
    expect(
      counts((builder) => {
        builder.copartition(after(builder, 'rekeyed', builder.source(small)), builder.source(large));
      }),
    ).toEqual({ 'rekeyed-repartition': 6 });
  });

  it('are equal for repartition topics that are read together', () => {
    expect(
      counts((builder) => {
        builder.copartition(after(builder, 'one', builder.source(small)), after(builder, 'other', builder.source(large)));
      }),
    ).toEqual({ 'one-repartition': 6, 'other-repartition': 6 });
  });

  it('are found where a sub-topology fills a topic that it reads', () => {
    expect(
      counts((builder) => {
        const source = builder.source(small);
        builder.copartition(source, after(builder, 'again', source));
      }),
    ).toEqual({ 'again-repartition': 2 });
  });

  it('are found where two sub-topologies fill each other and one of them is filled by others too', () => {
    expect(
      counts((builder) => {
        const left = after(builder, 'left', builder.source(small));
        const right = after(builder, 'right', builder.source(large));
        const asked = after(builder, 'asked', left);
        builder.copartition(asked, right);
        builder.copartition(left, after(builder, 'answered', through(builder, 'answer', asked)));
      }),
    ).toEqual({ 'left-repartition': 2, 'answered-repartition': 2, 'right-repartition': 6, 'asked-repartition': 6 });
  });
});
