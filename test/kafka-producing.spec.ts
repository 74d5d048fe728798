/** Traps of the native producers that their port hides, shown on a real broker. docs/traps.md lists them with their tests. */
import { describe, expect, it } from 'vitest';
import { bytes, expectKind, failureOf, scenario, send, texts } from '../libs/testing/src/broker-suite/scenario.suite.js';
import { createKafkaSetting, kafkaAddresses } from './kafka-setting.js';
import { BrokerProxy } from './support/proxy.js';

const create = () => createKafkaSetting();
const value = (text: string) => ({ value: bytes(text) });

describe('traps of producing', () => {
  it(
    'refuses what the client would change silently',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const producer = await scene.producer();
      await producer.begin();
      const wrong: readonly (readonly [partition: number, key: unknown, value: unknown, timestampMs: unknown])[] = [
        ...[0, Number.NaN, null, undefined, 1.5, 2 ** 60, 1n, '7'].map((timestampMs) => [0, null, null, timestampMs] as const),
        [0, 'a string', null, 1],
        [0, null, 'a string', 1],
        [0, null, {}, 1],
        [1.5, null, null, 1],
        [-2, null, null, 1],
      ];
      for (const [partition, key, value_, timestampMs] of wrong) {
        const refused = failureOf(() =>
          producer.produce(topic, partition, key as Uint8Array, value_ as Uint8Array, timestampMs as number, []),
        );
        expectKind(await refused, 'recordRefused');
      }
      await producer.commit();
      expect(await scene.readAll(topic)).toEqual([]);
    }),
  );

  it(
    'refuses a record larger than the client takes, and loses nothing',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const producer = await scene.producer();
      await producer.begin();
      send(producer, topic, value('before'));
      const error = await failureOf(() => send(producer, topic, { value: new Uint8Array(17 * 1_048_576) }));
      expect([error.kind, error.code]).toEqual(['recordRefused', 'RECORD_TOO_LARGE']);
      send(producer, topic, value('after'));
      await producer.commit();
      expect(texts(await scene.readAll(topic))).toEqual(['before', 'after']);
    }),
  );

  it(
    'refuses a timestamp too far ahead by its partition',
    scenario(create, async (scene) => {
      const topic = await scene.topic(1, { 'message.timestamp.after.max.ms': '3600000' });
      const producer = await scene.producer();
      await producer.begin();
      send(producer, topic, { timestampMs: Date.now() + 7_200_000 });
      expectKind(await failureOf(producer.commit()), 'abortable');
      expect(producer.takeFailures()).toMatchObject([{ topic, partition: 0, error: { kind: 'recordRefused', code: 'TIMESTAMP_INVALID' } }]);
      await producer.abort();
    }),
  );

  it(
    'names the partition of a record without a key in a compacted topic',
    scenario(create, async (scene) => {
      const topic = await scene.topic(2, { 'cleanup.policy': 'compact' });
      const producer = await scene.producer();
      await producer.begin();
      for (let count = 0; count < 500; count++) send(producer, topic, { partition: 1, key: null });
      const error = await failureOf(producer.commit());
      expect([error.kind, error.code, error.place.partition]).toEqual(['abortable', 'RECORD_INVALID', 1]);
      // One failure, though each of the batch's records was reported.
      expect(producer.takeFailures()).toMatchObject([{ topic, partition: 1, error: { kind: 'recordRefused' } }]);
      await producer.abort();
      expect(producer.takeFailures()).toEqual([]);
    }),
  );

  it(
    'takes records in a transaction that has failed behind the scenes, and says so at its end',
    scenario(create, async (scene) => {
      const topic = await scene.topic(1, { 'cleanup.policy': 'compact' });
      const producer = await scene.producer();
      await producer.begin();
      send(producer, topic, { key: null });
      await scene.until('the broker has refused the record', () => producer.takeFailures().length > 0);
      send(producer, topic, { key: bytes('k') });
      expectKind(await failureOf(producer.commit()), 'abortable');
      await producer.abort();
      expect(await scene.readAll(topic)).toEqual([]);
    }),
  );

  it(
    'does not take what an abort drops for refused records',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const producer = await scene.producer();
      await producer.begin();
      for (let count = 0; count < 5_000; count++) send(producer, topic, { value: new Uint8Array(500) });
      await producer.abort();
      expect(producer.takeFailures()).toEqual([]);
    }),
  );

  it('loses no record behind an aborted transaction of which the answers were lost', async () => {
    const proxy = await BrokerProxy.start(kafkaAddresses());
    const through = () => createKafkaSetting({ brokers: proxy.address, consumer: {}, producer: { 'socket.timeout.ms': 6_000 } });
    try {
      await scenario(through, async (scene) => {
        const topic = await scene.topic();
        const member = await scene.member([topic]);
        await member.holds(1);
        const producer = await scene.producer(`${scene.id}-answers`, 60_000);
        const texts_ = (name: string): string[] => Array.from({ length: 100 }, (_, index) => `${name} ${index}`);
        await producer.begin();
        // What follows on the connection reaches the broker too, and is not answered either.
        const fault = proxy.lose({ api: 'txnOffsetCommit', lose: 'answer', mode: 'silent' });
        const offsets = failureOf(producer.sendOffsets([{ topic, partition: 0, offset: 0, metadata: '' }], member.consumer));
        await fault.firing;
        // The request with the offsets times out first, which makes the client drop the records that it would have sent again.
        await scene.setting.sleep(1_000);
        for (const text of texts_('aborted')) send(producer, topic, value(text));
        await offsets;
        await producer.abort();
        fault.heal();
        // As many again: to the broker they would be the same once more, were they numbered like those that it has.
        await producer.begin();
        for (const text of texts_('committed')) send(producer, topic, value(text));
        await producer.commit();
        expect(fault.fired).toBe(1);
        expect(texts(await scene.readAll(topic))).toEqual(texts_('committed'));
      })();
    } finally {
      await proxy.close();
    }
  });

  it('says that its queue is full, and takes records again later', async () => {
    const setting = await createKafkaSetting({ producer: { 'queue.buffering.max.messages': 10 } });
    const { broker } = setting;
    const topic = `full-queue-${process.pid}-${Date.now()}`;
    await broker.admin.createTopic({ name: topic, partitions: 1, replicationFactor: -1, config: {} });
    const producer = broker.createOutputProducer();
    await producer.connect();
    let accepted = 0;
    while (producer.produce(topic, 0, null, bytes(`${accepted}`), 1, [])) accepted++;
    expect(accepted).toBe(10);
    await producer.flush(10_000);
    expect(producer.produce(topic, 0, null, bytes('again'), 1, [])).toBe(true);
    await producer.flush(10_000);
    expect(await broker.admin.listOffsets([{ topic, partition: 0 }], 'highWatermark')).toMatchObject([{ offset: 11 }]);
    await producer.close();
    await setting.close();
  });

  it('replaces a transaction that outlived its timeout', async () => {
    const setting = await createKafkaSetting();
    const { broker } = setting;
    const topic = `outlived-${process.pid}-${Date.now()}`;
    await broker.admin.createTopic({ name: topic, partitions: 1, replicationFactor: -1, config: {} });
    const options = { transactionalId: topic, transactionTimeoutMs: 1_000, clientId: 'outlived' };
    const first = broker.createTransactionalProducer(options);
    await first.init();
    await first.begin();
    send(first, topic, value('too late'));
    // The broker looks for such transactions every ten seconds; when it found one, the last stable offset moves on.
    let stable = 0;
    while (stable === 0) {
      await setting.sleep(100);
      stable = (await broker.admin.listOffsets([{ topic, partition: 0 }], 'lastStable'))[0]?.offset ?? 0;
    }
    expectKind(await failureOf(first.commit()), 'fenced');
    for (const call of [() => first.begin(), () => first.abort(), () => first.commit()]) expectKind(await failureOf(call()), 'fenced');
    await first.close();
    const second = broker.createTransactionalProducer(options);
    await second.init();
    await second.begin();
    send(second, topic, value('in time'));
    await second.commit();
    await second.close();
    await setting.close();
  });
});
