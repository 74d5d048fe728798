import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { string } from '../../serde/index.js';
import { type SessionEntry, type SessionStore, sessionStore } from '../../topology/index.js';
import { nodeBytesMax } from '../ordered/ordered-tree.js';
import { equalsModel, listOf, modelKeys, modelTimeoutMs, modelValues } from './store-model.suite.js';
import { StoreSetting } from './store-setting.suite.js';

interface Model {
  observedMs: number;
  sessions: { key: string; startMs: number; endMs: number; value: string }[];
}

interface Operation {
  readonly kind: 'put' | 'remove';
  readonly key: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly value: string;
}

const times = fc.tuple(fc.nat({ max: 24 }), fc.integer({ min: -1, max: 1 })).map(([step, offset]) => step * 15_000 + offset);
const operations: fc.Arbitrary<Operation> = fc
  .record({
    kind: fc.constantFrom('put' as const, 'put' as const, 'put' as const, 'remove' as const),
    key: fc.constantFrom(...modelKeys),
    times: fc.tuple(times, times),
    value: modelValues,
  })
  .map(({ times: [one, other], ...rest }) => ({ ...rest, startMs: Math.min(one, other), endMs: Math.max(one, other) }));

function modelTest(retentionMs: number, numRuns: number) {
  const segmentMs = Math.max(Math.floor(retentionMs / 2), 60_000);
  const visible = ({ observedMs, sessions }: Model): Model['sessions'] =>
    sessions
      .filter(({ endMs }) => endMs >= observedMs - retentionMs + 1)
      .toSorted((left, right) => left.endMs - right.endMs || left.startMs - right.startMs);
  const of = (model: Model, key: string, earliestEndMs = 0, latestStartMs = Number.MAX_VALUE): SessionEntry<string>[] =>
    visible(model)
      .filter((session) => session.key === key && session.endMs >= earliestEndMs && session.startMs <= latestStartMs)
      .map(({ startMs, endMs, value }) => ({ startMs, endMs, value }));
  return equalsModel<SessionStore<string, string>, Operation, Model>({
    handle: sessionStore('sessions', { key: string(), value: string(), retentionMs }),
    operations,
    newModel: () => ({ observedMs: -1, sessions: [] }),
    dropped: false,
    isDropped: ({ observedMs }, { endMs }) =>
      Math.trunc(endMs / segmentMs) < Math.trunc((Math.max(observedMs, endMs) - retentionMs) / segmentMs),
    applyToModel(model, { kind, key, startMs, endMs, value }) {
      model.observedMs = Math.max(model.observedMs, endMs);
      model.sessions = model.sessions.filter((session) => session.key !== key || session.startMs !== startMs || session.endMs !== endMs);
      if (kind === 'put') model.sessions.push({ key, startMs, endMs, value });
      return true;
    },
    apply: (store, { kind, key, startMs, endMs, value }) =>
      kind === 'put' ? store.put(key, { startMs, endMs }, value) : store.remove(key, { startMs, endMs }),
    read: (store) => ({
      observedMs: store.observedTimeMs,
      all: modelKeys.map((key) => store.fetch(key)),
      some: modelKeys.map((key) => store.findSessions(key, 90_000, 120_000)),
      one: modelKeys.map((key) => store.get(key, { startMs: 30_000, endMs: 120_000 })),
    }),
    expected: (model) => ({
      observedMs: model.observedMs,
      all: modelKeys.map((key) => of(model, key)),
      some: modelKeys.map((key) => of(model, key, 90_000, 120_000)),
      one: modelKeys.map((key) => of(model, key).find(({ startMs, endMs }) => startMs === 30_000 && endMs === 120_000)?.value),
    }),
    list: (store) => listOf(store.all()),
    expectedList: (model) =>
      modelKeys.flatMap((key) => of(model, key).map(({ startMs, endMs, value }) => [{ key, startMs, endMs }, value] as const)),
    numRuns,
  });
}

describe('session store', () => {
  it('equals its model', () => modelTest(45_000, 60), modelTimeoutMs);
  it('equals its model with segments of half the retention', () => modelTest(195_000, 30), modelTimeoutMs);

  it('takes what is behind the retention and not shown, until its segment has expired', async () => {
    const setting = await StoreSetting.open(sessionStore('sessions', { key: string(), value: string(), retentionMs: 60_000 }));
    setting.record(0, (store) => {
      const ends = [70_000, 70_001].map((endMs) => ({ startMs: 0, endMs }));
      for (const session of ends) expect(store.put('a', session, 'x')).toBe(true);
      expect(ends.map((session) => store.get('a', session))).toEqual(['x', 'x']);
      store.put('b', { startMs: 130_000, endMs: 130_000 }, 'x');
      expect(ends.map((session) => store.get('a', session))).toEqual([undefined, 'x']);
      expect([59_999, 60_000, 1_000_000].map((endMs) => store.takes(endMs))).toEqual([false, true, true]);
      expect(store.put('a', { startMs: 0, endMs: 60_000 }, 'x')).toBe(true);
      expect(store.put('a', { startMs: 0, endMs: 59_999 }, 'x')).toBe(false);
      expect(store.remove('a', { startMs: 0, endMs: 59_999 })).toBe(false);
      expect(store.fetch('a').map(({ endMs }) => endMs)).toEqual([70_001]);
    });
    await setting.close();
  });

  it('holds any number of sessions of one key in small entries, and removes them once they have expired', async () => {
    const setting = await StoreSetting.open(sessionStore('sessions', { key: string(), value: string(), retentionMs: 100_000 }));
    for (let index = 0; index < 3000; index++) {
      setting.record(0, (store) => store.put('hot', { startMs: index, endMs: index + 5 }, `session ${index}`));
    }
    setting.commit();
    expect(setting.largestEntryBytes).toBeLessThanOrEqual(nodeBytesMax);
    await setting.restore();
    expect(setting.read((store) => store.findSessions('hot', 1000, 1010))).toHaveLength(16);
    expect(setting.read((store) => store.fetch('hot'))).toHaveLength(3000);
    for (let index = 0; index < 50; index++)
      setting.record(0, (store) => store.put('later', { startMs: 10_000_000, endMs: 10_000_000 }, 'x'));
    setting.commit();
    expect(setting.entryCount).toBeLessThan(10);
    await setting.close();
  });

  it('writes one entry of a key and the time when a session grows', async () => {
    const setting = await StoreSetting.open(sessionStore('sessions', { key: string(), value: string(), retentionMs: 100_000 }));
    for (let endMs = 0; endMs < 100; endMs++) {
      setting.record(0, (store) => {
        for (const session of store.findSessions('a', endMs - 10, endMs + 10)) store.remove('a', session);
        store.put('a', { startMs: 0, endMs }, `until ${endMs}`);
      });
    }
    setting.commit();
    expect(setting.read((store) => store.fetch('a'))).toEqual([{ startMs: 0, endMs: 99, value: 'until 99' }]);
    // The tree of the key, the index and the time.
    expect(setting.entryCount).toBe(3);
    await setting.close();
  });
});
