import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../core/clock.js';
import type { Clock } from '../core/clock.js';
import { TallyError } from '../core/errors.js';
import type { Serde } from '../serde/serde.js';
import type { KeyValueStoreDefinition } from '../topology/store-definition.js';
import { keyValueCodec } from './key-value-codec.js';
import { childTimeoutMs, killWhileWriting } from './killed-writer.suite.js';
import { formatKey } from './layout.js';
import { latin1Of } from '../core/bytes.js';
import type { ChangelogPosition } from './layout.js';
import { LevelDbEngine } from './leveldb-engine.js';
import { MemoryEngine } from './memory-engine.js';
import { entriesOf } from './store-engine.suite.js';
import { TaskState } from './task-state.js';
import type { TaskStateOptions } from './task-state.js';

const accounts = { kind: 'keyValue', name: 'accounts', changelog: true } as const;

function openTask(options: Partial<TaskStateOptions> = {}): Promise<TaskState> {
  return TaskState.open({
    engine: new MemoryEngine(),
    directory: 'memory/0',
    task: 'ledger/0',
    stores: [accounts],
    cacheBytesMax: 10_000,
    ...options,
  });
}

function positions(offset: number): ReadonlyMap<string, ChangelogPosition> {
  return new Map([['accounts', { offset, dateMs: 5, topicId: 'topic' }]]);
}

function put(state: TaskState, key: string, value: string): void {
  state.store('accounts').put(key, Buffer.from(value));
}

async function commitAndFlush(state: TaskState, offset: number): Promise<void> {
  state.freeze();
  state.confirm();
  await state.flush(positions(offset));
}

function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof TallyError ? thrown.code : undefined;
}

async function contentOf(state: TaskState): Promise<[string, string][]> {
  return entriesOf(state.store('accounts').range({ view: 'committed' }));
}

describe('opening a task\u2019s state', () => {
  it('tells a new database from one that holds something, and gives back what a flush wrote', async () => {
    const engine = new MemoryEngine();
    for (let opening = 0; opening < 2; opening++) {
      const empty = await openTask({ engine });
      expect([empty.isNew, empty.topologyRecord, empty.position('accounts')]).toEqual([true, undefined, undefined]);
      await empty.close();
    }
    const state = await openTask({ engine });
    put(state, 'a', '1');
    state.store('accounts').putReserved('owner', Buffer.from('ledger'));
    state.freeze();
    state.confirm();
    await state.flush(positions(7), { topologyRecord: '{"version":1}' });
    expect(state.topologyRecord).toBe('{"version":1}');
    await state.close();

    const reopened = await openTask({ engine });
    expect([reopened.isNew, reopened.topologyRecord]).toEqual([false, '{"version":1}']);
    expect(reopened.position('accounts')).toEqual({ offset: 7, dateMs: 5, topicId: 'topic' });
    expect(Buffer.from(reopened.store('accounts').getReserved('owner')!).toString()).toBe('ledger');
    expect(await contentOf(reopened)).toEqual([['\u0001a', '1']]);
    expect(() => reopened.store('balances')).toThrow(expect.objectContaining({ code: 'STORE_UNKNOWN' }));
  });

  it('refuses a newer format and a database that is none of Tally\u2019s, names the directory, and releases the lock', async () => {
    const engine = new MemoryEngine();
    const write = async (key: Uint8Array, value: Uint8Array): Promise<void> => {
      const database = await engine.open('memory/0');
      const batch = database.batch();
      batch.put(key, value);
      await batch.write();
      await database.close();
    };
    await write(formatKey, Uint8Array.of(2));
    await expect(openTask({ engine })).rejects.toMatchObject({
      code: 'STATE_FORMAT_NEWER',
      kind: 'invalid',
      message: expect.stringContaining('memory/0'),
    });
    await write(formatKey, Uint8Array.of(0));
    await expect(openTask({ engine })).rejects.toMatchObject({ code: 'STATE_CORRUPT', kind: 'corrupt' });
    await engine.destroy('memory/0');
    await write(Buffer.from('\u0001foreign'), Uint8Array.of(1));
    await expect(openTask({ engine })).rejects.toMatchObject({ code: 'STATE_CORRUPT', message: expect.stringContaining('memory/0') });
  });

  it('refuses store names that the layout cannot hold', async () => {
    await expect(openTask({ stores: [{ ...accounts, name: 'a\u0000b' }] })).rejects.toMatchObject({ code: 'STORE_NAME_INVALID' });
  });

  it('empties a changelogged store that has entries and no position, and keeps one that has no changelog', async () => {
    const engine = new MemoryEngine();
    for (const changelog of [true, false]) {
      const stores = [{ ...accounts, changelog }];
      const state = await openTask({ engine, stores });
      put(state, 'a', '1');
      state.freeze();
      state.confirm();
      await state.flush(new Map());
      await state.close();
      const reopened = await openTask({ engine, stores });
      expect(await contentOf(reopened)).toEqual(changelog ? [] : [['\u0001a', '1']]);
      await reopened.close();
    }
  });
});

