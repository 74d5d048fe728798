import { int64, keyValueStore, nullable, StreamsBuilder, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

const payments = topic('payments', { key: string(), value: int64() });
const refunds = topic('refunds', { key: string(), value: int64() });
const balances = keyValueStore('balances', { key: string(), value: int64() });
const balanceUpdates = topic('balance-updates', { key: string(), value: nullable(int64()) });

function topology() {
  const streams = new StreamsBuilder();
  streams
    .cogroup({ payments: streams.stream(payments).groupByKey(), refunds: streams.stream(refunds).groupByKey() })
    .aggregate(balances, {
      initial: () => 0n,
      add: {
        payments: (balance, amount) => balance + amount,
        refunds: (balance, amount) => balance - amount,
      },
    })
    .toStream()
    .to(balanceUpdates);
  return streams.build();
}

it('keeps one balance of two streams', async () => {
  const driver = await TopologyTestDriver.start(topology());
  await driver.input(payments).pipe('alice', 5n);
  await driver.input(refunds).pipe('alice', 2n);
  await driver.input(payments).pipe('bob', 1n);
  expect(driver.output(balanceUpdates).readAll()).toMatchObject([
    { key: 'alice', value: 5n },
    { key: 'alice', value: 3n },
    { key: 'bob', value: 1n },
  ]);
  await driver.close();
});
