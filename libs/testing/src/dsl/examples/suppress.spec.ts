import { int64, keyValueStore, nullable, StreamsBuilder, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

const payments = topic('payments', { key: string(), value: int64() });
const statements = topic('statements', { key: string(), value: nullable(int64()) });
const balances = keyValueStore('balances', { key: string(), value: int64() });

function topology() {
  const streams = new StreamsBuilder();
  streams
    .stream(payments)
    .groupByKey()
    .aggregate(balances, { initial: () => 0n, add: (sum, amount) => sum + amount })
    .suppress({ until: 'timeLimit', waitMs: 60_000, name: 'calm' })
    .toStream()
    .to(statements);
  return streams.build();
}

it('tells of a balance once in a minute', async () => {
  const driver = await TopologyTestDriver.start(topology());
  const input = driver.input(payments);
  await input.pipe('alice', 5n, { timestampMs: 0 });
  await input.pipe('alice', 2n, { timestampMs: 30_000 });
  expect(driver.output(statements).readAll()).toEqual([]);

  await input.pipe('bob', 1n, { timestampMs: 60_000 });
  expect(driver.output(statements).readAll()).toMatchObject([{ key: 'alice', value: 7n, timestampMs: 30_000 }]);
  await driver.close();
});
