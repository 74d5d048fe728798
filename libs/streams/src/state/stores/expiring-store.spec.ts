import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { string } from '../../serde/index.js';
import { type KeyValueStore, keyValueStore } from '../../topology/index.js';
import { equalsModel, listOf, modelKeys, modelTimeoutMs, modelValues } from './store-model.suite.js';
import { StoreSetting } from './store-setting.suite.js';

interface Model {
  observedMs: number;
  entries: Map<string, { value: string; timestampMs: number }>;
}

interface Operation {
  readonly kind: 'put' | 'delete';
  readonly key: string;
  readonly value: string;
  readonly timestampMs: number;
}

const ttlMs = 100;

const operations: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom('put' as const, 'put' as const, 'put' as const, 'delete' as const),
  key: fc.constantFrom(...modelKeys),
  value: modelValues,
  timestampMs: fc.nat({ max: 400 }),
});

function sortedEntries({ observedMs, entries }: Model): (readonly [string, { value: string; timestampMs: number }])[] {
  return modelKeys.flatMap((key) => {
    const entry = entries.get(key);
    return entry === undefined || entry.timestampMs < observedMs - ttlMs ? [] : [[key, entry] as const];
  });
}

describe('key-value store with a time-to-live', () => {
  it(
    'equals its model',
    () =>
      equalsModel<KeyValueStore<string, string>, Operation, Model>({
        handle: keyValueStore('entries', { key: string(), value: string(), ttlMs }),
        operations,
        newModel: () => ({ observedMs: -1, entries: new Map() }),
        dropped: undefined,
        isDropped: () => false,
        applyToModel(model, { kind, key, value, timestampMs }) {
          if (kind === 'delete') {
            model.entries.delete(key);
            return;
          }
          model.observedMs = Math.max(model.observedMs, timestampMs);
          model.entries.set(key, { value, timestampMs });
        },
        apply: (store, { kind, key, value, timestampMs }) =>
          kind === 'put' ? store.putWithTimestamp(key, value, timestampMs) : store.delete(key),
        read: (store) => modelKeys.map((key) => [store.get(key), store.getWithTimestamp(key)]),
        expected: (model) => {
          const entries = new Map(sortedEntries(model));
          return modelKeys.map((key) => [entries.get(key)?.value, entries.get(key)]);
        },
        list: async (store) => [await listOf(store.all()), await listOf(store.range('a', 'ab'))],
        expectedList: (model) => {
          const all = sortedEntries(model).map(([key, { value }]) => [key, value] as const);
          return [all, all.filter(([key]) => key >= 'a' && key <= 'ab')];
        },
        numRuns: 100,
      }),
    modelTimeoutMs,
  );

  it('writes a tombstone for everything that has expired, a few with each write', async () => {
    const setting = await StoreSetting.open(keyValueStore('entries', { key: string(), value: string(), ttlMs: 1000 }));
    for (let index = 0; index < 1000; index++) setting.record(index, (store) => store.put(`key ${index}`, 'x'));
    setting.commit();
    expect(setting.entryCount).toBeGreaterThan(1000);
    for (let index = 0; index < 1000; index += 2) setting.record(1500, (store) => store.put(`key ${index}`, 'y'));
    // Those that were written again are due, looked at, and due once more.
    for (let index = 0; index < 200; index++) setting.record(2200 - index, (store) => store.put('later', 'x'));
    setting.commit();
    const half = setting.entryCount;
    expect(half).toBeLessThan(600);
    expect(half).toBeGreaterThan(500);
    for (let index = 0; index < 200; index++) setting.record(1_000_000, (store) => store.put('later', 'x'));
    setting.commit();
    expect(setting.entryCount).toBeLessThan(5);
    await setting.restore();
    expect(await setting.readLater((store) => listOf(store.all()))).toEqual([['later', 'x']]);
    await setting.close();
  });

  it('has a key in the index once, however often it is deleted and put again', async () => {
    const setting = await StoreSetting.open(keyValueStore('entries', { key: string(), value: string(), ttlMs: 1_000_000 }));
    for (let index = 0; index < 500; index++) {
      setting.record(index, (store) => store.put('a', 'x'));
      setting.record(index, (store) => store.delete('a'));
    }
    setting.commit();
    // The key's own entry, one node of the index, and the time.
    expect(setting.entryCount).toBe(3);
    expect(setting.largestEntryBytes).toBeLessThan(50);
    expect(await setting.readLater((store) => listOf(store.all()))).toEqual([]);
    for (let index = 0; index < 3; index++) setting.record(9_000_000, (store) => store.put('later', 'x'));
    setting.commit();
    expect(setting.entryCount).toBe(3);
    await setting.close();
  });

  it('looks at no more than a few keys with a write', async () => {
    const setting = await StoreSetting.open(keyValueStore('entries', { key: string(), value: string(), ttlMs: 1000 }));
    for (let index = 0; index < 1000; index++) setting.record(0, (store) => store.put(`key ${index}`, 'x'));
    setting.commit();
    const before = setting.entryCount;
    setting.record(1_000_000, (store) => store.put('later', 'x'));
    setting.commit();
    expect(before - setting.entryCount).toBeLessThan(12);
    expect(before - setting.entryCount).toBeGreaterThan(3);
    await setting.close();
  });
});
