import { describe, expect, it } from 'vitest';
import { BrokerError, type ConsumedRecord, type Headers, type OutputProducer, type TransactionalProducer } from '@tally/streams';
import {
  bytes,
  type CreateSetting,
  expectKind,
  failureOf,
  type ProducedRecord,
  range,
  scenario,
  type Scene,
  send,
  texts,
} from './scenario.suite.js';

const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index);
const nothing = new Uint8Array(0);

const exactRecords: readonly (readonly [name: string, record: ProducedRecord])[] = [
  ['null key and null value', { key: null, value: null }],
  ['empty key and empty value', { key: nothing, value: nothing }],
  ['null key and empty value', { key: null, value: nothing }],
  ['empty key and null value', { key: nothing, value: null }],
  ['binary key and value', { key: everyByte, value: everyByte.slice().reverse() }],
  ['zero bytes at both ends', { key: Uint8Array.of(0, 1, 0), value: Uint8Array.of(0, 0) }],
  ['a slice of a larger buffer', { key: everyByte.subarray(10, 12), value: everyByte.subarray(255) }],
  ['a negative timestamp', { timestampMs: -86_400_000 }],
  ['the timestamp -1', { timestampMs: -1 }],
  ['the timestamp 1', { timestampMs: 1 }],
  ['no headers', { headers: [] }],
  ['duplicate headers in order', { headers: [header('a', '1'), header('b', '2'), header('a', '3'), header('a', '1')] }],
  [
    'binary and empty header values',
    {
      headers: [
        { name: 'binary', value: everyByte },
        { name: 'empty', value: nothing },
      ],
    },
  ],
  [
    'odd header names',
    { headers: ['', '__proto__', 'constructor', '0', 'ключ', 'a b', 'toString'].map((name) => header(name, `of ${name}`)) },
  ],
];

