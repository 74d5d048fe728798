import {
  BrokerError,
  CorruptDataError,
  type ErrorPolicies,
  MemoryEngine,
  StreamsBuilder,
  TopologyBuilder,
  deadLetterHeaders,
  int64,
  json,
  keyValueStore,
  string,
  topic,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { setting } from './setting.suite.js';

const numbers = topic('numbers', { key: string(), value: json<{ n: number }>() });
const sums = topic('sums', { key: string(), value: string() });
const totals = keyValueStore('totals', { key: string(), value: int64() });

/** Adds up; throws at 13 after it has written and sent, so that a rollback shows. */
function sumTopology(errors?: ErrorPolicies, failures: Error[] = []) {
  const builder = new TopologyBuilder({ name: 'sum' });
  builder.processor(builder.source(numbers), {
    name: 'sum',
    stores: [totals],
    ...(errors === undefined ? {} : { errors }),
    process(record, context) {
      const store = context.store(totals);
      const sum = (store.get(record.key) ?? 0n) + BigInt(record.value.n);
      store.put(record.key, sum);
      context.send(sums, record.key, `${sum}#${context.record.attempt}`);
      if (record.value.n === 13) {
        const error = new Error('unlucky');
        failures.push(error);
        throw error;
      }
    },
  });
  return builder.build();
}

const values = (...list: readonly (number | string)[]) =>
  list.map((n) => ({ key: 'k', value: typeof n === 'string' ? n : JSON.stringify({ n }) }));

/** A disk on which stored entries cannot be read any more once `isDamaged` is set. */
class DamagedDisk extends MemoryEngine {
  isDamaged = false;

  override async open(directory: string): ReturnType<MemoryEngine['open']> {
    const database = await super.open(directory);
    const getSync = database.getSync.bind(database);
    database.getSync = (key) => {
      if (this.isDamaged && key[0] === 1) throw new CorruptDataError('STATE_CORRUPT', 'A block is damaged.');
      return getSync(key);
    };
    return database;
  }

  override async destroy(directory: string): Promise<void> {
    await super.destroy(directory);
    this.isDamaged = false;
  }
}

describe('error policies', () => {
  it('are not asked about damage of the disk, which is no fault of the record in hand', async () => {
    const test = setting({ numbers: 1, sums: 1 });
    const disk = new DamagedDisk();
    test.cluster.append('numbers', 0, values(1));
    const first = await test.start(sumTopology(), {}, {}, disk);
    await test.until(() => first.health().counters.records === 1);
    await test.stop(first);
    const worker = await test.start(sumTopology(), { errors: { processing: { action: 'skip' } } }, {}, disk);
    await test.until(() => worker.health().ready && worker.health().tasks.length === 1);
    disk.isDamaged = true;
    test.cluster.append('numbers', 0, values(2));
    await test.until(() => worker.health().counters.records > 0);
    // The task was closed, its database deleted and replayed, and the record processed on what was restored.
    expect(worker.health().counters).toMatchObject({ recordsSkipped: 0, storesRebuilt: 1 });
    expect(test.texts('sums')).toEqual([
      ['k', '1#1'],
      ['k', '3#1'],
    ]);
    expect(await worker.query(totals).get('k')).toBe(3n);
  });

  it('skip rolls the failed record back alone and goes on', async () => {
    const test = setting({ numbers: 1, sums: 1 });
    test.cluster.append('numbers', 0, values(1, 13, 2));
    const worker = await test.start(sumTopology(), { errors: { processing: { action: 'skip' } } });
    await test.until(() => worker.health().counters.records === 3);
    expect(test.texts('sums')).toEqual([
      ['k', '1#1'],
      ['k', '3#1'],
    ]);
    expect(worker.health().counters.recordsSkipped).toBe(1);
    expect(await worker.query(totals).get('k')).toBe(3n);
  });

  it.each(['skip', 'deadLetter'] as const)(
    '%s is counted by the commit that passes the record, whatever was aborted before',
    async (action) => {
      const test = setting({ numbers: 1, sums: 1, dead: 1 });
      test.cluster.append('numbers', 0, values(1, 13, 2, 13));
      const processing = action === 'skip' ? { action } : { action, topic: 'dead' };
      let aborts = 0;
      test.cluster.faults.add((request) => {
        if (request.name !== 'commitTransactionOffsets' || aborts === 3) return undefined;
        aborts++;
        return { error: new BrokerError({ code: 'STALE_MEMBER', kind: 'staleMember', message: 'Another epoch.' }) };
      });
      const outcomes: string[] = [];
      const worker = await test.start(
        sumTopology(),
        { errors: { processing } },
        { recordFailed: (_place, _error, outcome) => void outcomes.push(outcome) },
      );
      await test.until(() => worker.health().counters.records === 4);
      expect(outcomes.length, 'the record was processed again after an abort').toBeGreaterThan(2);
      expect(worker.health().counters).toMatchObject({
        transactionsAborted: 3,
        recordsSkipped: action === 'skip' ? 2 : 0,
        recordsDeadLettered: action === 'skip' ? 0 : 2,
      });
      expect(test.texts('dead')).toHaveLength(action === 'skip' ? 0 : 2);
    },
  );

  it("retry tries again with the next attempt number, bounded, and the node's policy goes before the application's", async () => {
    const test = setting({ numbers: 1, sums: 1, dead: 1 });
    test.cluster.append('numbers', 0, values(1, 13, 2));
    const failures: Error[] = [];
    const seen: [Error, string][] = [];
    const policy: ErrorPolicies = {
      processing: { action: 'retry', retriesMax: 2, backoffMs: 100, then: { action: 'deadLetter', topic: 'dead' } },
    };
    const worker = await test.start(
      sumTopology(policy, failures),
      {},
      { recordFailed: (_place, error, outcome) => void seen.push([error, outcome]) },
    );
    await test.until(() => worker.health().counters.records === 3);
    expect(failures).toHaveLength(3);
    expect(seen.map(([, outcome]) => outcome)).toEqual(['retried', 'retried', 'deadLettered']);
    expect(seen.every(([error], index) => error === failures[index])).toBe(true);
    expect(test.texts('sums')).toEqual([
      ['k', '1#1'],
      ['k', '3#1'],
    ]);
  });

  it('a dead letter has the original bytes and headers, and says where and why, in the transaction that passes the record', async () => {
    const test = setting({ numbers: 1, sums: 1, dead: 1 });
    const header = { name: 'trace', value: Buffer.from([0, 255]) };
    test.cluster.append('numbers', 0, [{ key: 'k', value: '{"n":13}', timestampMs: 5, headers: [header, header] }]);
    const worker = await test.start(sumTopology(), { errors: { processing: { action: 'deadLetter', topic: 'dead' } } });
    await test.until(() => worker.health().counters.records === 1);
    const [letter, ...more] = test.cluster.allRecords('dead');
    expect(more).toEqual([]);
    expect(Buffer.from(letter?.value ?? []).toString()).toBe('{"n":13}');
    const texts = letter?.headers.slice(2).map(({ name, value }) => [name, Buffer.from(value).toString()]);
    expect(letter?.headers.slice(0, 2).map(({ value }) => [...value])).toEqual([
      [0, 255],
      [0, 255],
    ]);
    expect(texts?.slice(0, 6)).toEqual([
      [deadLetterHeaders.topic, 'numbers'],
      [deadLetterHeaders.partition, '0'],
      [deadLetterHeaders.offset, '0'],
      [deadLetterHeaders.timestamp, '5'],
      [deadLetterHeaders.errorName, 'Error'],
      [deadLetterHeaders.errorMessage, 'unlucky'],
    ]);
    expect(texts?.[6]?.[1]).toContain('policies.spec');
    // Its own time is that of the writing: with the record's, retention might delete it at once.
    expect(letter?.timestampMs).toBeGreaterThan(Date.UTC(2026, 0, 1));
    expect(test.cluster.committedOffset('app', { topic: 'numbers', partition: 0 }).offset).toBe(1);
  });

  it('stop leaves the record uncommitted and names it', async () => {
    const test = setting({ numbers: 1, sums: 1 });
    test.cluster.append('numbers', 0, values(1, 13, 2));
    const worker = await test.start(sumTopology());
    const error = await test.clock.run(
      worker.finished.then(
        () => undefined,
        (reason: Error) => reason,
      ),
    );
    expect(error?.message).toMatch(/Record numbers-0 offset 1 failed in 'sum' .*unlucky.*'stop'/);
    expect(test.cluster.committedOffset('app', { topic: 'numbers', partition: 0 }).offset ?? 0).toBeLessThanOrEqual(1);
    expect(test.texts('sums').length).toBeLessThanOrEqual(1);
  });

  it('bytes that cannot be read meet the deserialization policy', async () => {
    const test = setting({ numbers: 1, sums: 1 });
    test.cluster.append('numbers', 0, [...values(1, 'no json'), { key: null, value: '{"n":5}' }, { key: 'k', value: null }, ...values(2)]);
    const worker = await test.start(sumTopology(), { errors: { deserialization: { action: 'skip' } } });
    await test.until(() => worker.health().counters.records === 5);
    expect(worker.health().counters.recordsSkipped).toBe(3);
    expect(test.texts('sums')).toEqual([
      ['k', '1#1'],
      ['k', '3#1'],
    ]);
  });

  it('what cannot be written meets the production policy: size, null, unknown topic', async () => {
    const test = setting({ numbers: 1, sums: 1 });
    const missing = topic('missing', { key: string(), value: string() });
    const builder = new TopologyBuilder({ name: 'bad' });
    builder.processor(builder.source(numbers), {
      name: 'bad',
      process(record, context) {
        if (record.value.n === 1) context.send(sums, record.key, 'x'.repeat(2_000_000));
        else if (record.value.n === 2) context.send(sums, record.key, null as unknown as string);
        else if (record.value.n === 3) context.send(missing, record.key, 'x');
        else context.send(sums, record.key, 'good');
      },
    });
    test.cluster.append('numbers', 0, values(1, 2, 3, 4));
    const errors: string[] = [];
    const worker = await test.start(builder.build(), {
      errors: { production: (error) => (errors.push((error as { code?: string }).code ?? ''), { action: 'skip' }) },
    });
    await test.until(() => worker.health().counters.records === 4);
    expect(errors).toEqual(['RECORD_TOO_LARGE', 'NULL_REFUSED', 'TOPIC_UNKNOWN']);
    expect(test.texts('sums')).toEqual([['k', 'good']]);
  });

  it('finds the one record whose output the broker refuses, and dead-letters it alone', async () => {
    const test = setting({ numbers: 2, dead: 2 });
    test.cluster.createTopic('sums', 1, { 'max.message.bytes': '5000' });
    const builder = new TopologyBuilder({ name: 'sizes' });
    builder.processor(builder.source(numbers), {
      name: 'sizes',
      process: (record, context) => context.send(sums, record.key, 'x'.repeat(record.value.n)),
    });
    const sizes = Array.from({ length: 300 }, (_, index) => (index === 137 ? 9_000 : index));
    test.cluster.append('numbers', 0, values(...sizes.slice(0, 200)));
    test.cluster.append('numbers', 1, values(...sizes.slice(200)));
    const worker = await test.start(builder.build(), { errors: { production: { action: 'deadLetter', topic: 'dead' } } });
    await test.until(() => worker.health().counters.records === 300);
    expect(worker.health().counters.transactionsAborted).toBeGreaterThan(2);
    expect(test.texts('dead')).toEqual([['k', '{"n":9000}']]);
    const lengths = test.texts('sums').map(([, value]) => value?.length ?? -1);
    expect(lengths.sort((left, right) => left - right)).toEqual(sizes.filter((size) => size !== 9_000).sort((left, right) => left - right));
  });
});

describe('repartitioning', () => {
  it('selectKey().groupByKey() makes an internal topic and two sub-topologies, and counts exactly', async () => {
    const test = setting({ numbers: 3, sums: 1 });
    const builder = new StreamsBuilder({ name: 'parity' });
    builder
      .stream(numbers)
      .selectKey((value) => (value.n % 2 === 0 ? 'even' : 'odd'), { key: string() })
      .groupByKey({ name: 'parity' })
      .count(totals)
      .toStream()
      .map((count) => String(count))
      .to(sums);
    const topology = builder.build();
    expect(topology.subTopologies).toHaveLength(2);
    for (let partition = 0; partition < 3; partition++) test.cluster.append('numbers', partition, values(1, 2, 3));
    const worker = await test.start(topology);
    await test.until(() => worker.health().counters.records === 18);
    expect(await worker.query(totals).get('odd')).toBe(6n);
    expect(await worker.query(totals).get('even')).toBe(3n);
    expect(test.cluster.allRecords('app-parity-repartition')).toHaveLength(9);
  });
});
