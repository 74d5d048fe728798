import { describe, expect, it } from 'vitest';
import { int64, nullable, string } from '../serde/index.js';
import {
  type AnyStoreDefinition,
  keyValueStore,
  sessionStore,
  sortedStore,
  topic,
  type Topology,
  TopologyBuilder,
  versionedStore,
  windowStore,
} from './index.js';

const amounts = topic('amounts', { key: string(), value: int64() });
const serdes = { key: string(), value: int64() };

function topologyWith(...stores: AnyStoreDefinition[]): Topology {
  const builder = new TopologyBuilder();
  const source = builder.source(amounts);
  for (const [index, store] of stores.entries())
    builder.processor(source, { name: `use-${index}`, stores: [store], process: () => undefined });
  return builder.build();
}

describe('handles of stores', () => {
  it('complete their options', () => {
    expect(windowStore('w', { ...serdes, retentionMs: 5 })).toEqual({
      ...serdes,
      kind: 'window',
      name: 'w',
      version: 0,
      changelog: true,
      retentionMs: 5,
      windowSizeMs: 5,
      retainDuplicates: false,
    });
    expect(sessionStore('s', { ...serdes, retentionMs: 5, changelog: false })).toMatchObject({ kind: 'session', changelog: false });
    expect(versionedStore('v', { ...serdes, historyRetentionMs: 5, version: 2 })).toMatchObject({ kind: 'versioned', version: 2 });
    expect(sortedStore('q', serdes)).toMatchObject({ kind: 'sorted', name: 'q' });
  });

  it.each([
    ['no name', () => sortedStore('', serdes), 'INVALID_NAME'],
    ['a nullable value', () => sessionStore('s', { key: string(), value: nullable(int64()), retentionMs: 5 }), 'INVALID_OPTION'],
    ['a nullable key', () => sortedStore('s', { key: nullable(string()), value: int64() }), 'INVALID_OPTION'],
    ['no retention', () => windowStore('w', { ...serdes, retentionMs: 0 }), 'INVALID_OPTION'],
    ['a broken retention', () => sessionStore('w', { ...serdes, retentionMs: 1.5 }), 'INVALID_OPTION'],
    ['no history', () => versionedStore('v', { ...serdes, historyRetentionMs: -1 }), 'INVALID_OPTION'],
    [
      'windows that are longer than their retention',
      () => windowStore('w', { ...serdes, retentionMs: 5, windowSizeMs: 6 }),
      'INVALID_OPTION',
    ],
    ['no time to live', () => keyValueStore('k', { ...serdes, ttlMs: 0 }), 'INVALID_OPTION'],
    ['a version that does not fit', () => sortedStore('q', { ...serdes, version: 256 }), 'INVALID_OPTION'],
  ])('refuse %s', (_what, declare, code) => {
    expect(declare).toThrow(expect.objectContaining({ code }));
  });
});

describe('a topology with stores of all kinds', () => {
  it('says what they keep', () => {
    const description = topologyWith(
      keyValueStore('k', { ...serdes, ttlMs: 7 }),
      windowStore('w', { ...serdes, retentionMs: 60_000 }),
      sessionStore('s', { ...serdes, retentionMs: 5_000 }),
      versionedStore('v', { ...serdes, historyRetentionMs: 4_000 }),
      sortedStore('q', serdes),
    ).describe();
    const lines = description.split('\n').filter((line) => line.startsWith('    store '));
    expect(lines.toSorted()).toEqual([
      '    store k (keyValue, string -> int64, version 0, kept for 7 ms)',
      '    store q (sorted, string -> int64, version 0)',
      '    store s (session, string -> int64, version 0, kept for 5000 ms)',
      '    store v (versioned, string -> int64, version 0, kept for 4000 ms)',
      '    store w (window, string -> int64, version 0, kept for 60000 ms)',
    ]);
  });

  it('refuses a store that is declared in two ways', () => {
    const options = { ...serdes, retentionMs: 10, windowSizeMs: 5 };
    const first = windowStore('w', options);
    for (const [other, difference] of [
      [windowStore('w', { ...options, retentionMs: 11 }), 'retentionMs'],
      [windowStore('w', { ...options, windowSizeMs: 6 }), 'windowSizeMs'],
      [windowStore('w', { ...options, retainDuplicates: true }), 'retainDuplicates'],
      [sessionStore('w', options), 'kind'],
    ] as const) {
      expect(() => topologyWith(first, other)).toThrow(`with a different ${difference}`);
    }
    expect(() => topologyWith(first, windowStore('w', options))).not.toThrow();
  });

  it('has another hash when the layout of a store changes, and the same when only its retention does', () => {
    const hashOf = (options: object): string => topologyWith(windowStore('w', { ...serdes, retentionMs: 10, ...options })).hash;
    expect(hashOf({ retentionMs: 20, windowSizeMs: 5 })).toBe(hashOf({}));
    expect(hashOf({ retainDuplicates: true })).not.toBe(hashOf({}));
    expect(topologyWith(sessionStore('w', { ...serdes, retentionMs: 10 })).hash).not.toBe(hashOf({}));
  });
});
