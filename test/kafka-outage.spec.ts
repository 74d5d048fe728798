/** What the native client does when its broker goes away, comes back, or is too old. Uses a broker of its own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKafkaBroker } from '@tally/kafka';
import type { BrokerError, TransactionalProducer } from '@tally/streams';
import { startBroker } from '../scripts/broker.mjs';
import { bytes, expectKind, failureOf, named, range, scenario, send, texts } from '../libs/testing/src/broker-suite/scenario.suite.js';
import { createKafkaSetting, kafkaAddresses } from './kafka-setting.js';
import { startOldBroker } from './support/old-broker.js';

let own: Awaited<ReturnType<typeof startBroker>>;
beforeAll(async () => {
  own = await startBroker();
});
afterAll(() => own.stop());

const create = () => createKafkaSetting({ brokers: own.brokers, requestTimeoutMs: 3_000 });

/** The same call again, as the port asks for, until it no longer answers `retriable`. */
async function again(call: () => Promise<void>): Promise<number> {
  for (let retries = 0; ; retries++) {
    try {
      await call();
      return retries;
    } catch (error) {
      expectKind(error as BrokerError, 'retriable');
    }
  }
}

describe('a broker that goes away', () => {
  it(
    'is waited for by the commit that was under way',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const producer = scene.broker.createTransactionalProducer({
        transactionalId: scene.id,
        transactionTimeoutMs: 60_000,
        clientId: scene.id,
      });
      await again(() => producer.init());
      await scene.write(topic, [{ value: bytes('before') }], producer);
      await producer.begin();
      send(producer, topic, { value: bytes('during') });
      await own.halt();
      expectKind(await failureOf(producer.commit()), 'retriable');
      await expect(producer.abort()).rejects.toThrow(/invariant/i);
      await expect(producer.begin()).rejects.toThrow(/invariant/i);
      const retried = again(() => producer.commit());
      await own.restart();
      await retried;
      await scene.write(topic, [{ value: bytes('after') }], producer);
      await producer.close();
      expect(texts(await scene.readAll(topic))).toEqual(['before', 'during', 'after']);
    }),
  );

  it(
    'makes an abort come again',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const producer = await scene.producer();
      await scene.write(topic, [{ value: bytes('before') }], producer);
      await scene.settledEnds(topic);
      await producer.begin();
      send(producer, topic, { value: bytes('aborted') });
      await scene.until(
        'the record has arrived',
        async () => (await scene.broker.admin.listOffsets(range(topic, 1), 'highWatermark'))[0]?.offset === 3,
      );
      await own.halt();
      const aborted = abortOrReplace(producer);
      await own.restart();
      const next = (await aborted) ? producer : await scene.producer();
      await scene.write(topic, [{ value: bytes('after') }], next);
      expect(texts(await scene.readAll(topic))).toEqual(['before', 'after']);
    }),
  );

  it(
    'is no answer to questions about offsets',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      await own.halt();
      expectKind(await failureOf(scene.broker.admin.stableOffsets(scene.id, range(topic, 1))), 'pending');
      // The client's own answer is a success without an offset in one of a few cases.
      for (let count = 0; count < 4; count++)
        expectKind(await failureOf(scene.broker.admin.listOffsets(range(topic, 1), 'highWatermark')), 'retriable');
      expectKind(await failureOf(scene.broker.admin.describeTopics([topic])), 'retriable');
      expectKind(await failureOf(scene.broker.admin.describeGroup(scene.id)), 'retriable');
      expectKind(await failureOf(scene.broker.connect()), 'retriable');
      await own.restart();
      await scene.broker.connect();
      // A request to a coordinator that had timed out would end the process about now.
      expect(await scene.stableOffsets(scene.id, range(topic, 1))).toMatchObject([{ offset: undefined }]);
      expect(await scene.broker.admin.describeGroup(scene.id)).toEqual([]);
      expect(await scene.broker.admin.listOffsets(range(topic, 1), 'highWatermark')).toMatchObject([{ offset: 0 }]);
    }),
  );

  it(
    'is found again by consumers and readers, which go on where they were',
    scenario(create, async (scene) => {
      const topic = await scene.topic();
      const member = await scene.member([topic]);
      await member.holds(1);
      await scene.write(topic, [{ value: bytes('before') }]);
      expect(texts(await member.receives(1))).toEqual(['before']);
      const reader = await scene.reader();
      await reader.assign([{ topic, partition: 0, offset: 0 }]);
      await own.halt();
      for (let count = 0; count < 10; count++) {
        expect(await member.consume()).toEqual([]);
        await reader.read(100, 25);
      }
      await own.restart();
      const producer = await scene.producer();
      await scene.write(topic, [{ value: bytes('after') }], producer);
      // Where the outage outlasts the session, the group gives the partition again, and the member has to answer.
      await scene.until('the record of after the outage is read', async () => {
        await member.turn();
        return texts(member.records).includes('after');
      });
      expect(member.failures).toEqual([]);
      await scene.until('the member is known to the group again', async () => {
        await member.turn();
        const described = await scene.broker.admin.describeGroup(scene.id);
        return described.flatMap(({ partitions }) => partitions.map(named)).join() === `${topic}/0`;
      });
      const [end] = await scene.settledEnds(topic);
      await scene.until('the reader reaches the end', async () => {
        await reader.read(100, 25);
        return reader.position({ topic, partition: 0 }) === end?.offset;
      });
    }),
  );

  it('does not keep clients from closing', async () => {
    const setting = await createKafkaSetting({ brokers: own.brokers, requestTimeoutMs: 3_000, closeTimeoutMs: 20_000 });
    const { broker } = setting;
    const topic = `closing-${process.pid}-${Date.now()}`;
    await broker.admin.createTopic({ name: topic, partitions: 1, replicationFactor: -1, config: {} });
    const producer = broker.createTransactionalProducer({ transactionalId: topic, transactionTimeoutMs: 10_000, clientId: topic });
    await again(() => producer.init());
    await producer.begin();
    const consumer = broker.createConsumer({
      groupId: topic,
      clientId: topic,
      listener: { assigned() {}, revoked() {}, lost() {}, failed() {} },
    });
    await consumer.subscribe([topic]);
    for (let count = 0; count < 10; count++) await consumer.consume(10, 25);
    await own.halt();
    send(producer, topic, { value: bytes('never') });
    expectKind(await failureOf(producer.commit()), 'retriable');
    await Promise.all([producer.close(), consumer.close()]);
    await setting.close();
    await own.restart();
  });
});

/** @returns false when the producer had to be given up. */
async function abortOrReplace(producer: TransactionalProducer): Promise<boolean> {
  try {
    await again(() => producer.abort());
    return true;
  } catch {
    await producer.close();
    return false;
  }
}

describe('a broker that is too old', () => {
  it('is refused with what is needed', async () => {
    const old = await startOldBroker(kafkaAddresses());
    const broker = createKafkaBroker({ brokers: old.address });
    const error = await failureOf(broker.connect());
    expect(old.rewritten, 'answers that were made older').toBeGreaterThan(0);
    expect(error).toMatchObject({ code: 'UNSUPPORTED_BROKER', kind: 'invalid', place: { option: 'brokers' } });
    expect(error.message).toContain('Kafka 4.0 or newer');
    await broker.close();
    await old.close();
  });
});
