import { int64, nullable, StreamsBuilder, string, topic, versionedStore } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

const orders = topic('orders', { key: string(), value: int64() });
const prices = topic('prices', { key: string(), value: nullable(int64()) });
const invoices = topic('invoices', { key: string(), value: int64() });
const priceHistory = versionedStore('price-history', { key: string(), value: int64(), historyRetentionMs: 86_400_000 });

function topology() {
  const streams = new StreamsBuilder();
  streams
    .stream(orders)
    .join(streams.table(prices, priceHistory), (count, price) => count * price, { graceMs: 1_000, name: 'priced' })
    .to(invoices);
  return streams.build();
}

it('charges the price as of the order, though the price comes late', async () => {
  const driver = await TopologyTestDriver.start(topology());
  await driver.input(prices).pipe('chair', 40n, { timestampMs: 0 });
  await driver.input(orders).pipe('chair', 2n, { timestampMs: 5_000 });
  await driver.input(prices).pipe('chair', 50n, { timestampMs: 4_000 });
  await driver.input(prices).pipe('chair', 60n, { timestampMs: 5_500 });
  await driver.input(orders).pipe('table', 1n, { timestampMs: 6_000 });

  expect(driver.output(invoices).readAll()).toMatchObject([{ key: 'chair', value: 100n, timestampMs: 5_000 }]);
  await driver.close();
});
