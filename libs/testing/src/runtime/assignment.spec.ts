import {
  type BrokerError,
  type Hooks,
  MemoryEngine,
  StreamsWorker,
  TopologyBuilder,
  type WorkerOptions,
  keyValueStore,
  seededRandom,
  sleep,
  string,
  topic,
} from '@tally/streams';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SimulatedConsumer } from '../broker/consumer.js';
import { simulatedError } from '../broker/errors.js';
import { SimulatedBroker } from '../index.js';
import { type Setting, holdAt, setting } from './setting.suite.js';

const payments = topic('payments', { key: string(), value: string() });
const newPayments = topic('payments', { key: string(), value: string(), startAt: 'latest' });
const totals = topic('totals', { key: string(), value: string() });
const latest = keyValueStore('latest', { key: string(), value: string() });

afterEach(() => vi.restoreAllMocks());

function keeping(source = payments) {
  const builder = new TopologyBuilder({ name: 'keeping' });
  builder.processor(builder.source(source), {
    name: 'keep',
    stores: [latest],
    process(record, context) {
      context.store(latest).put(record.key, record.value);
      context.send(totals, record.key, record.value);
    },
  });
  return builder.build();
}

/** Sends a record every few milliseconds, without any input. */
function ticking() {
  const builder = new TopologyBuilder({ name: 'ticking' });
  builder.processor(builder.source(payments), {
    name: 'tick',
    create: () => ({
      init(context) {
        context.schedule(2, 'wallClock', (_at, scope) => scope.send(totals, 'tick', String(context.partition)));
      },
      process() {},
    }),
  });
  return builder.build();
}

const pay = (test: Setting, key: string): void => test.cluster.append('payments', 0, [{ key, value: 'x' }]);
const sentKeys = (test: Setting): (string | null)[] => test.texts('totals').map(([key]) => key);
const timedOut = (): BrokerError => simulatedError('TIMED_OUT');
const members = (test: Setting): readonly unknown[] => test.cluster.group('app').describe();

/** A worker that the setting does not stop at the end. */
function looseWorker(test: Setting, options: Partial<WorkerOptions> = {}): StreamsWorker {
  const broker = new SimulatedBroker(test.cluster, { process: 'loose' });
  const parts = { topology: keeping(), broker, storeEngine: new MemoryEngine(), clock: test.clock, random: seededRandom(1) };
  return new StreamsWorker(parts, { applicationId: 'app', stateDirectory: '/loose', ...options });
}

async function runningWorker(test: Setting, worker = looseWorker(test)): Promise<StreamsWorker> {
  await test.clock.run(worker.start());
  await test.until(() => worker.health().ready && worker.health().tasks.length === 1);
  return worker;
}

describe('a seek that times out', () => {
  it('after an abort is tried again', async () => {
    const test = setting({ payments: 1, totals: 1 });
    const worker = await test.start(keeping());
    await test.until(() => worker.health().ready && worker.health().tasks.length === 1);
    test.cluster.faults.next('commitTransactionOffsets', { error: simulatedError('UNKNOWN_MEMBER_ID') });
    const seek = vi.spyOn(SimulatedConsumer.prototype, 'seek').mockRejectedValueOnce(timedOut()).mockRejectedValueOnce(timedOut());
    pay(test, 'a');
    await test.clock.advance(10_000);
    expect(seek).toHaveBeenCalledTimes(3);
    expect(worker.health().counters.transactionsAborted).toBe(1);
    expect(sentKeys(test)).toEqual(['a']);
  });

  it('while a task is opened leaves nothing of it in an epoch that commits already', async () => {
    const test = setting({ payments: 1, totals: 1 });
    pay(test, 'old');
    const hold = holdAt('frozen');
    vi.spyOn(SimulatedConsumer.prototype, 'seek').mockImplementationOnce(async () => {
      await sleep(test.clock, 100);
      throw timedOut();
    });
    const worker = await test.start(keeping(newPayments), { commitIntervalMs: 0 }, hold.hooks);
    await test.clock.advance(120);
    hold.letGo();
    await test.until(() => worker.health().ready && worker.health().tasks.length === 1);
    pay(test, 'new');
    await test.clock.advance(5_000);
    expect(worker.health().error).toBeUndefined();
    expect(sentKeys(test)).toEqual(['new']);
  });
});