describe('a flush', () => {
  it('fills its batch in steps between which the event loop turns, and writes it at once', async () => {
    let yields = 0;
    const clock: Clock = {
      ...systemClock,
      yieldNow: () => {
        yields++;
        return systemClock.yieldNow();
      },
    };
    const writes: number[] = [];
    const engine = new MemoryEngine({ faults: { beforeWrite: (_directory, operations) => void writes.push(operations) } });
    const state = await openTask({ engine, clock });
    for (let index = 0; index < 10_000; index++) put(state, String(index), 'v');
    state.freeze();
    state.confirm();
    let steps = 0;
    await state.flush(positions(1), { onStep: () => void steps++ });
    // Two turns while the batch is filled, two while its values move to the cache.
    expect([steps, yields, writes.at(-1)]).toEqual([3, 4, 10_001]);
    expect(state.bytes).toEqual({ open: 0, committing: 0, committed: 0 });
  });

  it('that failed leaves everything readable and the state broken until it is opened again', async () => {
    const full = new Error('the disk is full');
    let failing = false;
    const engine = new MemoryEngine({ faults: { beforeWrite: () => (failing ? Promise.reject(full) : undefined) } });
    const state = await openTask({ engine });
    put(state, 'a', '1');
    await commitAndFlush(state, 1);
    put(state, 'a', '2');
    failing = true;
    await expect(commitAndFlush(state, 2)).rejects.toBe(full);
    failing = false;
    expect(await contentOf(state)).toEqual([['\u0001a', '2']]);
    expect(state.position('accounts')?.offset).toBe(1);
    await expect(state.flush(positions(3))).rejects.toBe(full);
    await state.close();
    const reopened = await openTask({ engine });
    expect([await contentOf(reopened), reopened.position('accounts')?.offset]).toEqual([[['\u0001a', '1']], 1]);
  });

  it('writes nothing when nothing is to be written, and positions of unknown stores never', async () => {
    let writes = 0;
    const state = await openTask({ engine: new MemoryEngine({ faults: { beforeWrite: () => void writes++ } }) });
    const before = writes;
    await state.flush(new Map());
    await expect(state.flush(new Map([['other', { offset: 1, dateMs: 1, topicId: 't' }]]))).rejects.toMatchObject({
      code: 'STORE_UNKNOWN',
    });
    expect(writes).toBe(before);
    await state.flush(positions(4));
    expect(writes).toBe(before + 1);
  });
});

describe('restoring', () => {
  it('refuses records that are no entries of a store', async () => {
    const state = await openTask();
    for (const key of [Buffer.alloc(0), Buffer.from('\u0003a')]) {
      const restored = state.applyRestored('accounts', [{ key, value: null }], { offset: 1, dateMs: 1, topicId: 't' });
      await expect(restored).rejects.toMatchObject({ code: 'CHANGELOG_KEY_CORRUPT', kind: 'corrupt', place: { store: 'accounts' } });
    }
    expect(state.position('accounts')).toBeUndefined();
  });

  it('forgets what was cached of the store', async () => {
    const state = await openTask();
    put(state, 'a', 'old');
    await commitAndFlush(state, 1);
    const key = Buffer.from('\u0001a');
    expect(latin1Of(state.store('accounts').get('a')!)).toBe('old');
    await state.applyRestored('accounts', [{ key, value: Buffer.from('new') }], { offset: 2, dateMs: 1, topicId: 't' });
    expect(latin1Of(state.store('accounts').get('a')!)).toBe('new');
  });

  it('rebuilds so that a crash at any of its writes is followed by an empty store without a position', async () => {
    const entries = Array.from({ length: 9000 }, (_, index) => ({ key: Buffer.from(`\u0001${index}`), value: Buffer.from('v') }));
    let writesOfRebuild = Number.POSITIVE_INFINITY;
    for (let crashAt = 1; crashAt <= writesOfRebuild; crashAt++) {
      let rebuilding = false;
      let writes = 0;
      const engine: MemoryEngine = new MemoryEngine({
        faults: {
          beforeWrite: () => {
            if (rebuilding && ++writes === crashAt) engine.crash();
          },
        },
      });
      const state = await openTask({ engine });
      await state.applyRestored('accounts', entries, { offset: 9000, dateMs: 1, topicId: 't' });
      rebuilding = true;
      const outcome = await state.beginRebuild('accounts').catch((error: unknown) => error);
      expect(codeOf(outcome)).toBe(crashAt <= 4 ? 'STATE_CLOSED' : undefined);
      rebuilding = false;
      writesOfRebuild = Math.min(writesOfRebuild, writes === crashAt ? Number.POSITIVE_INFINITY : writes);
      await state.close();
      const reopened = await openTask({ engine });
      const intact = crashAt === 1;
      expect(reopened.position('accounts')?.offset).toBe(intact ? 9000 : undefined);
      expect(await contentOf(reopened)).toHaveLength(intact ? 9000 : 0);
    }
    expect(writesOfRebuild).toBe(4);
  });
});

