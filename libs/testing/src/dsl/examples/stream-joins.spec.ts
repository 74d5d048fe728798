import { json, StreamsBuilder, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

interface Order {
  readonly item: string;
}
interface Shipment {
  readonly parcel: string;
}

const orders = topic('orders', { key: string(), value: json<Order>() });
const shipments = topic('shipments', { key: string(), value: json<Shipment>() });
const deliveries = topic('deliveries', { key: string(), value: string() });

const hourMs = 3_600_000;

function topology() {
  const streams = new StreamsBuilder();
  streams
    .stream(orders)
    .leftJoin(streams.stream(shipments), (order, shipment) => `${order.item}: ${shipment?.parcel ?? 'not shipped within a day'}`, {
      beforeMs: 0,
      afterMs: 24 * hourMs,
      graceMs: hourMs,
      name: 'delivery',
    })
    .to(deliveries);
  return streams.build();
}

it('joins orders with what is shipped within a day', async () => {
  const driver = await TopologyTestDriver.start(topology());
  await driver.input(orders).pipe('o-1', { item: 'chair' }, { timestampMs: 0 });
  await driver.input(orders).pipe('o-2', { item: 'table' }, { timestampMs: 1 * hourMs });
  await driver.input(shipments).pipe('o-1', { parcel: 'p-7' }, { timestampMs: 5 * hourMs });
  await driver.input(shipments).pipe('o-2', { parcel: 'p-8' }, { timestampMs: 26 * hourMs });
  // Brings the stream time past the window of o-2, which is closed at 26 hours.
  await driver.input(orders).pipe('o-3', { item: 'lamp' }, { timestampMs: 27 * hourMs });

  expect(driver.output(deliveries).readAll()).toMatchObject([
    { key: 'o-1', value: 'chair: p-7', timestampMs: 5 * hourMs },
    { key: 'o-2', value: 'table: not shipped within a day', timestampMs: 1 * hourMs },
  ]);
  await driver.close();
});