describe('a task that is being given away', () => {
  it('brings nothing into later epochs with at-most-once either', async () => {
    const test = setting({ payments: 4, totals: 1 });
    let isRevoked = false;
    const options = { guarantee: 'at-most-once', commitIntervalMs: 0 } as const;
    const first = await test.start(ticking(), options, {
      revoked: () => {
        isRevoked = true;
      },
      commitPoint: (point) => (isRevoked && point === 'beforeOffsets' ? sleep(test.clock, 20) : undefined),
    });
    await test.until(() => first.health().ready && first.health().tasks.length === 4);
    const second = await test.start(ticking(), options);
    await test.until(() => second.health().ready && second.health().tasks.length === 2);
    await test.clock.advance(1_000);
    expect(isRevoked).toBe(true);
    expect(first.health().counters.transactionsAborted).toBe(0);
  });

  it('brings nothing into the last epoch of a worker that stops', async () => {
    const test = setting({ payments: 1, totals: 1 });
    const hold = holdAt('afterCommit');
    let isHeld = false;
    const hooks: Hooks = { commitPoint: (point, epoch) => (isHeld ? hold.hooks.commitPoint?.(point, epoch) : undefined) };
    const worker = await test.start(keeping(), { stateFlushIntervalMs: 3_600_000 }, hooks);
    await test.until(() => worker.health().ready && worker.health().tasks.length === 1);
    pay(test, 'a');
    await test.until(() => worker.health().counters.records === 1);
    isHeld = true;
    pay(test, 'b');
    await test.until(() => hold.reached());
    const stopped = worker.stop();
    // The group forgets the member while the stop waits for the commit.
    test.cluster.faults.next('heartbeat', { error: simulatedError('UNKNOWN_MEMBER_ID') });
    await test.until(() => test.log.some((line) => line.startsWith('Partitions were lost')));
    hold.letGo();
    await test.clock.run(stopped);
    expect(worker.health().counters.transactionsAborted).toBe(0);
    expect(sentKeys(test)).toEqual(['a', 'b']);
  });
});

describe('topics that run through the same nodes', () => {
  const refunds = topic('refunds', { key: string(), value: string() });

  function merging() {
    const builder = new TopologyBuilder({ name: 'merging' });
    builder.processor(builder.source([payments, refunds]), {
      name: 'pass',
      process: ({ key, value }, context) => context.send(totals, key, value),
    });
    return builder.build();
  }

  it('are refused with unequal numbers of partitions: a task could have its inputs on two workers', async () => {
    const test = setting({ payments: 2, refunds: 4, totals: 1 });
    const worker = test.worker(merging());
    await expect(test.clock.run(worker.start())).rejects.toThrow(/'payments' has 2, 'refunds' has 4/);
  });

  it('may have one partition: the assignor gives number 0 of all topics to the same member', async () => {
    const test = setting({ payments: 1, refunds: 4, totals: 1 });
    const workers = [await test.start(merging()), await test.start(merging())];
    const tasks = (): number =>
      workers.reduce((sum, worker) => sum + worker.health().tasks.filter(({ phase }) => phase === 'running').length, 0);
    await test.clock.advance(20_000);
    await test.until(() => tasks() === 4);
    pay(test, 'p');
    for (let partition = 0; partition < 4; partition++) test.cluster.append('refunds', partition, [{ key: `r${partition}`, value: 'x' }]);
    await test.clock.advance(5_000);
    expect(sentKeys(test).sort()).toEqual(['p', 'r0', 'r1', 'r2', 'r3']);
  });
});

describe('a worker', () => {
  it('leaves the group also when its stop fails, and says so', async () => {
    const test = setting({ payments: 1, totals: 1 });
    const worker = await runningWorker(test);
    test.cluster.faults.next('commitTransactionOffsets', { error: simulatedError('UNKNOWN_MEMBER_ID') }, 9);
    vi.spyOn(SimulatedConsumer.prototype, 'seek').mockRejectedValue(timedOut());
    pay(test, 'a');
    await test.until(() => worker.health().open.records === 1);
    await expect(test.clock.run(worker.stop())).rejects.toThrow(/No answer came in time/);
    await expect(worker.finished).rejects.toThrow(/No answer came in time/);
    expect(worker.health().phase).toBe('failed');
    expect(members(test)).toEqual([]);
  });

  it('whose subscription fails at the start leaves its producer and its slot', async () => {
    const test = setting({ payments: 1, totals: 1 });
    const worker = looseWorker(test);
    const producerClosed = vi.spyOn(
      (await import('../broker/transactional-producer.js')).SimulatedTransactionalProducer.prototype,
      'close',
    );
    vi.spyOn(SimulatedConsumer.prototype, 'subscribe').mockRejectedValueOnce(timedOut());
    await expect(test.clock.run(worker.start())).rejects.toThrow(/No answer came in time/);
    expect(producerClosed).toHaveBeenCalled();
    const next = await runningWorker(test);
    await test.clock.run(next.stop());
  });
});
