import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { string } from '../../serde/index.js';
import { type WindowEntry, type WindowStore, windowStore } from '../../topology/index.js';
import { nodeBytesMax } from '../ordered/ordered-tree.js';
import { equalsModel, listOf, modelKeys, modelTimeoutMs, modelValues } from './store-model.suite.js';
import { StoreSetting } from './store-setting.suite.js';

interface Model {
  observedMs: number;
  /** In the order of their puts. */
  entries: { key: string; startMs: number; value: string; timestampMs: number }[];
}

type Operation =
  | { readonly kind: 'put'; readonly key: string; readonly startMs: number; readonly timestampMs: number; readonly value: string }
  | { readonly kind: 'delete'; readonly key: string; readonly startMs: number };

const keys = fc.constantFrom(...modelKeys);
/** Steps of which several fall into a segment, and single milliseconds around them. */
const times = fc.tuple(fc.nat({ max: 24 }), fc.integer({ min: -1, max: 1 })).map(([step, offset]) => step * 15_000 + offset);
const operations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      key: keys,
      startMs: times,
      timestampMs: fc.nat({ max: 9 }),
      value: modelValues,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), key: keys, startMs: times }) },
);

function modelTest(retentionMs: number, retainDuplicates: boolean, numRuns: number) {
  const segmentMs = Math.max(Math.floor(retentionMs / 2), 60_000);
  const byTime = (entries: Model['entries']): Model['entries'] => entries.toSorted((left, right) => left.startMs - right.startMs);
  const visible = ({ observedMs, entries }: Model): Model['entries'] =>
    entries.filter(({ startMs }) => startMs >= observedMs - retentionMs + 1);
  return equalsModel<WindowStore<string, string>, Operation, Model>({
    handle: windowStore('windows', { key: string(), value: string(), retentionMs, windowSizeMs: 10, retainDuplicates }),
    operations,
    newModel: () => ({ observedMs: -1, entries: [] }),
    dropped: false,
    isDropped: ({ observedMs }, { startMs }) =>
      Math.trunc(startMs / segmentMs) < Math.trunc((Math.max(observedMs, startMs) - retentionMs) / segmentMs),
    applyToModel(model, operation) {
      const { kind, key, startMs } = operation;
      model.observedMs = Math.max(model.observedMs, startMs);
      if (kind === 'delete' || !retainDuplicates)
        model.entries = model.entries.filter((entry) => entry.key !== key || entry.startMs !== startMs);
      if (kind === 'put') model.entries.push({ key, startMs, value: operation.value, timestampMs: operation.timestampMs });
      return true;
    },
    apply: (store, operation) =>
      operation.kind === 'put'
        ? store.putWithTimestamp(operation.key, operation.value, operation.startMs, operation.timestampMs)
        : store.delete(operation.key, operation.startMs),
    read: (store) => ({
      observedMs: store.observedTimeMs,
      all: modelKeys.map((key) => store.fetch(key, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)),
      some: modelKeys.map((key) => store.fetch(key, 30_000, 150_000)),
      none: store.fetch('a', 5, 4),
      one: modelKeys.map((key) => [store.get(key, 30_000), store.getWithTimestamp(key, 150_001)]),
    }),
    expected: (model) => {
      const of = (key: string, fromMs: number, toMs: number): WindowEntry<string>[] =>
        byTime(visible(model))
          .filter((entry) => entry.key === key && entry.startMs >= fromMs && entry.startMs <= toMs)
          .map(({ startMs, value, timestampMs }) => ({ startMs, value, timestampMs }));
      return {
        observedMs: model.observedMs,
        all: modelKeys.map((key) => of(key, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)),
        some: modelKeys.map((key) => of(key, 30_000, 150_000)),
        none: [],
        one: modelKeys.map((key) => [of(key, 30_000, 30_000).at(-1)?.value, of(key, 150_001, 150_001).at(-1)]),
      };
    },
    list: async (store) => [await listOf(store.all()), await listOf(store.fetchAll(30_000, 150_000))],
    expectedList: (model) => {
      const sorted = modelKeys.flatMap((key) => byTime(visible(model)).filter((entry) => entry.key === key));
      const all = sorted.map(({ key, startMs, value }) => [{ key, startMs, endMs: startMs + 10 }, value] as const);
      return [all, all.filter(([{ startMs }]) => startMs >= 30_000 && startMs <= 150_000)];
    },
    numRuns,
  });
}

describe('window store', () => {
  it('equals its model', () => modelTest(45_000, false, 60), modelTimeoutMs);
  it('equals its model with segments of half the retention', () => modelTest(195_000, false, 30), modelTimeoutMs);
  it('equals its model when it keeps duplicates', () => modelTest(45_000, true, 60), modelTimeoutMs);

  it('takes what is behind the retention and not shown, until its segment has expired', async () => {
    const setting = await StoreSetting.open(windowStore('windows', { key: string(), value: string(), retentionMs: 60_000 }));
    setting.record(0, (store) => {
      expect(store.put('a', 'x', 70_001)).toBe(true);
      expect(store.put('a', 'x', 70_000)).toBe(true);
      expect([70_000, 70_001].map((startMs) => store.get('a', startMs))).toEqual(['x', 'x']);
      store.put('a', 'x', 130_000);
      expect([70_000, 70_001].map((startMs) => store.get('a', startMs))).toEqual([undefined, 'x']);
      expect(store.put('a', 'x', 60_000)).toBe(true);
      expect(store.put('a', 'x', 59_999)).toBe(false);
      expect(store.delete('a', 59_999)).toBe(false);
      expect(store.fetch('a', 0, 200_000).map(({ startMs }) => startMs)).toEqual([70_001, 130_000]);
      expect(store.get('a', 60_000)).toBeUndefined();
      expect(() => store.put('a', 'x', 0.5)).toThrow(expect.objectContaining({ code: 'STORE_TIMESTAMP_INVALID' }));
    });
    await setting.close();
  });

  it('holds any number of values of one key and time in small entries', async () => {
    const setting = await StoreSetting.open(
      windowStore('windows', { key: string(), value: string(), retentionMs: 60_000, windowSizeMs: 1000, retainDuplicates: true }),
    );
    const count = 5000;
    for (let index = 0; index < count; index++) setting.record(7, (store) => store.put('hot', `value ${index}`, 100));
    setting.commit();
    expect(setting.largestEntryBytes).toBeLessThanOrEqual(nodeBytesMax);
    expect(setting.entryCount).toBeGreaterThan(count / 50);
    await setting.restore();
    const values = setting.read((store) => store.fetch('hot', 100, 100).map(({ value }) => value));
    expect(values).toEqual(Array.from({ length: count }, (_, index) => `value ${index}`));
    await setting.close();
  });

  it('removes what has expired with the writes that follow, whole trees too, and forgets its keys', async () => {
    const setting = await StoreSetting.open(
      windowStore('windows', { key: string(), value: string(), retentionMs: 60_000, retainDuplicates: true }),
    );
    for (let key = 0; key < 500; key++) setting.record(0, (store) => store.put(`key ${key}`, 'x', key));
    for (let index = 0; index < 2000; index++) setting.record(0, (store) => store.put('hot', 'x'.repeat(50), index));
    setting.commit();
    const before = setting.entryCount;
    for (let index = 0; index < 300; index++) setting.record(0, (store) => store.put('later', 'x', 10_000_000));
    setting.commit();
    expect(before).toBeGreaterThan(600);
    // What is left: the time, the index, and the key that was written last, in a node or two for each.
    expect(setting.entryCount).toBeLessThan(20);
    await setting.close();
  });
});