export function recordSuite(create: CreateSetting): void {
  describe('records', () => {
    it(
      'keeps records exact through a transaction',
      scenario(create, async (scene) => {
        const producer = await scene.producer();
        await producer.begin();
        await keepsExact(scene, producer, () => producer.commit());
      }),
    );

    it(
      'keeps records exact without a transaction',
      scenario(create, async (scene) => {
        const producer = await scene.output();
        await keepsExact(scene, producer, () => producer.flush(10_000));
      }),
    );

    it(
      'writes the timestamp 0 as 0 or refuses it, but never changes it',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await producer.begin();
        try {
          send(producer, topic, { timestampMs: 0 });
        } catch (error) {
          expect(error).toBeInstanceOf(BrokerError);
          expectKind(error as BrokerError, 'recordRefused');
        }
        send(producer, topic, { timestampMs: 7 });
        await producer.commit();
        const timestamps = (await scene.readAll(topic)).map((record) => record.timestampMs);
        expect([[7], [0, 7]]).toContainEqual(timestamps);
      }),
    );

    it(
      'writes records of 900,000 bytes',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const value = Uint8Array.from({ length: 900_000 }, (_, index) => index * 31);
        await scene.write(topic, [{ value }, { value: bytes('small') }]);
        const [large, small] = await scene.readAll(topic);
        expect(Buffer.compare(large?.value ?? nothing, value)).toBe(0);
        expect(texts(small ? [small] : [])).toEqual(['small']);
      }),
    );

    it(
      'refuses a record that is larger than the client takes, before anything is queued',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await producer.begin();
        const refused = await failureOf(() => send(producer, topic, { value: new Uint8Array(17 * 1_048_576) }));
        expect(refused).toMatchObject({ kind: 'recordRefused', code: 'RECORD_TOO_LARGE' });
        send(producer, topic, { value: bytes('next') });
        await producer.commit();
        expect(texts(await scene.readAll(topic))).toEqual(['next']);
      }),
    );

    it(
      'puts records without a partition into one of the partitions',
      scenario(create, async (scene) => {
        const topic = await scene.topic(3);
        await scene.write(
          topic,
          Array.from({ length: 20 }, (_, index) => ({ partition: -1, value: bytes(`${index}`) })),
        );
        const records = await scene.readAll(topic, 3);
        expect(texts(records).sort()).toEqual(Array.from({ length: 20 }, (_, index) => `${index}`).sort());
      }),
    );

    it(
      'refuses a wrong header before anything is queued',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await producer.begin();
        for (const name of ['a\0b', 'half \ud800']) {
          const error = await failureOf(() => send(producer, topic, { headers: [header(name, 'x')] }));
          expectKind(error, 'recordRefused');
        }
        await producer.commit();
        expect(await scene.readAll(topic)).toEqual([]);
      }),
    );

    it(
      'names the partition of a record that is too large for its topic, and recovers',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2, { 'max.message.bytes': '20000' });
        const producer = await scene.producer();
        await producer.begin();
        send(producer, topic, { partition: 1, value: new Uint8Array(50_000) });
        const error = await failureOf(producer.commit());
        expectKind(error, 'abortable');
        const failures = producer.takeFailures();
        expect(failures.map(({ topic: name, partition, error: cause }) => [name, partition, cause.kind])).toEqual([
          [topic, 1, 'recordRefused'],
        ]);
        expect(producer.takeFailures()).toEqual([]);
        await producer.abort();
        await commitsWithinThreeAttempts(producer, () => send(producer, topic, { partition: 1, value: bytes('fits') }));
        expect(texts(await scene.readAll(topic, 2))).toEqual(['fits']);
      }),
    );

    it(
      'refuses a record for its size also when the batch before it was refused',
      scenario(create, async (scene) => {
        const topic = await scene.topic(1, { 'max.message.bytes': '20000' });
        const producer = await scene.producer();
        for (let count = 0; count < 3; count++) {
          await producer.begin();
          send(producer, topic, { value: new Uint8Array(50_000) });
          expect(await failureOf(producer.commit())).toMatchObject({ kind: 'abortable', code: 'RECORD_TOO_LARGE' });
          expect(producer.takeFailures()).toMatchObject([
            { topic, partition: 0, error: { kind: 'recordRefused', code: 'RECORD_TOO_LARGE' } },
          ]);
          await producer.abort();
        }
      }),
    );

    it(
      'mends the sequences of all partitions with the first batch that fails for a refused one',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2, { 'max.message.bytes': '20000' });
        const producer = await scene.producer();
        for (const { partition } of range(topic, 2)) {
          await producer.begin();
          send(producer, topic, { partition, value: new Uint8Array(50_000) });
          expect(await failureOf(producer.commit())).toMatchObject({ kind: 'abortable', code: 'RECORD_TOO_LARGE' });
          await producer.abort();
        }
        await producer.begin();
        send(producer, topic, { partition: 0 });
        expect(await failureOf(producer.commit())).toMatchObject({ kind: 'abortable', code: 'SEQUENCE_ECHO' });
        await producer.abort();
        await scene.write(topic, range(topic, 2), producer);
        expect(await scene.readAll(topic, 2)).toHaveLength(2);
      }),
    );

    it(
      'writes on after a refused record, outside of transactions',
      scenario(create, async (scene) => {
        const topic = await scene.topic(1, { 'max.message.bytes': '20000' });
        const producer = await scene.output();
        send(producer, topic, { value: new Uint8Array(50_000) });
        await producer.flush(10_000);
        expect(producer.takeFailures()).toMatchObject([
          { topic, partition: 0, error: { kind: 'recordRefused', code: 'RECORD_TOO_LARGE' } },
        ]);
        send(producer, topic, { value: bytes('next') });
        await producer.flush(10_000);
        expect(producer.takeFailures()).toEqual([]);
        expect(texts(await scene.readAll(topic))).toEqual(['next']);
      }),
    );

    it(
      'refuses a record for a topic that does not exist, and recovers',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await producer.begin();
        const refused = await refusalOf(scene, producer, `${topic}-missing`, 0);
        expectKind(refused, 'recordRefused');
        expect(refused.place.topic).toBe(`${topic}-missing`);
        await producer.abort();
        await commitsWithinThreeAttempts(producer, () => send(producer, topic, { value: bytes('fits') }));
        expect(texts(await scene.readAll(topic))).toEqual(['fits']);
      }),
    );

    it(
      'says why a commit fails, for that transaction alone, whether the failures were taken before or not',
      scenario(create, async (scene) => {
        const topic = await scene.topic(1, { 'max.message.bytes': '20000' });
        const producer = await scene.producer();
        await producer.begin();
        send(producer, `${topic}-missing`, {});
        await scene.until('the record is refused', () => producer.takeFailures().length > 0);
        expect(await failureOf(producer.commit())).toMatchObject({ kind: 'abortable', code: 'UNKNOWN_TOPIC' });
        await producer.abort();
        await producer.begin();
        send(producer, topic, { value: new Uint8Array(50_000) });
        expect(await failureOf(producer.commit())).toMatchObject({ kind: 'abortable', code: 'RECORD_TOO_LARGE' });
        await producer.abort();
        await producer.begin();
        send(producer, topic, {});
        // The failure of the transaction before has not been taken, and is no cause of this one.
        expect(await failureOf(producer.commit())).toMatchObject({ kind: 'abortable', code: 'SEQUENCE_ECHO' });
        await producer.abort();
        expect(producer.takeFailures()).toMatchObject([{ topic, partition: 0, error: { code: 'RECORD_TOO_LARGE' } }]);
      }),
    );

    it(
      'refuses a record for a partition that does not exist, and recovers',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        const producer = await scene.producer();
        await producer.begin();
        const refused = await refusalOf(scene, producer, topic, 7);
        expectKind(refused, 'recordRefused');
        await producer.abort();
        await commitsWithinThreeAttempts(producer, () => send(producer, topic, { partition: 1, value: bytes('fits') }));
        expect(texts(await scene.readAll(topic, 2))).toEqual(['fits']);
      }),
    );
  });
}

