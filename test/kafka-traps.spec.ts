/** Traps of the native client that its port hides, shown on a real broker. docs/traps.md lists them with their tests. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import Kafka from '@confluentinc/kafka-javascript';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { BrokerError, TopicPartition } from '@tally/streams';
import { createKafkaBroker } from '@tally/kafka';
import { bytes, expectKind, failureOf, range, scenario, texts } from '../libs/testing/src/broker-suite/scenario.suite.js';
import { adminCall, createKafkaSetting, kafkaAddresses } from './kafka-setting.js';

const create = () => createKafkaSetting();
const value = (text: string) => ({ value: bytes(text) });

beforeAll(() => void kafkaAddresses());

describe('traps of consuming', () => {
  it(
    'waits for the first record only, not for each',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      await scene.write(topic, [value('one'), value('two'), value('three')]);
      const member = await scene.member([topic]);
      await member.holds(1, { paused: true });
      await member.consumer.resume(range(topic, 1));
      // Waiting for each of the 1,000 would end the test by its time-out.
      const records = await member.consumer.consume(1_000, 100_000);
      expect(records.length).toBeGreaterThan(0);
    }),
  );

  it(
    'refuses a second consume and every other call beside a consume',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const { consumer, ...member } = await scene.member([topic]);
      const consuming = consumer.consume(1, 500);
      const at = [{ topic, partition: 0, offset: 0 }];
      for (const call of [
        () => consumer.consume(1, 1),
        () => consumer.pause(at),
        () => consumer.resume(at),
        () => consumer.seek(at),
        () => consumer.unassign(at),
        () => consumer.assign(at, { paused: false }),
      ]) {
        await expect(call()).rejects.toThrow(/invariant/i);
      }
      expect(await consuming).toEqual([]);
      expect(member.clientId).toBeTruthy();
    }),
  );

  it(
    'is replaced by a new member when it brings nothing although there are records, which counts as a loss',
    { timeout: 120_000 },
    scenario(create, async (scene) => {
      const topic = await scene.topic(2);
      await scene.write(topic, [value('one')]);
      const spy = vi.spyOn(Kafka.KafkaConsumer.prototype, 'consume');
      try {
        const member = await scene.member([topic]);
        await member.holds(2, { paused: true });
        await member.consumer.resume(range(topic, 2));
        // It stays in the group, and fetches nothing, whatever it is told.
        const stuck = spy.mock.contexts.at(-1) as Kafka.KafkaConsumer;
        stuck.pause(range(topic, 2));
        vi.spyOn(stuck, 'resume').mockImplementation(() => stuck);
        const untilMs = performance.now() + 90_000;
        while (!member.history.some((line) => line.startsWith('lost')) && performance.now() < untilMs) await member.consume();
        // As long as not all of it was let go there is no new member.
        for (let turns = 0; turns < 10; turns++) expect(await member.consume()).toEqual([]);
        expect(member.consumer.position({ topic, partition: 0 })).toBe(0);
        await member.answer();
        expect(member.consumer.position({ topic, partition: 0 })).toBeUndefined();
        while (member.records.length === 0 && performance.now() < untilMs) await member.turn();
        expect(texts(member.records)).toEqual(['one']);
        const both = [`${topic}/0`, `${topic}/1`].join(' ');
        expect(member.history).toEqual([`assigned ${both}`, `lost ${both}`, `assigned ${both}`]);
        expect(member.failures).toEqual([]);
        expect(spy.mock.contexts.at(-1)).not.toBe(stuck);
        await scene.until('the old member has left', async () => {
          await member.turn();
          return (await scene.broker.admin.describeGroup(scene.id)).length === 1;
        });
      } finally {
        spy.mockRestore();
      }
    }),
  );

  it(
    'counts an end that it has missed, when it has waited for records which do not come',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      await scene.write(topic, [value('one')]);
      await scene.settledEnds(topic);
      // As an error does that a consume meets behind it.
      // eslint-disable-next-line typescript/unbound-method -- called with the client that it belongs to
      const emit = Kafka.KafkaConsumer.prototype.emit as (...words: unknown[]) => boolean;
      let missed = 0;
      const spy = vi.spyOn(Kafka.KafkaConsumer.prototype, 'emit').mockImplementation(function (this: unknown, ...words: unknown[]) {
        return words[0] === 'partition.eof' && missed++ === 0 ? true : Reflect.apply(emit, this, words);
      });
      const now = performance.now.bind(performance);
      let aheadMs = 0;
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
      try {
        const member = await scene.member([topic]);
        await member.holds(1);
        await member.receives(1);
        await scene.until('the end is missed', async () => {
          await member.consume();
          return missed > 0;
        });
        for (let checks = 0; checks < 3; checks++) {
          expect(member.consumer.position({ topic, partition: 0 })).toBe(1);
          aheadMs += 10_001;
          for (let turns = 0; turns < 10; turns++) await member.consume();
        }
        await scene.until('the end is counted', async () => {
          await member.consume();
          return member.consumer.position({ topic, partition: 0 }) === 2;
        });
        expect(member.records).toEqual([]);
        expect(member.history).toEqual([`assigned ${topic}/0`]);
      } finally {
        spy.mockRestore();
        clock.mockRestore();
      }
    }),
  );

  it(
    'wakes the fetchers when paused partitions are resumed',
    scenario(create, async (scene) => {
      const topic = await scene.topic(2);
      await scene.write(topic, [value('one')]);
      const woken = vi.spyOn(Kafka.KafkaConsumer.prototype, 'queryWatermarkOffsets');
      const member = await scene.member([topic]);
      await member.holds(2, { paused: true });
      expect(woken).not.toHaveBeenCalled();
      await member.consumer.resume(range(topic, 2));
      expect(woken).toHaveBeenCalledWith(topic, 0, expect.any(Number), expect.any(Function));
      expect(texts(await member.receives(1))).toEqual(['one']);
      woken.mockRestore();
    }),
  );

  it(
    'refuses offsets of another type than number when assigning',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const member = await scene.member([topic]);
      await scene.until('it is assigned', async () => {
        await member.consume();
        return member.asked.length > 0;
      });
      for (const offset of [3n, '3', null, -2]) {
        expectKind(
          await failureOf(member.consumer.assign([{ topic, partition: 0, offset: offset as number }], { paused: true })),
          'invalid',
        );
      }
      await member.answer();
    }),
  );

  it(
    'names the partition whose offset lies outside of its log',
    scenario(create, async (scene) => {
      const topic = await scene.topic(2);
      await scene.write(topic, [value('one')]);
      const member = await scene.member([topic]);
      await scene.until('it is assigned', async () => {
        await member.consume();
        return member.asked.length > 0;
      });
      await member.answer({ offset: 100 });
      await scene.until('the consumer reports it', async () => {
        await member.consume();
        return member.failures.length >= 2;
      });
      expect(member.failures.map(({ code, kind, place }) => [code, kind, place.topic, place.partition, place.offset]).sort()).toEqual([
        ['OFFSET_OUT_OF_RANGE', 'invalid', topic, 0, 100],
        ['OFFSET_OUT_OF_RANGE', 'invalid', topic, 1, 100],
      ]);
    }),
  );

  it(
    'reports an offset outside of the log to a restore',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      await scene.write(topic, [value('one'), value('two'), value('three')]);
      await scene.settledEnds(topic);
      await scene.broker.admin.deleteRecords([{ topic, partition: 0, offset: 2 }]);
      const reader = await scene.reader();
      await reader.assign([{ topic, partition: 0, offset: 0 }]);
      let error: BrokerError | undefined;
      await scene.until('the reader fails', async () => {
        error = await reader.read(10, 25).then(
          () => undefined,
          (thrown: BrokerError) => thrown,
        );
        return error !== undefined;
      });
      expect(error).toMatchObject({ code: 'OFFSET_OUT_OF_RANGE', kind: 'invalid' });
    }),
  );

  it(
    'hears of partitions that were added, and writes to them',
    scenario(create, async (scene) => {
      const topic = await scene.topic(1);
      const member = await scene.member([topic]);
      await member.holds(1);
      const producer = await scene.producer();
      await scene.write(topic, [value('old')], producer);
      await adminCall((admin, callback) => admin.createPartitions(topic, 2, callback));
      await member.holds(2);
      await producer.begin();
      await scene.until('the producer knows the new partition', () => producer.produce(topic, 1, null, bytes('new'), 1, []));
      await producer.commit();
      expect(texts(await member.receives(2)).sort()).toEqual(['new', 'old']);
    }),
  );

  it(
    'revokes the partitions of a topic that was deleted',
    scenario(create, async (scene) => {
      const [kept, deleted] = [await scene.topic(), await scene.topic()];
      const member = await scene.member([kept, deleted]);
      await member.holds(2);
      await scene.deleteTopic(deleted);
      await member.holds(1);
      expect([...member.held]).toEqual([`${kept}/0`]);
      await scene.write(kept, [value('goes on')]);
      expect(texts(await member.receives(1))).toEqual(['goes on']);
    }),
  );

  it(
    'stores committed offsets before it says so, without blocking the process',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const member = await scene.member([topic]);
      await member.holds(1);
      const synchronous = vi.spyOn(Kafka.KafkaConsumer.prototype, 'commitSync');
      for (let offset = 1; offset <= 20; offset++) {
        await member.consumer.commitOffsets([{ topic, partition: 0, offset, metadata: '' }]);
        expect(await scene.broker.admin.stableOffsets(scene.id, range(topic, 1))).toMatchObject([{ offset }]);
      }
      const beside = member.consumer.consume(10, 200);
      await member.consumer.commitOffsets([{ topic, partition: 0, offset: 99, metadata: '' }]);
      expect(await scene.broker.admin.stableOffsets(scene.id, range(topic, 1))).toMatchObject([{ offset: 99 }]);
      await beside;
      expect(synchronous).not.toHaveBeenCalled();
      synchronous.mockRestore();
    }),
  );
});

describe('traps of connecting and closing', () => {
  it('says clearly that a cluster cannot be reached', async () => {
    const broker = createKafkaBroker({ brokers: '127.0.0.1:9', requestTimeoutMs: 500 });
    const error = await failureOf(broker.connect());
    expect(error).toMatchObject({ code: 'BROKER_UNREACHABLE', kind: 'retriable', place: { option: 'brokers' } });
    expect(error.message).toMatch(/127\.0\.0\.1:9 .*within 500 ms.*`brokers`/);
    expect((await failureOf(broker.connect(200))).message).toContain('within 200 ms');
    const producer = broker.createTransactionalProducer({ transactionalId: 'nowhere', transactionTimeoutMs: 10_000, clientId: 'nowhere' });
    for (let attempt = 0; attempt < 2; attempt++) expectKind(await failureOf(producer.init()), 'retriable');
    await producer.close();
    const reader = broker.createReader();
    expectKind(await failureOf(reader.connect()), 'retriable');
    await reader.close();
    const consumer = broker.createConsumer({
      groupId: 'nowhere',
      clientId: 'nowhere',
      listener: { assigned() {}, revoked() {}, lost() {}, failed() {} },
    });
    expectKind(await failureOf(consumer.subscribe(['nowhere'])), 'retriable');
    await consumer.close();
    await broker.close();
  });

  it(
    'takes a rebalance that arrives when the consumer has closed',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const connecting = vi.spyOn(Kafka.KafkaConsumer.prototype, 'connect');
      const member = await scene.member([topic]);
      const client = connecting.mock.contexts[0] as { globalConfig: { rebalance_cb: (event: object, partitions: object[]) => void } };
      connecting.mockRestore();
      await member.holds(1);
      const { history } = member;
      const before = [...history];
      await member.close();
      const codes = [Kafka.CODES.ERRORS.ERR__REVOKE_PARTITIONS, Kafka.CODES.ERRORS.ERR__ASSIGN_PARTITIONS];
      // An event of the client's own thread may still wait for this one. Asked whether the partitions were lost the client would crash.
      for (const code of codes) client.globalConfig.rebalance_cb({ code, message: 'late' }, range(topic, 1));
      expect(history).toEqual(before);
    }),
  );

  it('lets the process end at once when everything is closed', async () => {
    const runner = fileURLToPath(new URL('run-typescript.mjs', import.meta.url));
    const fixture = fileURLToPath(new URL('kafka-exit.fixture.ts', import.meta.url));
    const child = spawn(process.execPath, [runner, fixture], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, KAFKA_BROKERS: kafkaAddresses() },
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
    expect([code, output.trim()]).toEqual([0, 'closed']);
  });
});

describe('traps of the admin client', () => {
  it(
    'refuses to delete records of a compacted topic, naming the partition',
    scenario(create, async (scene) => {
      const topic = await scene.topic(1, { 'cleanup.policy': 'compact' });
      await scene.write(topic, [{ key: bytes('k') }]);
      const error = await failureOf(scene.broker.admin.deleteRecords([{ topic, partition: 0, offset: 1 }]));
      expectKind(error, 'invalid');
      expect(error.message).toContain(`${topic}-0`);
    }),
  );

  it(
    'asks another client for committed offsets when one has not answered for long',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      // eslint-disable-next-line typescript/unbound-method -- called with the client that it belongs to
      const committed = Kafka.KafkaConsumer.prototype.committed;
      const clients = new Set<unknown>();
      const spy = vi.spyOn(Kafka.KafkaConsumer.prototype, 'committed').mockImplementation(function (this: unknown, ...words: unknown[]) {
        clients.add(this);
        const callback = words[2] as (error: unknown) => void;
        if (clients.size === 1) setTimeout(() => callback({ code: -185, message: 'Local: Timed out' }), 1);
        else Reflect.apply(committed, this, words);
        return this as Kafka.KafkaConsumer;
      });
      const now = performance.now.bind(performance);
      const clock = vi.spyOn(performance, 'now');
      try {
        const ask = () => scene.broker.admin.stableOffsets(scene.id, range(topic, 1));
        const notAnswered = async () => expectKind(await failureOf(ask()), 'pending');
        // As a worker asks that opens many tasks.
        await Promise.all(Array.from({ length: 11 }, notAnswered));
        await notAnswered();
        expect(clients.size).toBe(1);
        clock.mockImplementation(() => now() + 30_000);
        // Two at once, so that one is under way when the other one gives the client up.
        expect(await Promise.all([ask(), ask()])).toMatchObject([[{ topic, offset: undefined }], [{ topic, offset: undefined }]]);
        expect(clients.size).toBe(2);
      } finally {
        spy.mockRestore();
        clock.mockRestore();
      }
    }),
  );

  it(
    'reads stable offsets of each partition, whatever another one waits for',
    scenario(create, async (scene) => {
      const topic = await scene.topic(3);
      const member = await scene.member([topic]);
      await member.holds(3);
      const producer = await scene.producer();
      const offsets = (list: readonly TopicPartition[], offset: number) => list.map((at) => ({ ...at, offset, metadata: `at ${offset}` }));
      await producer.begin();
      await producer.sendOffsets(offsets(range(topic, 3), 1), member.consumer);
      await producer.commit();
      await scene.stableOffsets(scene.id, range(topic, 3));
      await producer.begin();
      await producer.sendOffsets(offsets(range(topic, 1), 2), member.consumer);
      const error = await failureOf(scene.broker.admin.stableOffsets(scene.id, range(topic, 3)));
      expectKind(error, 'pending');
      expect(await scene.broker.admin.stableOffsets(scene.id, range(topic, 3).slice(1))).toMatchObject([
        { partition: 1, offset: 1, metadata: 'at 1' },
        { partition: 2, offset: 1, metadata: 'at 1' },
      ]);
      await producer.abort();
    }),
  );
});
