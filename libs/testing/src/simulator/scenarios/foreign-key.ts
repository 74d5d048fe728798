/** Two tables whose rows lie in different tasks, joined by a foreign key: what both hold in the end says what the result is, however they have met. */
import { keyValueStore, nullable, StreamsBuilder, string, topic } from '@tally/streams';
import { type Item, item, itemBytes, itemOf } from './item.js';
import { exactly, originOf, type Scenario } from './scenario.js';

const orders = topic('orders', { key: string(), value: nullable(item()) });
const customers = topic('customers', { key: string(), value: nullable(item()) });
const orderRows = keyValueStore('order-rows', { key: string(), value: item() });
const customerRows = keyValueStore('customer-rows', { key: string(), value: item() });
const joined = keyValueStore('joined', { key: string(), value: item() });

const perPartition = 3;
const customerOf = (partition: number, number: number): string => `customer-${partition}-${number}`;
/** A customer of any partition, who may never come. */
const referredBy = ({ amount }: Item): string => customerOf(amount % 4, amount % perPartition);

export const foreignKeyScenario: Scenario = {
  name: 'foreign key',
  // Drawn only where it is asked for: more weights would change the histories of all seeds.
  weight: 0,
  guarantees: exactly,
  inputs: [{ name: orders.name }, { name: customers.name }],
  outputs: [],
  stores: [orderRows, customerRows, joined],
  // Customers come through a topic, so what is behind the offsets of their first half cannot be told from its state.
  isStateful: false,
  isAsynchronous: false,
  topology() {
    const streams = new StreamsBuilder({ name: 'referring' });
    const right = streams
      .stream(customers)
      .selectKey((_value, key) => key, { key: string() })
      .toTable({ store: customerRows });
    streams.table(orders, orderRows).leftJoinOn(right, {
      foreignKey: referredBy,
      join: ({ id }, customer) => ({ id, amount: customer?.amount ?? 0 }),
      store: joined,
      name: 'joining',
    });
    return streams.build();
  },
  record(draw, id, partition) {
    const isOrder = originOf(id).side === 0;
    return {
      topic: isOrder ? orders.name : customers.name,
      key: isOrder ? `order-${partition}-${draw.below(6)}` : customerOf(partition, draw.below(perPartition)),
      value: itemBytes(id, draw.between(1, 1_000)),
    };
  },
  lane: () => ['', ''],
  storeText: (_store, value) => `${(value as Item).id}:${(value as Item).amount}`,
  expect(inputs) {
    const rows = { [orders.name]: new Map<string, Item>(), [customers.name]: new Map<string, Item>() };
    for (const { topic: name, key, value } of inputs) rows[name]?.set(key, itemOf(value));
    const results = [...rows[orders.name]!].map(([key, order]): [string, string] => [
      key,
      `${order.id}:${rows[customers.name]!.get(referredBy(order))?.amount ?? 0}`,
    ]);
    return { outputs: new Map(), stores: new Map([[joined.name, new Map(results)]]) };
  },
  conserved: () => [],
};
