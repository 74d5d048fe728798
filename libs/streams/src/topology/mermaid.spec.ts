import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/index.js';
import { int64, nullable, string } from '../serde/index.js';
import { keyValueStore, topic } from './index.js';

describe('a topology as a graph for Mermaid', () => {
  it('shows topics, nodes and stores, and what runs in one task as a box', () => {
    const streams = new StreamsBuilder({ name: 'words' });
    const names = streams.globalTable(topic('names', { key: string(), value: string() }));
    streams
      .stream(topic('lines.v1', { key: string(), value: string() }))
      .joinGlobal(names, { key: (line) => line, join: (_line, name) => name, value: string(), name: 'named' })
      .groupBy((name) => name, { key: string(), name: 'by-name' })
      .count(keyValueStore('counts', { key: string(), value: int64() }))
      .toStream({ name: 'changes' })
      .to(topic('totals', { key: string(), value: nullable(int64()) }), { name: 'out' });
    expect(streams.build().mermaid()).toBe(`flowchart LR
  subgraph sub1["by-name-repartition"]
    node3["source-by-name-repartition"]
    node5["counts-aggregate"]
    node6["changes"]
    store7[("counts")]
    node8["out"]
  end
  subgraph sub2["lines.v1"]
    node10["source-lines.v1"]
    node12["named"]
    node13["named-selectKey"]
    node14["by-name-repartition-keyed"]
    node15["sink-by-name-repartition"]
  end
  topic1>"names"]
  store2[("names-global")]
  topic4>"by-name-repartition"]
  topic9>"totals"]
  topic11>"lines.v1"]
  topic1 -. every worker .-> store2
  topic4 --> node3
  node3 --> node5
  node5 --> node6
  node5 --- store7
  node6 --> node8
  node8 --> topic9
  topic11 --> node10
  node10 --> node12
  node12 --> node13
  node12 --- store2
  node13 --> node14
  node14 --> node15
  node15 --> topic4
`);
  });

  it('shows a topic that is chosen for each record as what it is', () => {
    const streams = new StreamsBuilder();
    const source = streams.stream(topic('in', { key: string(), value: string() }));
    source.toRouted(() => topic('out', { key: string(), value: string() }));
    expect(streams.build().mermaid()).toContain('>"chosen by record"]');
  });
});
