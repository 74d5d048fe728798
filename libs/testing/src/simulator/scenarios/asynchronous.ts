/** Asynchronous handlers, several keys at a time, with the keys' own state; what is behind them runs when they join, in order. */
import { keyValueStore, type ProcessorContext, string, topic, TopologyBuilder } from '@tally/streams';
import { type Item, item, itemBytes, itemOf, itemText } from './item.js';
import { exactly, Lanes, originOf, type Scenario, textOf } from './scenario.js';

const jobs = topic('jobs', { key: string(), value: item() });
const jobTotals = topic('job-totals', { key: string(), value: item() });
const partitionTotals = topic('partition-totals', { key: string(), value: item() });
const perKey = keyValueStore('per-key', { key: string(), value: item() });
const perPartition = keyValueStore('per-partition', { key: string(), value: item() });

const outputs = [{ name: jobTotals.name }, { name: partitionTotals.name }];
const partitionKey = (id: number): string => `partition-${originOf(id).partition}`;

export const asynchronousScenario: Scenario = {
  name: 'asynchronous',
  weight: 3,
  guarantees: exactly,
  inputs: [{ name: jobs.name }],
  outputs,
  stores: [perKey, perPartition],
  // A handler that passes its deadline is tried again: it does nothing wrong, it is only slow.
  errors: { processing: { action: 'retry', retriesMax: 1_000, backoffMs: 5, backoffMaxMs: 50, then: { action: 'stop' } } },
  isStateful: true,
  isAsynchronous: true,
  topology(process) {
    const builder = new TopologyBuilder({ name: 'jobs' });
    const done = builder.processor(builder.source(jobs), {
      name: 'do',
      stores: [perKey],
      concurrency: { perTask: 4, orderedBy: 'key' },
      async process(record, context: ProcessorContext<string, Item>) {
        const store = context.store(perKey);
        const before = store.get(record.key)?.amount ?? 0;
        await process.pause();
        const sum = { id: record.value.id, amount: before + record.value.amount };
        store.put(record.key, sum);
        context.send(jobTotals, record.key, sum);
        await process.pause();
        context.forward(record);
      },
    });
    const summed = builder.processor(done, {
      name: 'sum',
      stores: [perPartition],
      process(record, context: ProcessorContext<string, Item>) {
        const store = context.store(perPartition);
        const key = partitionKey(record.value.id);
        const sum = { id: record.value.id, amount: (store.get(key)?.amount ?? 0) + record.value.amount };
        store.put(key, sum);
        context.forward({ ...record, key, value: sum });
      },
    });
    builder.sink(summed, partitionTotals);
    return builder.build();
  },
  record: (draw, id, partition) => ({
    topic: jobs.name,
    key: `${partition}/${draw.below(6)}`,
    value: itemBytes(id, draw.between(1, 1_000)),
  }),
  lane: ({ key, value }) => [textOf(key), itemText(itemOf(value))],
  storeText: (_store, value) => itemText(value as Item),
  expect(inputs) {
    const lanes = new Lanes(outputs);
    const held = { keys: new Map<string, string>(), partitions: new Map<string, string>() };
    const sums = new Map<string, number>();
    const add = (topicName: string, store: Map<string, string>, key: string, { id, amount }: Item): void => {
      const sum = (sums.get(key) ?? 0) + amount;
      sums.set(key, sum);
      store.set(key, itemText({ id, amount: sum }));
      lanes.add(topicName, key, itemText({ id, amount: sum }));
    };
    for (const { key, value } of inputs) {
      const job = itemOf(value);
      add(jobTotals.name, held.keys, key, job);
      add(partitionTotals.name, held.partitions, partitionKey(job.id), job);
    }
    return {
      outputs: lanes.byTopic,
      stores: new Map([
        [perKey.name, held.keys],
        [perPartition.name, held.partitions],
      ]),
    };
  },
  conserved: () => [],
};
