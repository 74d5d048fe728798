import { json, keyValueStore, nullable, StreamsBuilder, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

interface Account {
  readonly owner: string;
}
interface Limit {
  readonly perDay: number;
}
interface LimitedAccount extends Account {
  readonly perDay: number;
}

const accounts = topic('accounts', { key: string(), value: nullable(json<Account>()) });
const limits = topic('limits', { key: string(), value: nullable(json<Limit>()) });
const limitedAccounts = topic('limited-accounts', { key: string(), value: nullable(json<LimitedAccount>()) });
const limited = keyValueStore('limited', { key: string(), value: json<LimitedAccount>() });

function topology() {
  const streams = new StreamsBuilder();
  streams
    .table(accounts)
    .leftJoin(streams.table(limits), (account, limit) => ({ ...account, perDay: limit?.perDay ?? 1_000 }), { store: limited })
    .toStream()
    .to(limitedAccounts);
  return streams.build();
}

it('gives each account its limit', async () => {
  const driver = await TopologyTestDriver.start(topology());
  await driver.input(accounts).pipe('a-1', { owner: 'Ann' });
  await driver.input(limits).pipe('a-1', { perDay: 50 });
  await driver.input(limits).pipe('a-1', null);
  await driver.input(limits).pipe('a-2', { perDay: 70 });
  await driver.input(accounts).pipe('a-1', null);

  expect(
    driver
      .output(limitedAccounts)
      .readAll()
      .map(({ value }) => value),
  ).toEqual([{ owner: 'Ann', perDay: 1_000 }, { owner: 'Ann', perDay: 50 }, { owner: 'Ann', perDay: 1_000 }, null]);
  expect(await driver.store(limited).get('a-1')).toBeUndefined();
  await driver.close();
});
