/**
 * Records that fail in every way, each way with its policy: what cannot be decoded, what the handler refuses at once, what it refuses until
 * it is tried again, what the broker refuses (which spoils its whole batch), and what is skipped.
 */
import { deadLetterHeaders, keyValueStore, type ProcessorContext, string, topic, TopologyBuilder } from '@tally/streams';
import { type Item, item, itemBytes, itemOf, itemText } from './item.js';
import { exactly, Lanes, type Scenario, textOf } from './scenario.js';

const parcels = topic('parcels', { key: string(), value: item() });
const weights = topic('weights', { key: string(), value: item() });
/** Takes only small records. */
const labels = topic('labels', { key: string(), value: string() });
const deadLetters = 'parcels-dead';
const weighed = keyValueStore('weighed', { key: string(), value: item() });

const outputs = [{ name: weights.name }, { name: labels.name, config: { 'max.message.bytes': '4000' } }, { name: deadLetters }];

/** What is wrong with a parcel, by its weight. */
type Fault = 'none' | 'unreadable' | 'refused' | 'skipped' | 'flaky' | 'tooLong' | 'tooEarly';
const faultsByWeight: readonly Fault[] = ['none', 'unreadable', 'refused', 'skipped', 'flaky', 'tooLong', 'tooEarly'];
const faultOf = (weight: number): Fault => faultsByWeight[weight] ?? 'none';

const tooLong = 'x'.repeat(5_000);
const aheadMs = 2 * 3_600_000;

class RefusedParcel extends Error {
  override readonly name = 'RefusedParcel';
}

export const poisonScenario: Scenario = {
  name: 'poison',
  weight: 2,
  guarantees: exactly,
  inputs: [{ name: parcels.name }],
  outputs,
  stores: [weighed],
  errors: {
    deserialization: { action: 'deadLetter', topic: deadLetters },
    processing: (error) => {
      if (error instanceof RefusedParcel) return { action: 'skip' };
      return { action: 'retry', retriesMax: 3, backoffMs: 2, then: { action: 'deadLetter', topic: deadLetters } };
    },
    production: { action: 'deadLetter', topic: deadLetters },
  },
  isStateful: true,
  isAsynchronous: false,
  // The search for a record that the broker refuses takes a commit for each step.
  commitsOften: true,
  topology() {
    const builder = new TopologyBuilder({ name: 'parcels' });
    const sum = builder.processor(builder.source(parcels), {
      name: 'weigh',
      stores: [weighed],
      process(record, context: ProcessorContext<string, Item>) {
        const { id, amount } = record.value;
        const store = context.store(weighed);
        const total = { id, amount: (store.get(record.key)?.amount ?? 0) + amount };
        // Written before it fails: what is rolled back must leave no trace.
        store.put(record.key, total);
        const fault = faultOf(amount);
        const label = fault === 'tooLong' ? `${id}:${tooLong}` : `${id}:`;
        context.send(labels, record.key, label, fault === 'tooEarly' ? { timestampMs: record.timestampMs + aheadMs } : {});
        if (fault === 'skipped') throw new RefusedParcel(`Parcel ${id} is not taken.`);
        if (fault === 'refused' || (fault === 'flaky' && context.record.attempt < 3)) throw new Error(`Parcel ${id} cannot be weighed.`);
        context.forward({ ...record, value: total });
      },
    });
    builder.sink(sum, weights);
    return builder.build();
  },
  record(draw, id, partition) {
    const refusedByBroker = (id >> 4) % 90 === 45;
    const weight = refusedByBroker ? draw.between(5, 6) : draw.chance(0.06) ? draw.between(1, 4) : draw.between(10, 1_000);
    const key = `${partition}/${draw.below(5)}`;
    return { topic: parcels.name, key, value: faultOf(weight) === 'unreadable' ? Buffer.from(`parcel ${id}`) : itemBytes(id, weight) };
  },
  lane({ topic: name, key, value, headers }) {
    if (name === labels.name) return [textOf(key), textOf(value).slice(0, textOf(value).indexOf(':'))];
    if (name !== deadLetters) return [textOf(key), itemText(itemOf(value))];
    const header = (wanted: string): string => textOf(headers.find((each) => each.name === wanted)?.value ?? null);
    return [`partition ${header(deadLetterHeaders.partition)}`, header(deadLetterHeaders.offset)];
  },
  storeText: (_store, value) => itemText(value as Item),
  expect(inputs) {
    const lanes = new Lanes(outputs);
    const held = new Map<string, string>();
    const sums = new Map<string, number>();
    for (const { key, value, partition, offset } of inputs) {
      const isUnreadable = textOf(value).startsWith('parcel');
      const { id, amount } = isUnreadable ? { id: 0, amount: faultsByWeight.indexOf('unreadable') } : itemOf(value);
      const fault = faultOf(amount);
      if (fault === 'skipped') continue;
      if (fault !== 'none' && fault !== 'flaky') {
        lanes.add(deadLetters, `partition ${partition}`, String(offset));
        continue;
      }
      const total = { id, amount: (sums.get(key) ?? 0) + amount };
      sums.set(key, total.amount);
      held.set(key, itemText(total));
      lanes.add(weights.name, key, itemText(total));
      lanes.add(labels.name, key, String(id));
    }
    return { outputs: lanes.byTopic, stores: new Map([[weighed.name, held]]) };
  },
  conserved: () => [],
};
