import { int64, keyValueStore, nullable, StreamsBuilder, string, topic } from '@tally/streams';
import { expect, it } from 'vitest';

const words = topic('words', { key: string(), value: string() });
const totals = topic('totals', { key: string(), value: nullable(int64()) });
const counts = keyValueStore('counts', { key: string(), value: int64() });

it('shows a topology as text and as a graph', () => {
  const streams = new StreamsBuilder({ name: 'counting' });
  streams.stream(words).groupByKey().count(counts).toStream({ name: 'changes' }).to(totals);
  const topology = streams.build();

  expect(topology.describe()).toContain(`
  Sub-topology words
    topics: words
    store counts (keyValue, string -> int64, version 0)
    source source-words (words) -> counts-aggregate
    processor counts-aggregate (stores counts) -> changes
    processor changes -> sink-totals
    sink sink-totals -> totals
`);
  expect(topology.mermaid()).toBe(`flowchart LR
  subgraph sub1["words"]
    node1["source-words"]
    node3["counts-aggregate"]
    node4["changes"]
    store5[("counts")]
    node6["sink-totals"]
  end
  topic2>"words"]
  topic7>"totals"]
  topic2 --> node1
  node1 --> node3
  node3 --> node4
  node3 --- store5
  node4 --> node6
  node6 --> topic7
`);
});
