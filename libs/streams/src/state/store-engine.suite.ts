/** What every store engine must do. An engine's own spec runs it in one line; whatever passes can hold a task's state. */
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { latin1Of } from '../core/bytes.js';
import type { PowerCuts } from './power-cut.suite.js';
import { bytesOf, EngineModel, entriesOf, everything, steps, valueOf, write } from './store-engine.model.suite.js';
import type { StoreDatabase, StoreEngine } from './store-engine.js';

export { bytesOf, entriesOf } from './store-engine.model.suite.js';

/** Some thousand steps on a disk: seconds of work, more where other tests share the processor. */
const modelTimeoutMs = 60_000;

export interface EngineUnderTest {
  readonly engine: StoreEngine;
  /** An engine of the same kind whose power can be cut. */
  readonly cuts: PowerCuts;
  /** A directory of its own, in which nothing is yet; what begins with its name is its own too. */
  readonly directory: string;
  dispose(): Promise<void>;
}

export function describeStoreEngine(name: string, make: () => Promise<EngineUnderTest>): void {
  describe(`${name} as a store engine`, () => {
    let subject: EngineUnderTest;
    let database: StoreDatabase;

    beforeEach(async () => {
      subject = await make();
      database = await subject.engine.open(subject.directory);
    });

    afterEach(async () => {
      await database.close();
      await subject.dispose();
    });

    async function reopen(): Promise<void> {
      await database.close();
      database = await subject.engine.open(subject.directory);
    }

    describePointsAndBatches(() => database, reopen);
    describeRanges(() => database);
    describeLifecycle(
      () => subject,
      () => database,
      (opened) => {
        database = opened;
      },
    );

    it(
      'equals a sorted map under any sequence of batches, range deletions, ranges, reopenings and power cuts',
      async () => {
        const seen = { lost: 0, survived: 0 };
        const directory = `${subject.directory}-power`;
        await fc.assert(
          fc.asyncProperty(steps, async (sequence) => {
            const model = await EngineModel.open(subject.cuts, directory);
            try {
              for (const step of sequence) await model.apply(step);
            } finally {
              await model.destroy();
            }
            seen.lost += model.seen.lost;
            seen.survived += model.seen.survived;
          }),
          // A failure is worth more than the end of its shrinking.
          { numRuns: 60, interruptAfterTimeLimit: modelTimeoutMs - 10_000, markInterruptAsFailure: true },
        );
        expect(seen.lost).toBeGreaterThan(0);
        expect(seen.survived).toBeGreaterThan(0);
      },
      modelTimeoutMs,
    );
  });
}

function describePointsAndBatches(database: () => StoreDatabase, reopen: () => Promise<void>): void {
  it('answers undefined for a key that is absent or was deleted', async () => {
    expect(valueOf(database(), 'a')).toBeUndefined();
    await write(database(), [['a', '1']]);
    await write(database(), [['a', null]]);
    expect(valueOf(database(), 'a')).toBeUndefined();
  });

  it('keeps empty values and binary keys apart', async () => {
    await write(database(), [
      ['k', ''],
      ['k\u0000', 'zero'],
      ['k\u00ff', 'high'],
    ]);
    expect([valueOf(database(), 'k'), valueOf(database(), 'k\u0000'), valueOf(database(), 'k\u00ff')]).toEqual(['', 'zero', 'high']);
  });

  it('lets the last operation on a key within a batch win', async () => {
    await write(database(), [
      ['a', '1'],
      ['a', null],
      ['b', null],
      ['b', '2'],
    ]);
    expect([valueOf(database(), 'a'), valueOf(database(), 'b')]).toEqual([undefined, '2']);
  });

  it('shows nothing of a batch before it is written, nor of one that was closed', async () => {
    const batch = database().batch();
    batch.put(bytesOf('a'), bytesOf('1'));
    expect(batch.length).toBe(1);
    expect(valueOf(database(), 'a')).toBeUndefined();
    await batch.close();
    expect(valueOf(database(), 'a')).toBeUndefined();
    expect(() => batch.put(bytesOf('a'), bytesOf('1'))).toThrow(/not open|closed/);
  });

  it('copies keys and values when they are put', async () => {
    const key = Buffer.from('key1');
    const value = Buffer.from('value1');
    const batch = database().batch();
    batch.put(key, value);
    key.write('key2');
    value.write('value2');
    batch.put(key, value);
    key.fill(0);
    value.fill(0);
    await batch.write();
    expect([valueOf(database(), 'key1'), valueOf(database(), 'key2')]).toEqual(['value1', 'value2']);
  });

  it('keeps what was written across close and open', async () => {
    await write(database(), [
      ['a', '1'],
      ['b', '2'],
    ]);
    await reopen();
    expect([valueOf(database(), 'a'), valueOf(database(), 'b')]).toEqual(['1', '2']);
  });
}

