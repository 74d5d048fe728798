import { int64, keyValueStore, StreamsBuilder, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

const payments = topic('payments', { key: string(), value: int64() });
const totals = topic('totals', { key: string(), value: int64() });
const sums = keyValueStore('sums', { key: string(), value: int64() });

function topology() {
  const streams = new StreamsBuilder();
  streams
    .stream(payments)
    .groupByKey()
    .aggregate(sums, { initial: () => 0n, add: (sum, amount) => sum + amount })
    .toStream()
    .filter((sum) => sum !== null)
    .to(totals);
  return streams.build();
}

it('adds payments to what was there', async () => {
  const driver = await TopologyTestDriver.start(topology());
  await driver.store(sums).put('alice', 100n);

  await driver.input(payments).pipe('alice', 5n);
  await driver.input(payments).pipe('bob', 1n);

  expect(driver.output(totals).readAll()).toMatchObject([
    { key: 'alice', value: 105n },
    { key: 'bob', value: 1n },
  ]);
  expect(await driver.store(sums).get('bob')).toBe(1n);
  await driver.close();
});
