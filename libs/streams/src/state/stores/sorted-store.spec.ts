import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { string, timeOrdered } from '../../serde/index.js';
import { type SortedStore, sortedStore } from '../../topology/index.js';
import { nodeBytesMax } from '../ordered/ordered-tree.js';
import { equalsModel, listOf, modelTimeoutMs, modelValues } from './store-model.suite.js';
import { StoreSetting } from './store-setting.suite.js';

interface Operation {
  readonly kind: 'put' | 'delete';
  readonly key: string;
  readonly value: string;
}

type Model = Map<string, string>;

const keys = fc.string({ unit: fc.constantFrom('\u0000', 'a', 'b'), maxLength: 4 });

function sortedEntries(model: Model): [string, string][] {
  return [...model].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

describe('sorted store', () => {
  it(
    'equals its model',
    () =>
      equalsModel<SortedStore<string, string>, Operation, Model>({
        handle: sortedStore('sorted', { key: string(), value: string() }),
        operations: fc.record({ kind: fc.constantFrom('put' as const, 'put' as const, 'delete' as const), key: keys, value: modelValues }),
        newModel: () => new Map(),
        dropped: undefined,
        isDropped: () => false,
        applyToModel: (model, { kind, key, value }) => (kind === 'delete' ? model.delete(key) : void model.set(key, value)),
        apply: (store, { kind, key, value }) => (kind === 'delete' ? store.delete(key) : store.put(key, value)),
        read: (store) => ({
          one: store.get('a'),
          first: store.first(),
          last: store.last(),
          floors: ['', 'a', 'ab', 'b'].map((key) => store.floor(key)),
          all: store.range(),
          some: store.range('a', 'b'),
          three: store.range('a', undefined, 3),
          none: store.range(undefined, undefined, 0),
        }),
        expected: (model) => {
          const all = sortedEntries(model);
          return {
            one: model.get('a'),
            first: all[0],
            last: all.at(-1),
            floors: ['', 'a', 'ab', 'b'].map((bound) => all.findLast(([key]) => key <= bound)),
            all,
            some: all.filter(([key]) => key >= 'a' && key <= 'b'),
            three: all.filter(([key]) => key >= 'a').slice(0, 3),
            none: [],
          };
        },
        list: (store) => listOf(store.all()),
        expectedList: sortedEntries,
        numRuns: 100,
      }),
    modelTimeoutMs,
  );

  it('is a queue by time, of any length, in small entries', async () => {
    const setting = await StoreSetting.open(sortedStore('queue', { key: timeOrdered(string()), value: string() }));
    for (let index = 0; index < 3000; index++) {
      setting.record(0, (store) => store.put({ timeMs: (index * 7919) % 3001, key: `key ${index}` }, `value ${index}`));
    }
    setting.commit();
    expect(setting.largestEntryBytes).toBeLessThanOrEqual(nodeBytesMax);
    await setting.restore();
    const times: number[] = [];
    for (;;) {
      const first = setting.record(0, (store) => {
        const entry = store.first();
        if (entry !== undefined) store.delete(entry[0]);
        return entry;
      });
      if (first === undefined) break;
      times.push(first[0].timeMs);
    }
    setting.commit();
    expect(times).toEqual(times.toSorted((left, right) => left - right));
    expect(times).toHaveLength(3000);
    expect(setting.entryCount).toBe(0);
    await setting.close();
  });
});
