import { json, keyValueStore, nullable, StreamsBuilder, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

interface Payment {
  readonly amount: number;
  readonly currency: string;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const rates = topic('rates', { key: string(), value: nullable(json<number>()) });
const euros = topic('euros', { key: string(), value: json<number>() });
const ratesHere = keyValueStore('rates-here', { key: string(), value: json<number>() });

it('converts payments by rates that every worker holds', async () => {
  const streams = new StreamsBuilder();
  const table = streams.globalTable(rates, ratesHere);
  streams
    .stream(payments)
    .joinGlobal(table, { key: ({ currency }) => currency, join: ({ amount }, rate) => amount * rate })
    .to(euros);

  const driver = await TopologyTestDriver.start(streams.build());
  await driver.input(rates).pipe('USD', 0.5);
  await driver.input(payments).pipe('alice', { amount: 10, currency: 'USD' });
  await driver.input(payments).pipe('bob', { amount: 10, currency: 'XXX' });

  expect(driver.output(euros).readAll()).toMatchObject([{ key: 'alice', value: 5 }]);
  expect(await driver.store(ratesHere).get('USD')).toBe(0.5);
  await driver.close();
});
