import { type CommitPoint, type Guarantee, type StreamsWorker, TopologyBuilder, int64, keyValueStore, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import type { RequestName, SimulatedRequest } from '../index.js';
import { type Setting, holdAt, setting } from './setting.suite.js';

const amounts = topic('amounts', { key: string(), value: int64() });
const totals = topic('totals', { key: string(), value: int64() });
const sums = keyValueStore('sums', { key: string(), value: int64() });

function summing() {
  const builder = new TopologyBuilder({ name: 'summing' });
  builder.processor(builder.source(amounts), {
    name: 'sum',
    stores: [sums],
    process(record, context) {
      const store = context.store(sums);
      const sum = (store.get(record.key) ?? 0n) + record.value;
      store.put(record.key, sum);
      context.send(totals, record.key, sum);
    },
  });
  return builder.build();
}

/** The same without a store. */
function passing() {
  const builder = new TopologyBuilder({ name: 'passing' });
  builder.processor(builder.source(amounts), {
    name: 'pass',
    process: (record, context) => context.send(totals, record.key, record.value),
  });
  return builder.build();
}

function add(test: Setting, ...values: readonly number[]): void {
  test.cluster.append(
    'amounts',
    0,
    values.map((value) => ({ key: 'k', value: Buffer.from(int64().serialize(BigInt(value)) ?? []) })),
  );
}

const sent = (test: Setting): number[] =>
  test.cluster.allRecords('totals').map(({ value }) => Number(int64().deserialize(value ?? new Uint8Array())));
const isCommit = (request: SimulatedRequest): boolean => request.name === 'endTransaction' && request.commit === true;

/** Lets time pass until queries give the value. */
async function untilSum(test: Setting, worker: StreamsWorker, expected: bigint): Promise<void> {
  let found: bigint | undefined;
  for (let rounds = 0; rounds < 3_000 && found !== expected; rounds++) {
    await test.clock.advance(100);
    found = worker.health().ready ? await worker.query(sums).get('k') : undefined;
  }
  expect(found).toBe(expected);
}

/** Collects the transactional ids of all producers that are initialised from now on. */
function transactionalIdsOf(test: Setting): readonly string[] {
  const ids: string[] = [];
  test.cluster.faults.add((request) => {
    if (request.name === 'initProducer') ids.push(request.clientId);
    return undefined;
  });
  return ids;
}

/** What the changelog holds for the key, the last value of it. */
function changelog(test: Setting): number | undefined {
  const entries = test.cluster.allRecords('app-sums-changelog').filter(({ key }) => key !== null && key[0] === 1);
  const last = entries.at(-1)?.value;
  return last === undefined || last === null ? undefined : Number(int64().deserialize(last.subarray(9)));
}

describe('a commit whose answer is lost', () => {
  for (const lost of ['request', 'answer'] as const) {
    it(`is settled, and nothing is lost or repeated, when it had ${lost === 'answer' ? '' : 'not '}taken effect`, async () => {
      const test = setting({ amounts: 1, totals: 1 });
      const worker = await test.start(summing());
      await test.until(() => worker.health().ready);
      test.cluster.faults.next(isCommit, { lose: lost });
      add(test, 1, 2, 3);
      await test.until(() => worker.health().counters.records === 3);
      add(test, 4);
      await untilSum(test, worker, 10n);
      expect(test.cluster.faults.fired).toHaveLength(1);
      expect(sent(test)).toEqual([1, 3, 6, 10]);
      expect(changelog(test)).toBe(10);
    });

    it(`for longer than the bound replaces the producer and replays, when it had ${lost === 'answer' ? '' : 'not '}taken effect`, async () => {
      const test = setting({ amounts: 1, totals: 1 });
      const worker = await test.start(summing());
      await test.until(() => worker.health().ready);
      // Every commit is lost for a while, and so are the repetitions of the first one.
      const from = test.clock.monotonicMs();
      test.cluster.faults.add((request) => (isCommit(request) && test.clock.monotonicMs() < from + 120_000 ? { lose: lost } : undefined));
      add(test, 1, 2, 3);
      await test.until(
        () => worker.health().counters.producersReplaced > 0 && worker.health().ready && test.clock.monotonicMs() > from + 120_000,
      );
      add(test, 4);
      await untilSum(test, worker, 10n);
      expect(test.cluster.faults.fired.length).toBeGreaterThan(0);
      expect(sent(test)).toEqual([1, 3, 6, 10]);
      expect(changelog(test)).toBe(10);
    });
  }
});

describe('a step of the commit that fails', () => {
  const cases: readonly (readonly [string, RequestName])[] = [
    ['the offsets', 'commitTransactionOffsets'],
    ['a record', 'produce'],
    ['the registration of partitions', 'addPartitions'],
    ['the registration of the group', 'addOffsets'],
  ];
  for (const [what, request] of cases) {
    it(`at ${what}: lost requests and answers change nothing`, async () => {
      for (const lose of ['request', 'answer'] as const) {
        const test = setting({ amounts: 1, totals: 1 });
        const worker = await test.start(summing());
        await test.until(() => worker.health().ready);
        test.cluster.faults.next(request, { lose }, 2);
        add(test, 1, 2, 3);
        await untilSum(test, worker, 6n);
        expect(test.cluster.faults.fired.length).toBeGreaterThan(0);
        expect(changelog(test)).toBe(6);
        expect(sent(test)).toEqual([1, 3, 6]);
        await test.stop(worker);
      }
    });
  }

  it('because another process took the transactional id: goes on once, then stops and names it', async () => {
    const test = setting({ amounts: 1, totals: 1 });
    const transactionalIds = transactionalIdsOf(test);
    const worker = await test.start(summing());
    await test.until(() => worker.health().ready);
    const [transactionalId] = transactionalIds;
    expect(transactionalId).toMatch(/^app-.*-0$/);
    let error: Error | undefined;
    worker.finished.catch((reason: Error) => {
      error = reason;
    });
    const { SimulatedBroker } = await import('../index.js');
    for (let round = 0; error === undefined && round < 20; round++) {
      const rival = new SimulatedBroker(test.cluster, { process: `rival${round}` }).createTransactionalProducer({
        transactionalId: transactionalId ?? '',
        transactionTimeoutMs: 10_000,
        clientId: 'rival',
      });
      add(test, 1);
      await test.clock.run(rival.init());
      await test.clock.advance(400);
    }
    await test.until(() => error !== undefined);
    expect(error?.message).toMatch(new RegExp(`Another process uses the transactional id '${transactionalId}'`));
    const values = sent(test);
    expect(values).toEqual(values.map((_, index) => index + 1));
  });
});

describe('an epoch that is processed while the one before it commits', () => {
  for (const point of ['frozen', 'produced', 'beforeOffsets', 'afterOffsets'] as const) {
    it(`puts nothing into that one's transaction (held at ${point})`, async () => {
      const test = setting({ amounts: 1, totals: 1 });
      const first = holdAt(point);
      const second = holdAt('beforeCommit');
      let isArmed = false;
      let heldEpoch: number | undefined;
      const hooks = {
        commitPoint(at: CommitPoint, epoch: number) {
          if (!isArmed) return undefined;
          if (at === point) heldEpoch ??= epoch;
          const hold = epoch === heldEpoch ? first : second;
          return heldEpoch === undefined ? undefined : hold.hooks.commitPoint?.(at, epoch);
        },
      };
      const worker = await test.start(summing(), { stateFlushIntervalMs: 60_000 }, hooks);
      await test.until(() => worker.health().ready && worker.health().counters.transactionsCommitted > 0);
      isArmed = true;
      add(test, 1);
      await test.until(() => first.reached());
      add(test, 2, 3);
      await test.until(() => worker.health().open.records === 2);
      await test.clock.advance(500);
      first.letGo();
      // The next epoch is held until the broker has aborted its transaction: its two records are processed again.
      await test.until(() => second.reached());
      await test.clock.advance(15_000);
      expect(worker.health().counters.records).toBe(1);
      second.letGo();
      await untilSum(test, worker, 6n);
      expect(sent(test)).toEqual([1, 3, 6]);
      expect(worker.health().counters.producersReplaced + worker.health().counters.transactionsAborted).toBeGreaterThan(0);
    });
  }
});

describe('the local state', () => {
  it('never gets ahead of the commit: what is flushed has been committed, with a position from before it', async () => {
    const test = setting({ amounts: 1, totals: 1 });
    const hold = holdAt('beforeCommit');
    const worker = await test.start(summing(), { stateFlushIntervalMs: 10 }, hold.hooks);
    await test.until(() => worker.health().ready);
    add(test, 1, 2);
    await test.until(() => hold.reached());
    await test.clock.advance(1_000);
    const database = await test.engine.open(`/copy`);
    await database.close();
    expect(await worker.query(sums).get('k')).toBeUndefined();
    expect(sent(test)).toEqual([]);
    hold.letGo();
    await test.until(() => worker.health().counters.records === 2);
    expect(await worker.query(sums).get('k')).toBe(3n);
  });

  it('of a task that has become quiet covers its last writes: nothing is replayed after a stop', async () => {
    const test = setting({ amounts: 1, totals: 1 });
    const flushes: string[] = [];
    const worker = await test.start(summing(), { stateFlushIntervalMs: 100 }, { flushed: (task) => void flushes.push(task) });
    add(test, 1, 2, 3);
    await test.until(() => worker.health().counters.records === 3);
    await test.clock.advance(2_000);
    const before = flushes.length;
    await test.clock.advance(5_000);
    expect(flushes.length).toBe(before);
    await test.stop(worker);
    const second = await test.start(summing());
    await test.until(() => second.health().ready);
    expect(second.health().counters.recordsRestored).toBe(0);
  });
});

describe('a revocation during a commit that hangs', () => {
  it('gives the partitions back once the offsets are in; the successor waits for the marker and repeats nothing', async () => {
    const test = setting({ amounts: 2, totals: 1 });
    const hold = holdAt('beforeCommit');
    const first = await test.start(summing(), {}, hold.hooks);
    await test.until(() => first.health().ready && first.health().tasks.length === 2);
    add(test, 1, 2, 3);
    test.cluster.append('amounts', 1, [{ key: 'l', value: Buffer.from(int64().serialize(5n) ?? []) }]);
    await test.until(() => hold.reached());
    const second = await test.start(summing());
    // The revoked task is given away while the commit is still held.
    await test.until(() => second.health().tasks.length === 1);
    expect(first.health().tasks).toHaveLength(1);
    expect(sent(test)).toEqual([]);
    hold.letGo();
    await test.until(() => second.health().ready && first.health().ready);
    add(test, 4);
    test.cluster.append('amounts', 1, [{ key: 'l', value: Buffer.from(int64().serialize(6n) ?? []) }]);
    await test.until(() => sent(test).length === 6);
    expect([...sent(test)].sort((left, right) => left - right)).toEqual([1, 3, 5, 6, 10, 11]);
  });
});

describe('a graceful stop', () => {
  it('ends within its bound although the commit is never answered, and the successor is exact', async () => {
    const test = setting({ amounts: 1, totals: 1 });
    const worker = await test.start(summing(), { shutdownTimeoutMs: 5_000 });
    await test.until(() => worker.health().ready && worker.health().counters.transactionsCommitted > 0);
    const remove = test.cluster.faults.add((request) => (request.name === 'endTransaction' ? { lose: 'request' } : undefined));
    add(test, 1, 2);
    await test.until(() => test.cluster.faults.fired.length > 0);
    const stoppedAt = test.clock.monotonicMs();
    await test.stop(worker);
    // One attempt of the client may be under way when the bound passes.
    expect(test.clock.monotonicMs() - stoppedAt).toBeLessThan(15_000);
    remove();
    const successor = await test.start(summing());
    await untilSum(test, successor, 3n);
    expect(sent(test)).toEqual([1, 3]);
  });
});

describe('guarantees', () => {
  const run = async (
    guarantee: Guarantee,
    topology = summing(),
  ): Promise<{ test: Setting; worker: StreamsWorker; transactionalIds: readonly string[] }> => {
    const test = setting({ amounts: 1, totals: 1 });
    const transactionalIds = transactionalIdsOf(test);
    const worker = await test.start(topology, { guarantee });
    // The first offsets of the partition have been committed.
    await test.until(() => worker.health().ready && worker.health().counters.transactionsCommitted > 0);
    return { test, worker, transactionalIds };
  };

  for (const guarantee of ['exactly-once', 'at-least-once', 'at-most-once'] as const) {
    it(`${guarantee} without faults: each record once, state and offsets committed`, async () => {
      const { test, worker } = await run(guarantee);
      add(test, 1, 2, 3);
      await test.until(() => worker.health().counters.records === 3);
      await test.stop(worker);
      expect(sent(test)).toEqual([1, 3, 6]);
      expect(changelog(test)).toBe(6);
      expect(test.cluster.committedOffset('app', { topic: 'amounts', partition: 0 }).offset).toBe(3);
    });
  }

  it('at-least-once without stores uses no transaction', async () => {
    const { test, worker, transactionalIds } = await run('at-least-once', passing());
    add(test, 1, 2, 3);
    await test.until(() => worker.health().counters.records === 3);
    expect(sent(test)).toEqual([1, 2, 3]);
    expect(transactionalIds).toEqual([]);
    await test.stop(worker);
    expect(test.cluster.committedOffset('app', { topic: 'amounts', partition: 0 }).offset).toBe(3);
  });

  it('at-least-once repeats outputs of an aborted epoch and loses none; its state stays exact', async () => {
    const { test, worker } = await run('at-least-once');
    // Past every repetition of the call: the commit is given up, and its outputs have been delivered by then.
    const until = test.clock.monotonicMs() + 120_000;
    test.cluster.faults.add((request) => (isCommit(request) && test.clock.monotonicMs() < until ? { lose: 'request' } : undefined));
    add(test, 1, 2, 3);
    await untilSum(test, worker, 6n);
    expect(test.cluster.faults.fired.length).toBeGreaterThan(0);
    const values = sent(test);
    expect(values.length).toBeGreaterThan(3);
    // It begins anew after each abort, with less at a time: no record's output comes before that of the record before it.
    const before: Readonly<Record<number, number>> = { 3: 1, 6: 3 };
    for (const [index, value] of values.entries()) if (value !== 1) expect(values[index - 1]).toBe(before[value]);
    expect(values.at(-1)).toBe(6);
    expect(changelog(test)).toBe(6);
  });

  it('at-most-once processes only what is known to be its own, and a commit in doubt repeats nothing', async () => {
    for (const lose of ['request', 'answer'] as const) {
      const { test, worker } = await run('at-most-once');
      const until = test.clock.monotonicMs() + 120_000;
      test.cluster.faults.add((request) => (isCommit(request) && test.clock.monotonicMs() < until ? { lose } : undefined));
      add(test, 1, 2, 3);
      await test.until(() => test.clock.monotonicMs() > until + 20_000 && worker.health().ready);
      expect(test.cluster.faults.fired.length).toBeGreaterThan(0);
      add(test, 10);
      await test.until(() => sent(test).length > 0);
      await test.clock.advance(2_000);
      expect(sent(test)).toEqual(lose === 'request' ? [1, 3, 6, 16] : [10]);
      await test.stop(worker);
    }
  });
});
