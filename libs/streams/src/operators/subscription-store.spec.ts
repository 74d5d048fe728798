import { expect, it } from 'vitest';
import { string } from '../serde/index.js';
import { StoreSetting } from '../state/stores/store-setting.suite.js';
import type { SortedStore } from '../topology/index.js';
import { SubscriptionStore } from './subscription-store.js';
import type { ReadingContext } from './table.js';

const subscriptions = new SubscriptionStore<string, string>('subscriptions', string(), string());
const rowHash = Buffer.alloc(16, 7);

async function opened() {
  const setting = await StoreSetting.open<SortedStore<Uint8Array, Uint8Array>>(subscriptions.store);
  const use = <T>(work: (context: ReadingContext) => T): T => setting.record(0, (store) => work({ store: () => store as never }));
  const put = (foreignKey: string, primaryKey: string, partition = 0): void =>
    use((context) => subscriptions.put(context, foreignKey, { primaryKey, rowHash, partition, isKept: true, isAnswered: false }));
  const keysOf = (foreignKey: string): string[] => {
    const keys: string[] = [];
    use((context) => subscriptions.forEach(context, foreignKey, ({ primaryKey }) => keys.push(primaryKey)));
    return keys;
  };
  return { setting, use, put, keysOf };
}

it('shows who refers to a key, in the byte order of the primary keys', async () => {
  const { put, keysOf, use, setting } = await opened();
  for (const key of ['o2', 'o10', 'o1', '\uffff', '\u{1f600}', '']) put('a', key);
  put('ab', 'other');
  put('a\u0000', 'zero');
  put('', 'none');
  setting.commit();
  await setting.restore();
  expect(keysOf('a')).toEqual(['', 'o1', 'o10', 'o2', '\uffff', '\u{1f600}']);
  expect([keysOf('ab'), keysOf('a\u0000'), keysOf(''), keysOf('b')]).toEqual([['other'], ['zero'], ['none'], []]);
  use((context) => subscriptions.delete(context, 'a', 'o10'));
  use((context) => subscriptions.delete(context, 'a', 'never there'));
  expect(keysOf('a')).toEqual(['', 'o1', 'o2', '\uffff', '\u{1f600}']);
});

it('keeps the hash and the partition of the row', async () => {
  const { put, use } = await opened();
  put('a', 'o1', 3);
  put('a', 'o1', 70_000);
  const seen: unknown[] = [];
  use((context) => subscriptions.forEach(context, 'a', (subscriber) => seen.push(subscriber)));
  expect(seen).toEqual([{ primaryKey: 'o1', partition: 70_000, rowHash }]);
});

it('shows any number, a few at a time', async () => {
  const { put, keysOf } = await opened();
  const keys = Array.from({ length: 600 }, (_none, index) => `o${String(index).padStart(3, '0')}`);
  for (const key of keys.toReversed()) put('a', key);
  put('b', 'other');
  expect(keysOf('a')).toEqual(keys);
});
