import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { string } from '../../serde/index.js';
import { type VersionedStore, versionedStore } from '../../topology/index.js';
import { nodeBytesMax } from '../ordered/ordered-tree.js';
import { equalsModel, listOf, modelKeys, modelTimeoutMs, modelValues } from './store-model.suite.js';
import { StoreSetting } from './store-setting.suite.js';
import { newReference, type Reference, VersionedReference } from './versioned-reference.suite.js';

interface Operation {
  readonly kind: 'put' | 'delete';
  readonly key: string;
  readonly value: string | null;
  readonly timestampMs: number;
}

function modelTest(retentionMs: number, segmentMs: number, keys: readonly string[], timesMax: number, numRuns: number) {
  const times = fc.nat({ max: timesMax }).map((step) => step * 500);
  const asOf = Array.from({ length: timesMax + 2 }, (_, step) => step * 500 - 250);
  const reference = (state: Reference): VersionedReference => new VersionedReference(state, retentionMs, segmentMs);
  return equalsModel<VersionedStore<string, string>, Operation, Reference>({
    handle: versionedStore('versions', { key: string(), value: string(), historyRetentionMs: retentionMs }),
    operations: fc.record({
      kind: fc.constantFrom('put' as const, 'put' as const, 'put' as const, 'delete' as const),
      key: fc.constantFrom(...keys),
      value: fc.option(modelValues, { freq: 3 }),
      timestampMs: times,
    }),
    newModel: newReference,
    dropped: undefined,
    isDropped: (state, { timestampMs }) => reference(state).isExpired(timestampMs),
    applyToModel: (state, { kind, key, value, timestampMs }) =>
      kind === 'put' ? reference(state).put(key, value, timestampMs) : reference(state).delete(key, timestampMs),
    apply: (store, { kind, key, value, timestampMs }) =>
      kind === 'put' ? store.put(key, value, timestampMs) : store.delete(key, timestampMs),
    read: (store) => ({
      observedMs: store.observedTimeMs,
      latest: keys.map((key) => store.get(key)),
      asOf: keys.map((key) => asOf.map((timeMs) => store.getAsOf(key, timeMs))),
      history: keys.map((key) => store.history(key)),
    }),
    expected: (state) => ({
      observedMs: state.observedMs,
      latest: keys.map((key) => reference(state).get(key)),
      asOf: keys.map((key) => asOf.map((timeMs) => reference(state).getAsOf(key, timeMs))),
      history: keys.map((key) => reference(state).history(key)),
    }),
    list: (store) => listOf(store.all()),
    expectedList: (state) =>
      keys.flatMap((key) => {
        const latest = reference(state).get(key);
        return latest === undefined ? [] : [[key, latest] as const];
      }),
    numRuns,
  });
}

describe('versioned store', () => {
  it('equals Kafka Streams\u2019 where many times meet', () => modelTest(6000, 2000, ['a'], 12, 60), modelTimeoutMs);
  it('equals Kafka Streams\u2019 where history expires', () => modelTest(6000, 2000, ['a', 'b'], 60, 60), modelTimeoutMs);
  it('equals Kafka Streams\u2019 with keys that begin with one another', () => modelTest(9000, 3000, modelKeys, 30, 30), modelTimeoutMs);

  it('keeps the latest version for ever, and removes the rest once it has expired', async () => {
    const setting = await StoreSetting.open(versionedStore('versions', { key: string(), value: string(), historyRetentionMs: 60_000 }));
    for (let index = 0; index < 3000; index++) setting.record(0, (store) => store.put('hot', `version ${index}`, index));
    for (let index = 0; index < 100; index++) setting.record(0, (store) => store.put(`deleted ${index}`, 'x', 5));
    for (let index = 0; index < 100; index++) setting.record(0, (store) => store.delete(`deleted ${index}`, 6));
    setting.commit();
    expect(setting.largestEntryBytes).toBeLessThanOrEqual(nodeBytesMax);
    await setting.restore();
    expect(setting.read((store) => store.getAsOf('hot', 1234))).toEqual({ value: 'version 1234', timestampMs: 1234, validToMs: 1235 });
    expect(setting.read((store) => store.history('hot'))).toHaveLength(3000);
    for (let index = 0; index < 100; index++) setting.record(0, (store) => store.put('later', 'x', 10_000_000));
    setting.commit();
    expect(setting.read((store) => store.get('hot'))).toEqual({
      value: 'version 2999',
      timestampMs: 2999,
      validToMs: Number.POSITIVE_INFINITY,
    });
    expect(setting.read((store) => store.getAsOf('hot', 2998))).toBeUndefined();
    expect(setting.entryCount).toBeLessThan(10);
    await setting.close();
  });
});
