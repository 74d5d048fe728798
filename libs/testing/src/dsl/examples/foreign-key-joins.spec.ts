import { json, keyValueStore, nullable, StreamsBuilder, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

interface Order {
  readonly customerId: string;
  readonly item: string;
}
interface Customer {
  readonly name: string;
}

const orders = topic('orders', { key: string(), value: nullable(json<Order>()) });
const customers = topic('customers', { key: string(), value: nullable(json<Customer>()) });
const labels = topic('labels', { key: string(), value: nullable(string()) });
const labelled = keyValueStore('labelled', { key: string(), value: string() });

function topology() {
  const streams = new StreamsBuilder();
  streams
    .table(orders)
    .joinOn(streams.table(customers), {
      foreignKey: (order) => order.customerId,
      join: (order, customer) => `${order.item} for ${customer.name}`,
      name: 'labels',
      store: labelled,
    })
    .toStream()
    .to(labels);
  return streams.build();
}

it('writes the label of each order, and all of a customer again when the name changes', async () => {
  const driver = await TopologyTestDriver.start(topology());
  await driver.input(orders).pipe('o-1', { customerId: 'c-1', item: 'chair' });
  await driver.input(orders).pipe('o-2', { customerId: 'c-1', item: 'table' });
  await driver.input(customers).pipe('c-1', { name: 'Ann' });
  await driver.input(customers).pipe('c-1', { name: 'Anna' });
  await driver.input(orders).pipe('o-1', { customerId: 'c-2', item: 'chair' });

  expect(
    driver
      .output(labels)
      .readAll()
      .map(({ key, value }) => `${key}: ${value}`),
  ).toEqual(['o-1: chair for Ann', 'o-2: table for Ann', 'o-1: chair for Anna', 'o-2: table for Anna', 'o-1: null']);
  expect(await driver.store(labelled).entries()).toEqual([['o-2', 'table for Anna']]);
  await driver.close();
});
