import { type Hooks, type StreamsWorker, TopologyBuilder, int64, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { type Setting, setting } from './setting.suite.js';

const amounts = topic('amounts', { key: string(), value: int64() });
const copies = topic('copies', { key: string(), value: int64() });
const options = { guarantee: 'at-most-once', commitIntervalMs: 0 } as const;

function copying() {
  const builder = new TopologyBuilder({ name: 'copying' });
  builder.sink(builder.source(amounts), copies);
  return builder.build();
}

/** Holds the commits that begin while it is closed. */
function gate() {
  const waiting: (() => void)[] = [];
  let isClosed = false;
  const hooks: Hooks = {
    commitPoint: (point) => (point === 'beforeCommit' && isClosed ? new Promise<void>((resolve) => void waiting.push(resolve)) : undefined),
  };
  return {
    hooks,
    close: () => {
      isClosed = true;
    },
    open: () => {
      isClosed = false;
      for (const resolve of waiting.splice(0)) resolve();
    },
    isHolding: () => waiting.length > 0,
  };
}

function add(test: Setting, partition: number, ...values: readonly bigint[]): void {
  test.cluster.append(
    'amounts',
    partition,
    values.map((value) => ({ key: 'k', value: Buffer.from(int64().serialize(value) ?? []) })),
  );
}

const sent = (test: Setting): bigint[] =>
  test.cluster.allRecords('copies').map(({ value }) => int64().deserialize(value ?? new Uint8Array()));
const offsetsOf = (test: Setting, partition: number): number[] =>
  test.cluster.offsetCommits.filter((each) => each.partition === partition).map(({ offset }) => offset);
const hasStarted = (worker: StreamsWorker) => (): boolean => worker.health().ready && worker.health().counters.transactionsCommitted > 0;

describe('offsets that at-most-once is committing for records that it has not processed', () => {
  it('stand when the worker stops: the records are processed before it ends', async () => {
    const test = setting({ amounts: 1, copies: 1 });
    const held = gate();
    const worker = await test.start(copying(), options, held.hooks);
    await test.until(hasStarted(worker));
    held.close();
    add(test, 0, 1n, 2n);
    await test.until(held.isHolding);
    const stopping = test.stop(worker);
    await test.clock.advance(100);
    held.open();
    await stopping;
    expect(sent(test)).toEqual([1n, 2n]);
    expect(offsetsOf(test, 0)).toEqual(offsetsOf(test, 0).toSorted((one, other) => one - other));
    expect(offsetsOf(test, 0).at(-1)).toBe(2);
  });

  it('stand when the partition is revoked: the records are processed before it is given away', async () => {
    const test = setting({ amounts: 2, copies: 1 });
    const held = gate();
    const first = await test.start(copying(), options, held.hooks);
    await test.until(() => hasStarted(first)() && first.health().tasks.length === 2);
    held.close();
    add(test, 0, 1n);
    add(test, 1, 2n);
    await test.until(held.isHolding);
    const second = await test.start(copying(), options);
    // The group has asked for a partition back by then.
    await test.clock.advance(1_500);
    held.open();
    await test.until(() => second.health().ready && second.health().tasks.length === 1);
    await test.clock.advance(2_000);
    expect([...sent(test)].sort((one, other) => Number(one - other))).toEqual([1n, 2n]);
    for (const partition of [0, 1]) {
      expect(offsetsOf(test, partition)).toEqual(offsetsOf(test, partition).toSorted((one, other) => one - other));
      expect(offsetsOf(test, partition).at(-1)).toBe(1);
    }
  });
});

/** Each output takes a fifth of the memory that there is. */
function copyingLarge() {
  const builder = new TopologyBuilder({ name: 'copying' });
  builder.processor(builder.source(amounts), {
    name: 'copy',
    process: ({ key, value }, context) =>
      context.send(copies, key, value, { headers: [{ name: 'large', value: new Uint8Array(200_000) }] }),
  });
  return builder.build();
}

const bounded = { ...options, bufferBytesMax: 1_048_576 };

describe('records that at-most-once has committed and not processed', () => {
  it('are processed before the worker ends, though they need more memory than there is', async () => {
    const test = setting({ amounts: 1, copies: 1 });
    const worker = await test.start(copyingLarge(), bounded);
    await test.until(hasStarted(worker));
    const values = Array.from({ length: 40 }, (_, index) => BigInt(index));
    add(test, 0, ...values);
    await test.until(() => offsetsOf(test, 0).at(-1) === values.length);
    expect(worker.health().memory.queuedRecords).toBeGreaterThan(10);
    await test.stop(worker);
    expect(sent(test)).toEqual(values);
  });

  it('are processed before their partition is given away, also where memory is at its bound just then', async () => {
    const test = setting({ amounts: 2, copies: 1 });
    // So slow that the group asks for a partition back while most of its records wait for memory.
    const slowly: Hooks = {
      commitPoint: (point) => (point === 'beforeCommit' ? new Promise<void>((resolve) => void test.clock.after(300, resolve)) : undefined),
    };
    const first = await test.start(copyingLarge(), bounded, slowly);
    await test.until(() => hasStarted(first)() && first.health().tasks.length === 2);
    const values = Array.from({ length: 40 }, (_, index) => BigInt(index));
    for (const partition of [0, 1]) add(test, partition, ...values);
    await test.until(() => sent(test).length > 0);
    const second = await test.start(copyingLarge(), { ...bounded, stateDirectory: '/other' });
    await test.until(() => second.health().ready && second.health().tasks.length === 1);
    await test.until(() => first.health().memory.queuedRecords === 0);
    await test.clock.advance(5_000);
    expect(sent(test).toSorted((one, other) => Number(one - other))).toEqual(values.flatMap((value) => [value, value]));
  });
});

describe('a record that is tried again under at-most-once', () => {
  it('counts its attempts though the offsets behind it are committed meanwhile', async () => {
    const test = setting({ amounts: 1, copies: 1 });
    const attempts: number[] = [];
    const builder = new TopologyBuilder({ name: 'trying' });
    builder.processor(builder.source(amounts), {
      name: 'try',
      process({ key, value }, context) {
        if (value === 1n) {
          attempts.push(context.record.attempt);
          throw new Error('unlucky');
        }
        context.send(copies, key, value);
      },
    });
    const processing = { action: 'retry', retriesMax: 3, backoffMs: 100, backoffMaxMs: 100, then: { action: 'skip' } } as const;
    const worker = await test.start(builder.build(), { ...options, errors: { processing } });
    await test.until(hasStarted(worker));
    for (let value = 1n; value <= 20n; value++) {
      add(test, 0, value);
      await test.clock.advance(50);
    }
    await test.clock.advance(1_000);
    expect(attempts).toEqual([1, 2, 3, 4]);
    expect(sent(test)).toEqual(Array.from({ length: 19 }, (_, index) => BigInt(index + 2)));
    expect(worker.health().counters.recordsSkipped).toBe(1);
  });
});