async function keepsExact(scene: Scene, producer: TransactionalProducer | OutputProducer, finish: () => Promise<void>): Promise<void> {
  const topic = await scene.topic();
  for (const [, record] of exactRecords) send(producer, topic, record);
  await finish();
  const records = await scene.readAll(topic);
  expect(records.map(plain)).toEqual(exactRecords.map(([, record]) => plain({ ...defaults, ...record })));
}

const defaults = { key: null, value: bytes('value'), timestampMs: 1_700_000_000_000, headers: [] as Headers };

function plain(record: Pick<ConsumedRecord, 'key' | 'value' | 'timestampMs' | 'headers'>): unknown {
  const hex = (part: Uint8Array | null): string | null => (part === null ? null : Buffer.from(part).toString('hex'));
  return {
    key: hex(record.key),
    value: hex(record.value),
    timestampMs: record.timestampMs,
    headers: record.headers.map(({ name, value }) => [name, hex(value)]),
  };
}

function header(name: string, value: string): { name: string; value: Uint8Array } {
  return { name, value: bytes(value) };
}

/** A record is refused when it is queued, perhaps after the broker was asked whether the partition is new, or by the commit. */
async function refusalOf(scene: Scene, producer: TransactionalProducer, topic: string, partition: number): Promise<BrokerError> {
  try {
    await scene.until('the record is queued or refused', () => producer.produce(topic, partition, null, bytes('value'), 1, []));
  } catch (error) {
    expect(error).toBeInstanceOf(BrokerError);
    return error as BrokerError;
  }
  expectKind(await failureOf(producer.commit()), 'abortable');
  const failure = producer.takeFailures()[0];
  if (failure === undefined) throw new Error('The commit failed, but no record was named.');
  return failure.error;
}

/** The transaction after a refusal may fail once more on the same partition, an echo. */
async function commitsWithinThreeAttempts(producer: TransactionalProducer, produce: () => void): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await producer.begin();
    produce();
    try {
      return await producer.commit();
    } catch (error) {
      expect(error).toBeInstanceOf(BrokerError);
      expectKind(error as BrokerError, 'abortable');
      expect(attempt, 'the echo ends').toBeLessThan(3);
      await producer.abort();
      producer.takeFailures();
    }
  }
}
