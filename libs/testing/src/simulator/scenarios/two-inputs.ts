/** Two co-partitioned topics in one task: both move the same account. */
import { keyValueStore, type ProcessorContext, string, topic, TopologyBuilder } from '@tally/streams';
import { type Item, item, itemBytes, itemOf } from './item.js';
import { followSums } from './running-sums.js';
import { exactly, Lanes, originOf, type Scenario, textOf } from './scenario.js';

const deposits = topic('deposits', { key: string(), value: item() });
const refunds = topic('refunds', { key: string(), value: item() });
const accountTotals = topic('account-totals', { key: string(), value: item() });
const accounts = keyValueStore('accounts', { key: string(), value: item() });

const outputs = [{ name: accountTotals.name }];
const signed = ({ id, amount }: Item): number => (originOf(id).side === 0 ? amount : -amount);
const laneOf = (account: string, id: number): string => `${account} by ${originOf(id).side === 0 ? deposits.name : refunds.name}`;

export const twoInputsScenario: Scenario = {
  name: 'two inputs',
  weight: 3,
  guarantees: exactly,
  inputs: [{ name: deposits.name }, { name: refunds.name }],
  outputs,
  stores: [accounts],
  isStateful: true,
  isAsynchronous: false,
  topology() {
    const builder = new TopologyBuilder({ name: 'accounts' });
    const moved = builder.processor([builder.source(deposits), builder.source(refunds)], {
      name: 'move',
      stores: [accounts],
      process(record, context: ProcessorContext<string, Item>) {
        const store = context.store(accounts);
        const sum = { id: record.value.id, amount: (store.get(record.key)?.amount ?? 0) + signed(record.value) };
        store.put(record.key, sum);
        context.forward({ ...record, value: sum });
      },
    });
    builder.sink(moved, accountTotals);
    return builder.build();
  },
  record: (draw, id, partition) => ({
    topic: originOf(id).side === 0 ? deposits.name : refunds.name,
    key: `${partition}/${draw.below(4)}`,
    value: itemBytes(id, draw.between(1, 1_000)),
  }),
  lane({ key, value }) {
    const { id } = itemOf(value);
    return [laneOf(textOf(key), id), String(id)];
  },
  storeText: (_store, value) => String((value as Item).amount),
  expect(inputs) {
    const lanes = new Lanes(outputs);
    const sums = new Map<string, number>();
    for (const { key, value } of inputs) {
      const move = itemOf(value);
      lanes.add(accountTotals.name, laneOf(key, move.id), String(move.id));
      sums.set(key, (sums.get(key) ?? 0) + signed(move));
    }
    return { outputs: lanes.byTopic, stores: new Map([[accounts.name, new Map([...sums].map(([key, sum]) => [key, String(sum)]))]]) };
  },
  conserved({ inputs, outputs: written }) {
    const amounts = new Map(inputs.map(({ value }) => [itemOf(value).id, signed(itemOf(value))]));
    return followSums(written.get(accountTotals.name) ?? [], (id) => amounts.get(id)).problems;
  },
};
