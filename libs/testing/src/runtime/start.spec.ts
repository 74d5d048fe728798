import { MemoryEngine, type Serde, type StreamsWorker, TopologyBuilder, int32, int64, keyValueStore, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { SimulatedBroker } from '../index.js';
import { type Setting, setting } from './setting.suite.js';

const payments = topic('payments', { key: string(), value: string() });
const refunds = topic('refunds', { key: string(), value: string() });
const totals = topic('totals', { key: string(), value: string() });

interface Shape {
  readonly version?: number;
  readonly sources?: readonly [typeof payments, ...(typeof payments)[]];
  readonly storeVersion?: number;
  readonly storeValue?: Serde<bigint> | Serde<number>;
  readonly subTopology?: string;
}

/** Counts records per key in a store `count`, and sends each new count. */
function counting({ version = 1, sources = [payments], storeVersion = 1, storeValue = int64(), subTopology }: Shape = {}) {
  const builder = new TopologyBuilder({ name: 'counting', version });
  const store = keyValueStore('count', { key: string(), value: storeValue as Serde<unknown>, version: storeVersion });
  builder.processor(builder.source(sources, subTopology === undefined ? {} : { subTopology }), {
    name: 'count',
    stores: [store],
    process(record, context) {
      const counts = context.store(store);
      const next = Number(counts.get(record.key) ?? 0) + 1;
      counts.put(record.key, storeValue.name === 'int32' ? next : BigInt(next));
      context.send(totals, record.key, String(next));
    },
  });
  return builder.build();
}

const pay = (test: Setting, count: number, name = 'payments', partition = 0): void =>
  test.cluster.append(
    name,
    partition,
    Array.from({ length: count }, () => ({ key: 'k', value: 'x' })),
  );

/** Processes some records and stops. */
async function history(test: Setting, count = 3, shape?: Shape): Promise<void> {
  pay(test, count);
  const worker = await test.start(counting(shape));
  await test.until(() => worker.health().counters.records === count);
  await test.stop(worker);
}

/** Starts a worker that must refuse, and returns its error. */
async function refusal(
  test: Setting,
  topology = counting(),
  engine = test.engine,
): Promise<{ code?: string; message: string } | undefined> {
  const worker = test.worker(topology, {}, {}, engine);
  const failed = worker.start().then(() => worker.finished);
  return test.clock.run(
    failed.then(
      () => undefined,
      (error: { code?: string; message: string }) => error,
    ),
  );
}

const lastTotal = (test: Setting): string | null | undefined => test.texts('totals').at(-1)?.[1];

describe('where a task continues', () => {
  it('after a stop: at the committed offset, with its state, and without replaying the changelog', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await history(test);
    pay(test, 1);
    const worker = await test.start(counting());
    await test.until(() => worker.health().counters.records === 1);
    expect(lastTotal(test)).toBe('4');
    expect(worker.health().counters.recordsRestored).toBeLessThanOrEqual(2);
  });

  it('on a new disk: the changelog is replayed', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await history(test);
    pay(test, 1);
    const worker = await test.start(counting(), {}, {}, new MemoryEngine());
    await test.until(() => worker.health().counters.records === 1);
    expect(lastTotal(test)).toBe('4');
    expect(worker.health().counters.recordsRestored).toBeGreaterThan(0);
  });

  it('offsets that expired while state remains are refused, with the local disk and without it', async () => {
    for (const keepsDisk of [true, false]) {
      const test = setting({ payments: 1, totals: 1 });
      await history(test);
      test.cluster.expireOffsets('app');
      pay(test, 1);
      const error = await refusal(test, counting(), keepsDisk ? test.engine : new MemoryEngine());
      expect(error?.code).toBe('OFFSETS_EXPIRED');
      expect(error?.message).toMatch(/'count'.*payments-0.*no committed offset.*count its records twice/);
      expect(test.texts('totals')).toHaveLength(3);
    }
  });

  it('an input topic added to an existing topology is accepted and read from its beginning', async () => {
    const test = setting({ payments: 1, refunds: 1, totals: 1 });
    await history(test, 3, { subTopology: 'counting' });
    pay(test, 2, 'refunds');
    const worker = await test.start(counting({ sources: [payments, refunds], subTopology: 'counting', version: 2 }));
    await test.until(() => worker.health().counters.records === 2);
    expect(lastTotal(test)).toBe('5');
  });

  it('a changelog that was deleted under committed offsets is refused: the state is gone, not new', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await history(test);
    test.cluster.deleteTopic('app-count-changelog');
    const error = await refusal(test);
    expect(error?.code).toBe('STATE_LOST');
    expect(error?.message).toMatch(/payments-0 has been processed up to offset 3 with store 'count'/);
  });

  it('records that retention deleted before they were processed are not skipped silently', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await history(test);
    pay(test, 5);
    await test.clock.run(deleteBefore(test, 6));
    const error = await refusal(test);
    expect(error?.code).toBe('OFFSET_OUT_OF_RANGE');
    expect(error?.message).toMatch(/continued at offset 3, but records 3 to 5 were deleted/);
  });

  it('markers behind the last record are passed, so that retention may delete them', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await writeInTransaction(test, 3);
    const { offset: end } = (await test.clock.run(admin(test).listOffsets([{ topic: 'payments', partition: 0 }], 'highWatermark')))[0] ?? {
      offset: 0,
    };
    expect(end).toBe(4);
    const worker = await test.start(counting(), { stateFlushIntervalMs: 100 });
    await test.until(() => test.cluster.committedOffset('app', { topic: 'payments', partition: 0 }).offset === end);
    await test.stop(worker);
    await test.clock.run(deleteBefore(test, end));
    pay(test, 1);
    const second = await test.start(counting());
    await test.until(() => second.health().counters.records === 1);
    expect(lastTotal(test)).toBe('4');
  });

  it('a topic that was created again is refused', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await history(test);
    test.cluster.deleteTopic('payments');
    test.cluster.createTopic('payments', 1);
    pay(test, 9);
    // Deleting a topic removes its committed offsets as well; the owner of the state still says that it was read.
    expect((await refusal(test))?.code).toMatch(/TOPIC_RECREATED|OFFSETS_EXPIRED/);
    expect(test.texts('totals')).toHaveLength(3);
  });
});

