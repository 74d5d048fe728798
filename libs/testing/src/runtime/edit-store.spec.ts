import { int64, keyValueStore, type ProcessorContext, string, topic, type Topology, TopologyBuilder } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { simulatedError } from '../index.js';
import { setting } from './setting.suite.js';

const amounts = topic('amounts', { key: string(), value: int64() });
const totals = topic('totals', { key: string(), value: int64() });
const sums = keyValueStore('sums', { key: string(), value: int64() });

function sumTopology(process?: () => Promise<void>): Topology {
  const builder = new TopologyBuilder();
  const summed = builder.processor(builder.source(amounts), {
    name: 'sum',
    stores: [sums],
    async process(record, context: ProcessorContext<string, bigint>) {
      await process?.();
      const sum = (context.store(sums).get(record.key) ?? 0n) + record.value;
      context.store(sums).put(record.key, sum);
      context.forward({ ...record, value: sum });
    },
  });
  builder.sink(summed, totals);
  return builder.build();
}

const amount = (value: bigint) => ({ key: 'anna', value: int64().serialize(value) });
const isReady = (worker: { health(): { ready: boolean; tasks: readonly unknown[] } }) => () =>
  worker.health().ready && worker.health().tasks.length === 1;

describe('an edit of a store', () => {
  it('is committed and logged as what a record writes, and the next record reads it', async () => {
    const on = setting({ amounts: 1, totals: 1 });
    const worker = await on.start(sumTopology());
    await on.until(isReady(worker));
    worker.editStore(sums, 0, (store) => store.put('anna', 40n));
    expect(worker.isSettled).toBe(false);
    on.cluster.append('amounts', 0, [amount(2n)]);
    await on.until(() => on.cluster.allRecords('totals').length === 1 && worker.isSettled);
    expect(on.cluster.allRecords('totals').map(({ value }) => int64().deserialize(value!))).toEqual([42n]);
    await on.stop(worker);

    // On an empty disk all there is comes from the changelog.
    on.engine.crash();
    const successor = await on.start(sumTopology(), { stateDirectory: '/other' });
    await on.until(isReady(successor));
    expect(await successor.query(sums).get('anna')).toBe(42n);
  });

  it('that throws writes nothing, and returns what it returns', async () => {
    const on = setting({ amounts: 1, totals: 1 });
    const worker = await on.start(sumTopology());
    await on.until(isReady(worker));
    const edit = (): void =>
      worker.editStore(sums, 0, (store) => {
        store.put('anna', 1n);
        throw new Error('no');
      });
    expect(edit).toThrow('no');
    expect(worker.editStore(sums, 0, (store) => store.get('anna'))).toBeUndefined();
    await on.until(() => worker.isSettled);
    expect(await worker.query(sums).get('anna')).toBeUndefined();
  });

  it('is taken back with the transaction that it was part of', async () => {
    const on = setting({ amounts: 1, totals: 1 });
    const worker = await on.start(sumTopology());
    await on.until(() => isReady(worker)() && worker.isSettled);
    on.cluster.faults.next('commitTransactionOffsets', { error: simulatedError('STALE_MEMBER_EPOCH') });
    worker.editStore(sums, 0, (store) => store.put('anna', 1n));
    await on.until(() => worker.health().counters.transactionsAborted === 1 && worker.isSettled);
    expect(await worker.query(sums).get('anna')).toBeUndefined();
  });

  it('is refused while an asynchronous handler is at work, and where the partition is not', async () => {
    let finish: (() => void) | undefined;
    const on = setting({ amounts: 1, totals: 1 });
    const worker = await on.start(sumTopology(() => new Promise((resolve) => void (finish = resolve))));
    await on.until(isReady(worker));
    const edit = (partition: number) => () => worker.editStore(sums, partition, (store) => store.put('anna', 1n));
    expect(edit(1)).toThrow(expect.objectContaining({ code: 'STORE_NOT_LOCAL', kind: 'retriable' }));
    await on.until(() => worker.isSettled);
    on.cluster.append('amounts', 0, [amount(2n)]);
    await on.until(() => finish !== undefined);
    expect(worker.isSettled).toBe(false);
    expect(edit(0)).toThrow(expect.objectContaining({ code: 'STORE_BUSY', kind: 'retriable' }));
    finish?.();
    await on.until(() => worker.isSettled);
    expect(edit(0)).not.toThrow();
  });
});

it('calls a wall-clock punctuator when it is due, and not when the loop happens to turn', async () => {
  const on = setting({ amounts: 1, totals: 1 });
  const calledAtMs: number[] = [];
  const builder = new TopologyBuilder();
  builder.processor(builder.source(amounts), {
    name: 'tick',
    create: () => ({
      init: (context) => void context.schedule(7, 'wallClock', (atMs) => void calledAtMs.push(atMs)),
      process() {},
    }),
  });
  const worker = await on.start(builder.build());
  await on.until(isReady(worker));
  await on.clock.advance(1_000);
  expect(on.cluster.violations).toEqual([]);
  const gapsMs = calledAtMs.slice(1).map((atMs, index) => atMs - calledAtMs[index]!);
  expect(calledAtMs.length).toBeGreaterThan(100);
  expect(new Set(gapsMs)).toEqual(new Set([7]));
});
