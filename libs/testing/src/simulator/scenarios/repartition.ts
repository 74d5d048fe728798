/** A DSL aggregate behind a repartition topic: records of all partitions meet by their new key. */
import { keyValueStore, nullable, StreamsBuilder, string, topic } from '@tally/streams';
import { type Item, item, itemBytes, itemOf } from './item.js';
import { followSums } from './running-sums.js';
import { exactly, Lanes, originOf, type Scenario, textOf } from './scenario.js';

const orders = topic('orders', { key: string(), value: item() });
const groupTotals = topic('group-totals', { key: string(), value: nullable(item()) });
const groups = keyValueStore('groups', { key: string(), value: item() });

const outputs = [{ name: groupTotals.name }];
const groupOf = ({ amount }: Item): string => `group-${amount % 4}`;

export const repartitionScenario: Scenario = {
  name: 'repartition',
  weight: 2,
  guarantees: exactly,
  inputs: [{ name: orders.name }],
  outputs,
  stores: [groups],
  // What is behind the first half's offsets cannot be told from its state.
  isStateful: false,
  isAsynchronous: false,
  topology() {
    const streams = new StreamsBuilder({ name: 'groups' });
    streams
      .stream(orders)
      .selectKey(groupOf)
      .groupByKey()
      .aggregate(groups, { initial: () => ({ id: 0, amount: 0 }), add: (sum, { id, amount }) => ({ id, amount: sum.amount + amount }) })
      .toStream()
      .to(groupTotals);
    return streams.build();
  },
  record: (draw, id, partition) => ({ topic: orders.name, key: `customer-${partition}`, value: itemBytes(id, draw.between(1, 1_000)) }),
  lane({ key, value }) {
    const { id } = itemOf(value);
    return [laneOf(textOf(key), id), String(id)];
  },
  storeText: (_store, value) => String((value as Item).amount),
  expect(inputs) {
    const lanes = new Lanes(outputs);
    const sums = new Map<string, number>();
    for (const { value } of inputs) {
      const order = itemOf(value);
      const group = groupOf(order);
      lanes.add(groupTotals.name, laneOf(group, order.id), String(order.id));
      sums.set(group, (sums.get(group) ?? 0) + order.amount);
    }
    const held = new Map([...sums].map(([group, sum]) => [group, String(sum)]));
    return { outputs: lanes.byTopic, stores: new Map([[groups.name, held]]) };
  },
  conserved({ inputs, outputs: written }) {
    const amounts = new Map(inputs.map(({ value }) => [itemOf(value).id, itemOf(value).amount]));
    return followSums(written.get(groupTotals.name) ?? [], (id) => amounts.get(id)).problems;
  },
};

const laneOf = (group: string, id: number): string => `${group} from partition ${originOf(id).partition}`;