describe('a task that reads several topics', () => {
  it('has its worker stopped when one of them is deleted: it would not be opened any more, and nobody would be told', async () => {
    const test = setting({ payments: 1, refunds: 1, totals: 1 });
    const worker = await test.start(counting({ sources: [payments, refunds] }));
    pay(test, 3);
    await test.until(() => worker.health().counters.records === 3);
    test.cluster.deleteTopic('refunds');
    await test.until(() => worker.health().phase === 'failed');
    expect(worker.health().error).toMatchObject({ code: 'TOPIC_RECREATED', message: expect.stringMatching(/'refunds' was deleted/) });
  });
});

const admin = (test: Setting) => new SimulatedBroker(test.cluster, { process: 'admin' }).admin;

async function deleteBefore(test: Setting, offset: number): Promise<void> {
  await admin(test).deleteRecords([{ topic: 'payments', partition: 0, offset }]);
}

async function writeInTransaction(test: Setting, count: number): Promise<void> {
  const broker = new SimulatedBroker(test.cluster, { process: 'writer' });
  const producer = broker.createTransactionalProducer({ transactionalId: 'writer', transactionTimeoutMs: 10_000, clientId: 'writer' });
  await test.clock.run(producer.init());
  await test.clock.run(producer.begin());
  for (let index = 0; index < count; index++) producer.produce('payments', 0, Buffer.from('k'), Buffer.from('x'), 1 + index, []);
  await test.clock.run(producer.commit());
  await test.clock.advance(1_000);
}