describe('queries', () => {
  const text: Serde<string> = {
    name: 'text',
    serialize: (value) => Buffer.from(value),
    deserialize: (bytes) => Buffer.from(bytes).toString(),
  };
  const definition: KeyValueStoreDefinition<string, string> = { ...accounts, version: 1, key: text, value: text };

  it('read committed values only, decoded', async () => {
    const state = await openTask();
    const codec = keyValueCodec(definition);
    const write = (key: string, value: string): void => {
      state.store('accounts').put(codec.mapKey(key), codec.encodeValue(value, 33));
    };
    const reader = state.readCommitted(definition);
    for (const key of ['a', 'b', 'c']) write(key, `committed ${key}`);
    expect(reader.get('a')).toBeUndefined();
    state.freeze();
    state.confirm();
    write('a', 'open');
    const range = reader.range('b', 'c');
    await state.flush(positions(1));
    expect(reader.get('a')).toBe('committed a');
    expect(reader.getWithTimestamp('a')).toEqual({ value: 'committed a', timestampMs: 33 });
    expect(reader.getWithTimestamp('z')).toBeUndefined();
    const entries: (readonly [string, string])[] = [];
    for await (const entry of range) entries.push(entry);
    for await (const entry of reader.range()) entries.push(entry);
    expect(entries.map(([key]) => key)).toEqual(['b', 'c', 'a', 'b', 'c']);
    await state.close();
    expect(() => reader.get('a')).toThrow(expect.objectContaining({ code: 'STATE_CLOSED' }));
  });

  it('see the writes of a record\u2019s own scope above all layers when they are handed in', async () => {
    const state = await openTask();
    for (const key of ['a', 'b', 'c']) put(state, key, 'open');
    const overlay = new Map<string, Uint8Array | null>([
      ['b', null],
      ['bb', Buffer.from('own')],
      ['z', Buffer.from('outside')],
    ]);
    const range = state.store('accounts').range({ to: Buffer.from('\u0001c'), view: 'open', overlay });
    overlay.clear();
    expect(await entriesOf(range)).toEqual([
      ['\u0001a', 'open'],
      ['\u0001bb', 'own'],
      ['\u0001c', 'open'],
    ]);
  });

  it('are refused once the task is closed, also for what was dirty', async () => {
    const state = await openTask();
    for (const key of ['committed', 'committing', 'open']) {
      put(state, key, '1');
      if (key === 'committed') state.freeze();
      if (key === 'committed') state.confirm();
      if (key === 'committing') state.freeze();
    }
    const store = state.store('accounts');
    await Promise.all([state.close(), state.close()]);
    for (const key of ['committed', 'committing', 'open']) {
      expect(() => store.get(key)).toThrow(expect.objectContaining({ code: 'STATE_CLOSED', kind: 'closed' }));
    }
    expect(() => store.range({ view: 'open' })).toThrow(expect.objectContaining({ code: 'STATE_CLOSED' }));
    expect(state.bytes).toEqual({ open: 0, committing: 0, committed: 0 });
  });

  it('that are under way when the task closes are told so', async () => {
    const state = await openTask();
    put(state, 'a', '1');
    const range = state.store('accounts').range({ view: 'open' });
    await state.close();
    await expect(range.next()).rejects.toMatchObject({ code: 'STATE_CLOSED' });
  });
});

describe('a process that is killed while it flushes', () => {
  it(
    'leaves the data of one flush with the position of that same flush',
    async () => {
      const parent = await mkdtemp(join(tmpdir(), 'tally-killed-'));
      const directory = join(parent, '0');
      let generation = 0;
      for (let round = 0; round < 3; round++) {
        const acknowledged = await killWhileWriting(
          directory,
          `
          import { LevelDbEngine } from './state/leveldb-engine.js';
          import { TaskState } from './state/task-state.js';
          const stores = [{ kind: 'keyValue', name: 'accounts', version: 1, changelog: true }];
          const state = await TaskState.open({ engine: new LevelDbEngine(), directory: process.argv[2], task: 'ledger/0', stores, cacheBytesMax: 1e6 });
          for (let generation = ${generation + 1}; ; generation++) {
            for (let index = 0; index < 300; index++) {
              state.store('accounts').put(String(index), Buffer.from(String(generation)));
            }
            state.freeze();
            state.confirm();
            await state.flush(new Map([['accounts', { offset: generation, dateMs: 1, topicId: 't' }]]));
            console.log(generation);
          }`,
          generation + 6 + round * 5,
        );
        const state = await openTask({ engine: new LevelDbEngine(), directory });
        const offset = state.position('accounts')!.offset;
        const values = new Set((await contentOf(state)).map(([, value]) => Number(value)));
        await state.close();
        expect([...values]).toEqual([offset]);
        expect(offset).toBeGreaterThanOrEqual(acknowledged);
        generation = offset;
      }
      await rm(parent, { recursive: true, force: true });
    },
    childTimeoutMs,
  );
});
