/**
 * Punctuators that write and send. Readings wait in a store until one sends them on: by stream time with an asynchronous look at the whole
 * store, by wall-clock time with single reads. A clock of its own counts in each partition, also while nothing arrives.
 */
import { type InitContext, keyValueStore, type Processor, type ProcessorContext, string, topic, TopologyBuilder } from '@tally/streams';
import { type Item, item, itemBytes, itemOf } from './item.js';
import { exactly, Lanes, type Result, type Scenario, textOf } from './scenario.js';

const readings = topic('readings', { key: string(), value: item() });
const digests = topic('digests', { key: string(), value: string() });
const ticks = topic('ticks', { key: string(), value: item() });
const waiting = keyValueStore('waiting', { key: string(), value: string() });
const ticked = keyValueStore('ticked', { key: string(), value: item() });

const keysPerPartition = 5;
const keyOf = (partition: number, number: number): string => `${partition}/${number}`;

function createDigest(): Processor<string, Item> {
  return {
    init(task: InitContext) {
      const { partition } = task;
      const digest = (key: string, context: ProcessorContext): void => {
        const ids = context.store(waiting).get(key);
        if (ids === undefined) return;
        context.store(waiting).delete(key);
        context.send(digests, key, ids);
      };
      task.schedule(400, 'streamTime', async (_atMs, context) => {
        for await (const [key] of context.store(waiting).all()) digest(key, context);
      });
      task.schedule(170, 'wallClock', (_atMs, context) => {
        for (let number = 0; number < keysPerPartition; number += 1) digest(keyOf(partition, number), context);
      });
      task.schedule(90, 'wallClock', (_atMs, context) => {
        const key = `partition-${partition}`;
        const tick = (context.store(ticked).get(key)?.id ?? 0) + 1;
        context.store(ticked).put(key, { id: tick, amount: 0 });
        context.send(ticks, key, { id: tick, amount: 0 });
      });
    },
    process({ key, value }, context) {
      const store = context.store(waiting);
      const ids = store.get(key);
      store.put(key, ids === undefined ? String(value.id) : `${ids},${value.id}`);
    },
  };
}

export const punctuatedScenario: Scenario = {
  name: 'punctuated',
  weight: 4,
  guarantees: exactly,
  inputs: [{ name: readings.name }],
  outputs: [{ name: digests.name }, { name: ticks.name }],
  stores: [waiting, ticked],
  isStateful: true,
  isAsynchronous: true,
  changesAtRest: true,
  // A punctuator that passes its deadline is tried again: it does nothing wrong, it is only slow.
  errors: { processing: { action: 'retry', retriesMax: 1_000, backoffMs: 5, backoffMaxMs: 50, then: { action: 'stop' } } },
  topology() {
    const builder = new TopologyBuilder({ name: 'digests' });
    builder.processor(builder.source(readings), { name: 'digest', stores: [waiting, ticked], create: createDigest });
    return builder.build();
  },
  record: (draw, id, partition) => ({
    topic: readings.name,
    key: keyOf(partition, draw.below(keysPerPartition)),
    value: itemBytes(id, draw.between(1, 9)),
  }),
  lane: ({ key }) => [textOf(key), ''],
  storeText: (store, value) => (store === waiting.name ? String(value) : String((value as Item).id)),
  // When a punctuator fires depends on the faults; `conserved` says what must hold whenever it does.
  expect: () => ({ outputs: new Lanes([]).byTopic, stores: new Map() }),
  conserved: (result) => [...digestProblems(result), ...tickProblems(result)],
};

/** What was sent on and what still waits is, for each key, what came in: all of it, once, in order. */
function digestProblems({ inputs, outputs, stores, complete }: Result): string[] {
  const expected = new Map<string, number[]>();
  for (const { key, value } of inputs) expected.set(key, [...(expected.get(key) ?? []), itemOf(value).id]);
  const sent = new Map<string, string[]>();
  for (const { key, value } of outputs.get(digests.name) ?? []) sent.set(textOf(key), [...(sent.get(textOf(key)) ?? []), textOf(value)]);
  const problems: string[] = [];
  for (const key of new Set([...expected.keys(), ...sent.keys()])) {
    const left = stores.get(waiting.name)?.get(key);
    const all = [...(sent.get(key) ?? []), ...(left === undefined ? [] : [left])].join(',');
    const wanted = (expected.get(key) ?? []).join(',');
    const isRight = complete ? all === wanted : all === '' || wanted === all || wanted.startsWith(`${all},`);
    if (!isRight) problems.push(`readings of ${key} were sent on as ${all}${complete ? '' : ' so far'}, expected ${wanted}`);
  }
  return problems;
}

/** Each partition counts 1, 2, 3 without a gap and without a repetition. */
function tickProblems({ outputs, stores, complete }: Result): string[] {
  const problems: string[] = [];
  const counts = new Map<string, number>();
  for (const { key, value } of outputs.get(ticks.name) ?? []) {
    const name = textOf(key);
    const { id } = itemOf(value);
    if (id !== (counts.get(name) ?? 0) + 1) problems.push(`the clock of ${name} goes from ${counts.get(name) ?? 0} to ${id}`);
    counts.set(name, id);
  }
  if (complete) {
    for (const [key, text] of stores.get(ticked.name) ?? []) {
      if (Number(text) !== counts.get(key)) problems.push(`the clock of ${key} stands at ${text} and has last shown ${counts.get(key)}`);
    }
  }
  return problems;
}
