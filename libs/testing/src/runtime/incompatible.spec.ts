/** A start on state that another topology has written: what fits goes on, what does not is refused, naming the store. */
import {
  type AnyStoreDefinition,
  int64,
  json,
  keyValueStore,
  MemoryEngine,
  sessionStore,
  StreamsBuilder,
  string,
  topic,
  type Topology,
  TopologyBuilder,
  versionedStore,
  windowStore,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { setting } from './setting.suite.js';

const events = topic('events', { key: string(), value: string() });
const plain = { key: string(), value: string() };

function using(store: AnyStoreDefinition, builder = new TopologyBuilder()): Topology {
  builder.processor(builder.source(events), { name: 'use', stores: [store], process: () => undefined });
  return builder.build();
}

/** Starts the one after the other has written, on the same disk and on a new one; what the second start says. */
async function after(
  before: Topology,
  now: Topology,
): Promise<readonly (readonly [code: string | undefined, message: string | undefined])[]> {
  const outcomes: (readonly [string | undefined, string | undefined])[] = [];
  for (const isNewDisk of [false, true]) {
    const test = setting({ events: 1, orders: 1 });
    const disk = new MemoryEngine();
    const first = await test.start(before, {}, {}, disk);
    test.cluster.append('events', 0, [{ key: 'a', value: 'x' }]);
    await test.until(() => first.health().counters.records === 1);
    await test.stop(first);
    const second = await test.start(now, {}, {}, isNewDisk ? new MemoryEngine() : disk);
    await test.until(() => second.health().phase === 'failed' || (second.health().ready && second.health().tasks.length > 0));
    const error = second.health().error as { readonly code?: string; readonly message: string } | undefined;
    outcomes.push([error?.code, error?.message]);
    await test.stop(second).catch(() => {});
  }
  return outcomes;
}

const goesOn = [
  [undefined, undefined],
  [undefined, undefined],
];

function refused(code: string, message: RegExp): unknown[] {
  const each = [code, expect.stringMatching(message)];
  return [each, each];
}

describe('a start on state of another topology', () => {
  const windows = (options: object = {}) => windowStore('kept', { ...plain, retentionMs: 1_000, ...options });

  it.each<readonly [string, AnyStoreDefinition, AnyStoreDefinition, string, RegExp]>([
    ['another kind', keyValueStore('kept', plain), windows(), 'STORE_INCOMPATIBLE', /'kept' holds keyValue entries .* as window/],
    [
      'versions',
      keyValueStore('kept', plain),
      versionedStore('kept', { ...plain, historyRetentionMs: 5 }),
      'STORE_INCOMPATIBLE',
      /'kept'.* as versioned/,
    ],
    ['sessions', windows(), sessionStore('kept', { ...plain, retentionMs: 5 }), 'STORE_INCOMPATIBLE', /'kept'.* as session/],
    [
      'other keys',
      keyValueStore('kept', plain),
      keyValueStore('kept', { ...plain, key: int64() }),
      'STORE_INCOMPATIBLE',
      /keys written by 'string'; .*'int64'/,
    ],
    [
      'other values',
      keyValueStore('kept', plain),
      keyValueStore('kept', { ...plain, value: json() }),
      'STORE_INCOMPATIBLE',
      /values written by 'string'.*Raise the store's version/,
    ],
    [
      'an older version',
      keyValueStore('kept', { ...plain, version: 2 }),
      keyValueStore('kept', { ...plain, version: 1 }),
      'STORE_NEWER',
      /'kept' holds values of version 2/,
    ],
    [
      'no duplicates any more',
      windows({ retainDuplicates: true }),
      windows(),
      'STORE_INCOMPATIBLE',
      /'kept' holds duplicates window entries.*retainDuplicates/,
    ],
    ['duplicates all at once', windows(), windows({ retainDuplicates: true }), 'STORE_INCOMPATIBLE', /'kept'.*declared for duplicates/],
    [
      'no time-to-live any more',
      keyValueStore('kept', { ...plain, ttlMs: 5 }),
      keyValueStore('kept', plain),
      'STORE_INCOMPATIBLE',
      /'kept' holds expiring keyValue entries/,
    ],
  ])('refuses %s', async (_what, before, now, code, message) => {
    expect(await after(using(before), using(now))).toEqual(refused(code, message));
  });

  it.each<readonly [string, AnyStoreDefinition, AnyStoreDefinition]>([
    ['a longer retention', windows(), windows({ retentionMs: 9_000 })],
    ['a time-to-live', keyValueStore('kept', plain), keyValueStore('kept', { ...plain, ttlMs: 5 })],
    ['another time-to-live', keyValueStore('kept', { ...plain, ttlMs: 5 }), keyValueStore('kept', { ...plain, ttlMs: 9 })],
    [
      'values of a newer version',
      keyValueStore('kept', plain),
      keyValueStore('kept', { ...plain, value: json<string>(), version: 1, migrate: (bytes) => String(bytes) }),
    ],
    ['a store more', keyValueStore('kept', plain), keyValueStore('another', plain)],
  ])('goes on with %s', async (_what, before, now) => {
    expect(await after(using(before), using(now))).toEqual(goesOn);
  });

  it('refuses a store that another sub-topology has now, and an older version of the topology', async () => {
    const kept = keyValueStore('kept', plain);
    const moved = new TopologyBuilder();
    moved.source(events, { subTopology: 'elsewhere' });
    expect(await after(using(kept), using(kept, moved))).toEqual(
      refused('STORE_OWNER_CHANGED', /'kept' belongs to sub-topology 'events', and now 'elsewhere'/),
    );
    const older = await after(using(kept, new TopologyBuilder({ version: 2 })), using(kept));
    expect(older).toEqual(refused('TOPOLOGY_NEWER', /version 2/));
  });

  it('names the store that an operator of the DSL made', async () => {
    const rows = keyValueStore('rows', plain);
    const build = (version: number): Topology => {
      const streams = new StreamsBuilder();
      const table = streams.table(events, rows);
      if (version === 1) table.suppress({ until: 'timeLimit', waitMs: 5, name: 'calm' });
      else table.map((row) => row.length, { value: json<number>() }).suppress({ until: 'timeLimit', waitMs: 5, name: 'calm' });
      return streams.build();
    };
    expect(await after(build(1), build(2))).toEqual(
      refused('STORE_INCOMPATIBLE', /Store 'calm-buffer' holds values written by 'suppressedRow\(string\)'/),
    );
  });
});