describe('what does not fit is refused at start, by name', () => {
  it('a missing source, sink or dead-letter topic', async () => {
    const missingSource = setting({ totals: 1 });
    expect((await refusal(missingSource))?.message).toMatch(/Topic 'payments' is read from and does not exist/);
    const test = setting({ payments: 1, totals: 1 });
    const worker = test.worker(counting(), { errors: { processing: { action: 'deadLetter', topic: 'dead' } } });
    await expect(test.clock.run(worker.start())).rejects.toThrow(/Topic 'dead' is written to and does not exist/);
  });

  it('another number of partitions than declared, or than the changelog has', async () => {
    const test = setting({ payments: 2, totals: 1 });
    const declared = topic('payments', { key: string(), value: string(), partitions: 3 });
    expect((await refusal(test, counting({ sources: [declared] })))?.message).toMatch(/has 2 partitions, but it is declared with 3/);
    await history(test);
    test.cluster.addPartitions('payments', 4);
    expect((await refusal(test))?.message).toMatch(/'app-count-changelog' .* has 2 partitions, but its sources have 4/);
  });

  it('a topology of a newer version', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await history(test, 3, { version: 5 });
    const error = await refusal(test, counting({ version: 4 }));
    expect(error?.code).toBe('TOPOLOGY_NEWER');
    expect(error?.message).toMatch(/version 5 of topology 'counting'; this is version 4/);
  });

  it('a store with other serdes under the same version, or of a newer version', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await history(test, 3, { storeVersion: 2 });
    expect((await refusal(test, counting({ storeValue: int32(), storeVersion: 2 })))?.message).toMatch(
      /Store 'count' holds values written by 'int64'; now it is declared with 'int32'/,
    );
    expect((await refusal(test, counting({ storeVersion: 1 })))?.message).toMatch(
      /Store 'count' holds values of version 2; this application knows up to 1/,
    );
  });

  it('a store that another sub-topology owns', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await history(test);
    const error = await refusal(test, counting({ subTopology: 'renamed' }));
    expect(error?.code).toBe('STORE_OWNER_CHANGED');
    expect(error?.message).toMatch(/belongs to sub-topology 'payments', and now 'renamed' declares it/);
  });

  it('a state directory whose slots are all locked', async () => {
    const test = setting({ payments: 1, totals: 1 });
    await test.start(counting(), { slotsMax: 1 });
    const second = test.worker(counting(), { slotsMax: 1, lockTimeoutMs: 1_000 });
    await expect(test.clock.run(second.start())).rejects.toThrow(/slots of the state directory '\/state\/app' are locked/);
  });

  it('wrong options, each by its name', () => {
    const test = setting({ payments: 1 });
    expect(() => test.worker(counting(), { applicationId: 'a b' })).toThrow(/'applicationId'/);
    expect(() => test.worker(counting(), { stateDirectory: '' })).toThrow(/'stateDirectory'/);
    expect(() => test.worker(counting(), { guarantee: 'exactly' as never })).toThrow(/'guarantee' must be one of exactly-once/);
    expect(() => test.worker(counting(), { commitIntervalMs: 6_000 })).toThrow(
      /'commitIntervalMs' must be at most half of transactionTimeoutMs/,
    );
    expect(() => test.worker(counting(), { recordsPerConsume: 0.5 })).toThrow(/'recordsPerConsume'/);
  });
});