function describeRanges(database: () => StoreDatabase): void {
  it('ranges in byte order from an inclusive to an exclusive bound', async () => {
    await write(database(), [
      ['b\u00ff', '4'],
      ['a', '1'],
      ['b', '2'],
      ['b\u0000', '3'],
      ['c', '5'],
    ]);
    const range = { gte: bytesOf('b'), lt: bytesOf('c') };
    expect(await entriesOf(database().range(range))).toEqual([
      ['b', '2'],
      ['b\u0000', '3'],
      ['b\u00ff', '4'],
    ]);
    expect(await entriesOf(database().range({ ...range, reverse: true, limit: 2 }))).toEqual([
      ['b\u00ff', '4'],
      ['b\u0000', '3'],
    ]);
    expect(await entriesOf(database().range({ gte: bytesOf('d'), lt: bytesOf('e') }))).toEqual([]);
  });

  it('ranges over a snapshot of the moment of the call, in more than one fetch', async () => {
    const before = Array.from({ length: 1500 }, (_, index): [string, string] => [`k${String(index).padStart(5, '0')}`, 'old']);
    await write(database(), before);
    const range = database().range(everything);
    await write(database(), [
      ['k00000', 'new'],
      ['k00001', null],
      ['z', 'new'],
    ]);
    expect(await entriesOf(range)).toEqual(before);
  });

  it('can be left early, or before its first entry', async () => {
    await write(database(), [
      ['a', '1'],
      ['b', '2'],
    ]);
    for await (const [key] of database().range(everything)) {
      expect(latin1Of(key)).toBe('a');
      break;
    }
    const unstarted = database().range(everything)[Symbol.asyncIterator]();
    expect(await unstarted.return?.()).toMatchObject({ done: true });
    expect(await unstarted.next()).toMatchObject({ done: true });
  });

  it('clears a range only', async () => {
    await write(database(), [
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
    ]);
    await database().clear({ gte: bytesOf('b'), lt: bytesOf('c') });
    expect(await entriesOf(database().range(everything))).toEqual([
      ['a', '1'],
      ['c', '3'],
    ]);
  });
}

function describeLifecycle(subject: () => EngineUnderTest, database: () => StoreDatabase, replace: (opened: StoreDatabase) => void): void {
  it('refuses a second open until the first is closed, and says which directory', async () => {
    const { engine, directory } = subject();
    await expect(engine.open(directory)).rejects.toMatchObject({
      code: 'STATE_LOCKED',
      kind: 'invalid',
      message: expect.stringContaining(directory),
    });
    await database().close();
    replace(await engine.open(directory));
    expect(valueOf(database(), 'a')).toBeUndefined();
  });

  it('waits for a write that is under way when it closes', async () => {
    const batch = database().batch();
    batch.put(bytesOf('a'), bytesOf('1'));
    const order: string[] = [];
    const finish = async (): Promise<void> => {
      await batch.write();
      order.push('written');
    };
    const writing = finish();
    await database().close();
    order.push('closed');
    await writing;
    expect(order).toEqual(['written', 'closed']);
    replace(await subject().engine.open(subject().directory));
    expect(valueOf(database(), 'a')).toBe('1');
  });

  it('refuses every call once it is closed, which may be asked for twice', async () => {
    const closed = database();
    const batch = closed.batch();
    const range = closed.range(everything)[Symbol.asyncIterator]();
    await Promise.all([closed.close(), closed.close()]);
    const refusal = expect.objectContaining({ code: 'STATE_CLOSED', kind: 'closed' });
    expect(() => closed.getSync(bytesOf('a'))).toThrow(refusal);
    expect(() => closed.range(everything)).toThrow(refusal);
    expect(() => closed.batch()).toThrow(refusal);
    await expect(batch.write()).rejects.toEqual(refusal);
    await expect(range.next()).rejects.toEqual(refusal);
    await expect(closed.clear({ gte: bytesOf('a'), lt: bytesOf('b') })).rejects.toEqual(refusal);
  });

  it('destroys a closed database, and one that never was', async () => {
    const { engine, directory } = subject();
    await write(database(), [['a', '1']]);
    await expect(engine.destroy(directory)).rejects.toMatchObject({ code: 'STATE_LOCKED' });
    await database().close();
    await engine.destroy(directory);
    await engine.destroy(directory);
    replace(await engine.open(directory));
    expect(valueOf(database(), 'a')).toBeUndefined();
  });
}
