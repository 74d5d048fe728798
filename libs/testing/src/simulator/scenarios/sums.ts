/** Running sums by key, by the Processor API. A sum that is divisible by five is deleted, so that there are tombstones. */
import { keyValueStore, type ProcessorContext, string, topic, TopologyBuilder } from '@tally/streams';
import { type Item, item, itemBytes, itemOf, itemText } from './item.js';
import { Lanes, type Scenario, textOf } from './scenario.js';

const amounts = topic('amounts', { key: string(), value: item() });
const totals = topic('totals', { key: string(), value: item() });
const sums = keyValueStore('sums', { key: string(), value: item(), version: 1 });

const outputs = [{ name: totals.name }];

export const sumsScenario: Scenario = {
  name: 'sums',
  weight: 3,
  guarantees: ['exactly-once', 'at-least-once', 'at-most-once'],
  inputs: [{ name: amounts.name }],
  outputs,
  stores: [sums],
  isStateful: true,
  isAsynchronous: false,
  topology() {
    const builder = new TopologyBuilder({ name: 'sums' });
    const summed = builder.processor(builder.source(amounts), {
      name: 'sum',
      stores: [sums],
      process(record, context: ProcessorContext<string, Item>) {
        const store = context.store(sums);
        const sum = { id: record.value.id, amount: (store.get(record.key)?.amount ?? 0) + record.value.amount };
        if (sum.amount % 5 === 0) store.delete(record.key);
        else store.put(record.key, sum);
        context.forward({ ...record, value: sum });
      },
    });
    builder.sink(summed, totals);
    return builder.build();
  },
  record: (draw, id, partition) => ({
    topic: amounts.name,
    key: `${partition}/${draw.below(5)}`,
    value: itemBytes(id, draw.between(1, 1_000)),
  }),
  lane: ({ key, value }) => [textOf(key), itemText(itemOf(value))],
  storeText: (_store, value) => itemText(value as Item),
  expect(inputs) {
    const lanes = new Lanes(outputs);
    const held = new Map<string, string>();
    const sumOf = new Map<string, number>();
    for (const { key, value } of inputs) {
      const { id, amount } = itemOf(value);
      const sum = { id, amount: (sumOf.get(key) ?? 0) + amount };
      lanes.add(totals.name, key, itemText(sum));
      if (sum.amount % 5 === 0) {
        held.delete(key);
        sumOf.delete(key);
      } else {
        held.set(key, itemText(sum));
        sumOf.set(key, sum.amount);
      }
    }
    return { outputs: lanes.byTopic, stores: new Map([[sums.name, held]]) };
  },
  conserved: () => [],
};