describe('a cluster that does not answer at first', () => {
  it('is asked again until it does', async () => {
    const test = setting({ payments: 1, totals: 1 });
    test.cluster.faults.next('describeTopics', { lose: 'request' }, 2);
    pay(test, 3);
    const worker = await test.start(counting());
    await test.until(() => worker.health().counters.records === 3);
    expect(test.cluster.faults.fired).toHaveLength(2);
  });

  it.each([20_000, 3_000])('is named when it does not answer within a bound of %d ms', async (brokerTimeoutMs) => {
    const test = setting({ payments: 1, totals: 1 });
    test.cluster.stop();
    const startedMs = test.clock.monotonicMs();
    const worker = test.worker(counting(), { brokerTimeoutMs });
    await expect(test.clock.run(worker.start())).rejects.toThrow(
      /No broker at simulated cluster .* has answered for \d+ ms.*option 'brokers'/,
    );
    const waitedMs = test.clock.monotonicMs() - startedMs;
    expect(waitedMs).toBeGreaterThanOrEqual(brokerTimeoutMs);
    expect(waitedMs).toBeLessThan(brokerTimeoutMs + 500);
    test.cluster.start();
  });
});

describe('a worker whose predecessor still holds its slot', () => {
  /** Processes records and stops; what is returned starts like it. Of an application of its own, for a process remembers its slots. */
  async function predecessor(test: Setting, applicationId: string) {
    const worker = (lockTimeoutMs: number) => test.worker(counting(), { applicationId, lockTimeoutMs });
    pay(test, 3);
    const first = worker(0);
    await test.clock.run(first.start());
    await test.until(() => first.health().counters.records === 3);
    await test.stop(first);
    const lock = await test.engine.open(`/state/${applicationId}/0/slot`);
    return { lock, worker, slot: () => slotOf(test, applicationId) };
  }

  /** By the client id of the group's member. */
  async function slotOf(test: Setting, applicationId: string): Promise<string | undefined> {
    const [member] = await test.clock.run(admin(test).describeGroup(applicationId));
    return member?.clientId.slice(member.clientId.lastIndexOf('-') + 1);
  }

  const isReady = (worker: StreamsWorker): boolean => worker.health().ready && worker.health().tasks.length === 1;

  it('waits for it, and has its state and its identity', async () => {
    const test = setting({ payments: 1, totals: 1 });
    const { lock, worker, slot } = await predecessor(test, 'heir');
    const heir = worker(10_000);
    const starting = heir.start();
    await test.clock.advance(3_000);
    expect(heir.health().phase).toBe('starting');
    expect(test.log.filter((line) => /Slots of '\/state\/heir' are locked \(0\)/.test(line))).toHaveLength(1);
    await lock.close();
    await test.clock.run(starting);
    await test.until(() => isReady(heir));
    expect(await slot()).toBe('0');
    expect(heir.health().counters.recordsRestored).toBe(0);
  });

  it('takes one that nobody has used when the bound has passed, and that one at once the next time', async () => {
    const test = setting({ payments: 1, totals: 1 });
    const { lock, worker, slot } = await predecessor(test, 'patient');
    for (const waitsMs of [5_000, 0]) {
      const startedMs = test.clock.monotonicMs();
      const heir = worker(5_000);
      await test.clock.run(heir.start());
      const waitedMs = test.clock.monotonicMs() - startedMs;
      expect(waitedMs).toBeGreaterThanOrEqual(waitsMs);
      expect(waitedMs).toBeLessThan(waitsMs + 1_000);
      await test.until(() => isReady(heir));
      expect(await slot()).toBe('1');
      await test.stop(heir);
    }
    await lock.close();
  });
});

describe('several workers on one state directory', () => {
  it('take slots of their own and share the partitions', async () => {
    const test = setting({ payments: 4, totals: 1 });
    for (let partition = 0; partition < 4; partition++) pay(test, 5, 'payments', partition);
    const first = await test.start(counting());
    const second = await test.start(counting());
    await test.until(
      () => first.health().tasks.length === 2 && second.health().tasks.length === 2 && second.health().ready && first.health().ready,
    );
    for (let partition = 0; partition < 4; partition++) pay(test, 5, 'payments', partition);
    await test.until(() => first.health().counters.records + second.health().counters.records === 40);
    expect(test.texts('totals').filter(([, value]) => value === '10')).toHaveLength(4);
  });
});
