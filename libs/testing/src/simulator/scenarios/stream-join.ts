/** Two streams joined within windows that are never closed: each pair comes once, whichever of the two came first. */
import { type KStream, StreamsBuilder, string, topic } from '@tally/streams';
import { type Item, item, itemBytes, itemOf } from './item.js';
import { exactly, Lanes, originOf, type Scenario } from './scenario.js';

const left = topic('left', { key: string(), value: item() });
const right = topic('right', { key: string(), value: item() });
/** The left record's id, and the right one's as the amount. */
const pairs = topic('pairs', { key: string(), value: item() });

const outputs = [{ name: pairs.name }];
const foreverMs = 1_000_000_000_000;
/** Records of one key: few, for each meets all others. */
const ordinalsPerKey = 12;

export const streamJoinScenario: Scenario = {
  name: 'stream join',
  // Drawn only where it is asked for: more weights would change the histories of all seeds.
  weight: 0,
  guarantees: exactly,
  inputs: [{ name: left.name }, { name: right.name }],
  outputs,
  stores: [],
  isStateful: true,
  isAsynchronous: false,
  topology() {
    const streams = new StreamsBuilder({ name: 'pairs' });
    const pair = (one: Item | null, other: Item | null): Item => ({ id: one?.id ?? 0, amount: other?.id ?? 0 });
    const stream: KStream<string, Item> = streams.stream(left);
    stream.outerJoin(streams.stream(right), pair, { beforeMs: foreverMs, afterMs: foreverMs, graceMs: 0, name: 'joining' }).to(pairs);
    return streams.build();
  },
  record: (_draw, id, partition) => ({
    topic: originOf(id).side === 0 ? left.name : right.name,
    key: `${partition}/${Math.floor((id >> 4) / ordinalsPerKey)}`,
    value: itemBytes(id, 1),
  }),
  lane({ value }) {
    const { id, amount } = itemOf(value);
    return [`${id}&${amount}`, String(id)];
  },
  storeText: () => '',
  expect(inputs) {
    const lanes = new Lanes(outputs);
    const of = (name: string) => inputs.filter((record) => record.topic === name).map(({ key, value }) => ({ key, id: itemOf(value).id }));
    const others = of(right.name);
    for (const { key, id } of of(left.name))
      for (const other of others) if (other.key === key) lanes.add(pairs.name, `${id}&${other.id}`, String(id));
    return { outputs: lanes.byTopic, stores: new Map() };
  },
  conserved: () => [],
};
