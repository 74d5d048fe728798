import { describe, expect, it } from 'vitest';
import type { TransactionalProducer } from '@tally/streams';
import { bytes, type CreateSetting, expectKind, failureOf, range, scenario, send, texts } from './scenario.suite.js';

export function transactionSuite(create: CreateSetting): void {
  describe('transactions', () => {
    it(
      'shows what was committed and nothing of what was aborted',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await scene.write(topic, [{ value: bytes('one') }], producer);
        await producer.begin();
        send(producer, topic, { value: bytes('aborted') });
        await producer.abort();
        await scene.write(topic, [{ value: bytes('two') }], producer);
        expect(texts(await scene.readAll(topic))).toEqual(['one', 'two']);
      }),
    );

    it(
      'aborts right after a commit, as often as needed',
      scenario(create, async (scene) => {
        const topic = await scene.topic(4);
        const producer = await scene.producer();
        for (let count = 0; count < 30; count++) {
          await scene.write(topic, range(topic, 4), producer);
          await producer.begin();
          for (const { partition } of range(topic, 4)) send(producer, topic, { partition, value: bytes('aborted') });
          await scene.setting.sleep(count % 10);
          await producer.abort();
        }
        const values = texts(await scene.readAll(topic, 4));
        expect([values.length, new Set(values)]).toEqual([120, new Set(['value'])]);
      }),
    );

    it(
      'commits and aborts transactions without records',
      scenario(create, async (scene) => {
        const producer = await scene.producer();
        await producer.begin();
        await producer.commit();
        await producer.begin();
        await producer.abort();
        await producer.begin();
        await producer.commit();
        expect(producer.takeFailures()).toEqual([]);
      }),
    );

    it(
      'holds the last stable offset at the first record of an open transaction',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const at = range(topic, 1);
        await scene.write(topic, [{ value: bytes('committed') }]);
        const [before] = await scene.settledEnds(topic);
        const open = await scene.producer();
        await open.begin();
        send(open, topic, { value: bytes('open') });
        await scene.until('the open record has arrived', async () => {
          const [high] = await scene.broker.admin.listOffsets(at, 'highWatermark');
          return (high?.offset ?? 0) > (before?.offset ?? 0);
        });
        expect(await scene.broker.admin.listOffsets(at, 'lastStable')).toEqual([before]);
        await open.commit();
        await scene.until('the last stable offset follows', async () => {
          const [stable] = await scene.broker.admin.listOffsets(at, 'lastStable');
          const [high] = await scene.broker.admin.listOffsets(at, 'highWatermark');
          return stable?.offset === high?.offset;
        });
      }),
    );

    it(
      'fences a producer when another one takes its transactional id',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const first = await scene.producer(`${scene.id}-same`);
        await first.begin();
        send(first, topic, { value: bytes('of the first') });
        const second = await scene.producer(`${scene.id}-same`);
        // By its code: of the kind `fenced` is also a producer that broke in other ways.
        expect(await failureOf(first.commit())).toMatchObject({ kind: 'fenced', code: 'FENCED' });
        await scene.write(topic, [{ value: bytes('of the second') }], second);
        expect(texts(await scene.readAll(topic))).toEqual(['of the second']);
        // No transaction is open any more that could take a record.
        expect(() => send(first, topic, { value: bytes('late') })).toThrow(/invariant/i);
        expectKind(await failureOf(first.begin()), 'fenced');
        await first.close();
      }),
    );

    it(
      'drops the records of a transaction that has failed',
      scenario(create, async (scene) => {
        const topic = await scene.topic(1, { 'max.message.bytes': '20000' });
        const producer = await scene.producer();
        await producer.begin();
        send(producer, topic, { value: new Uint8Array(50_000) });
        expectKind(await failureOf(producer.commit()), 'abortable');
        send(producer, topic, { value: bytes('dropped') });
        // Not even its partition is looked at; what can be refused in hand is refused.
        send(producer, topic, { partition: 7, value: bytes('dropped') });
        expectKind(await failureOf(() => send(producer, topic, { timestampMs: Number.NaN })), 'recordRefused');
        await producer.abort();
        expect(await scene.readAll(topic)).toEqual([]);
      }),
    );

    it(
      'settles at init what a producer with the same transactional id left open',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const member = await scene.member([topic]);
        await member.holds(1);
        const first = await scene.producer(`${scene.id}-same`);
        await first.begin();
        send(first, topic, { value: bytes('left open') });
        await first.sendOffsets([{ topic, partition: 0, offset: 5, metadata: '' }], member.consumer);
        expectKind(await failureOf(scene.broker.admin.stableOffsets(scene.id, range(topic, 1))), 'pending');
        await scene.producer(`${scene.id}-same`);
        expect(await scene.stableOffsets(scene.id, range(topic, 1))).toEqual([{ topic, partition: 0, offset: undefined, metadata: '' }]);
        expect(await scene.readAll(topic)).toEqual([]);
      }),
    );

    it(
      'stores offsets with the commit and not with an abort',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        const member = await scene.member([topic]);
        await member.holds(2);
        const producer = await scene.producer();
        const metadata = 'v1 ünïcode {"a":1}';
        await producer.begin();
        await producer.sendOffsets(
          [
            { topic, partition: 0, offset: 3, metadata },
            { topic, partition: 1, offset: 0, metadata: '' },
          ],
          member.consumer,
        );
        await producer.commit();
        await producer.begin();
        await producer.sendOffsets([{ topic, partition: 0, offset: 9, metadata: 'aborted' }], member.consumer);
        await producer.abort();
        expect(await scene.stableOffsets(scene.id, range(topic, 2))).toEqual([
          { topic, partition: 0, offset: 3, metadata },
          { topic, partition: 1, offset: 0, metadata: '' },
        ]);
      }),
    );

    it(
      'keeps an offset that was committed after the transaction had written another',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        const member = await scene.member([topic]);
        await member.holds(2);
        const producer = await scene.producer();
        await member.consumer.commitOffsets([{ topic, partition: 1, offset: 1, metadata: 'before' }]);
        await producer.begin();
        await producer.sendOffsets(
          range(topic, 2).map((at) => ({ ...at, offset: 2, metadata: 'in the transaction' })),
          member.consumer,
        );
        await member.consumer.commitOffsets([{ topic, partition: 0, offset: 3, metadata: 'meanwhile' }]);
        await producer.commit();
        expect(await scene.stableOffsets(scene.id, range(topic, 2))).toEqual([
          { topic, partition: 0, offset: 3, metadata: 'meanwhile' },
          { topic, partition: 1, offset: 2, metadata: 'in the transaction' },
        ]);
      }),
    );

    it(
      'takes records while offsets are sent',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const member = await scene.member([topic]);
        await member.holds(1);
        const producer = await scene.producer();
        await producer.begin();
        const sent = producer.sendOffsets([{ topic, partition: 0, offset: 1, metadata: '' }], member.consumer);
        send(producer, topic, { value: bytes('beside') });
        await sent;
        await producer.commit();
        expect(texts(await scene.readAll(topic))).toEqual(['beside']);
      }),
    );

    it(
      'refuses offsets that are not offsets, before they are sent',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const member = await scene.member([topic]);
        await member.holds(1);
        const producer = await scene.producer();
        await producer.begin();
        for (const offset of [-1, 1.5, Number.NaN, 2 ** 53, '7' as unknown as number, 7n as unknown as number]) {
          expectKind(await failureOf(producer.sendOffsets([{ topic, partition: 0, offset, metadata: '' }], member.consumer)), 'invalid');
        }
        for (const metadata of ['a\0b', 'x'.repeat(4_001), 'ü'.repeat(2_001)]) {
          expectKind(await failureOf(producer.sendOffsets([{ topic, partition: 0, offset: 1, metadata }], member.consumer)), 'invalid');
        }
        const longest = 'ü'.repeat(2_000);
        await producer.sendOffsets([{ topic, partition: 0, offset: 1, metadata: longest }], member.consumer);
        await producer.commit();
        expect(await scene.stableOffsets(scene.id, range(topic, 1))).toEqual([{ topic, partition: 0, offset: 1, metadata: longest }]);
      }),
    );

    it(
      'guards against calls that overlap or come in the wrong order',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await expect(producer.commit()).rejects.toThrow(/invariant/i);
        await expect(producer.abort()).rejects.toThrow(/invariant/i);
        expect(() => send(producer, topic, {})).toThrow(/invariant/i);
        const beginning = producer.begin();
        await expect(producer.commit()).rejects.toThrow(/invariant/i);
        expect(() => send(producer, topic, {})).toThrow(/invariant/i);
        await beginning;
        await expect(producer.begin()).rejects.toThrow(/invariant/i);
        send(producer, topic, { value: bytes('kept') });
        const committing = producer.commit();
        expect(() => send(producer, topic, {})).toThrow(/invariant/i);
        await expect(producer.abort()).rejects.toThrow(/invariant/i);
        await committing;
        expect(texts(await scene.readAll(topic))).toEqual(['kept']);
      }),
    );

    it(
      'aborts a transaction that outlives its timeout, and fences its producer',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer(undefined, 2_000);
        await producer.begin();
        send(producer, topic, { value: bytes('late') });
        await scene.until('the record and the marker of its abort are there', async () => {
          const [high] = await scene.broker.admin.listOffsets(range(topic, 1), 'highWatermark');
          return high?.offset === 2;
        });
        expectKind(await failureOf(producer.commit()), 'fenced');
        expect(await scene.readAll(topic)).toEqual([]);
      }),
    );

    it(
      'refuses a timeout that is longer than the broker allows',
      scenario(create, async (scene) => {
        expect(await failureOf(scene.producer(undefined, 900_001))).toMatchObject({ kind: 'invalid', code: 'TRANSACTION_TIMEOUT_INVALID' });
      }),
    );

    it(
      'aborts an open transaction at close, and closes once',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await producer.begin();
        send(producer, topic, { value: bytes('never') });
        await Promise.all([producer.close(), producer.close()]);
        await producer.close();
        expectKind(await failureOf(producer.begin()), 'closed');
        await scene.write(topic, [{ value: bytes('after') }]);
        expect(texts(await scene.readAll(topic))).toEqual(['after']);
      }),
    );

    it(
      'aborts a transaction that has failed at close',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2, { 'max.message.bytes': '20000' });
        const producer = await scene.producer(undefined, 60_000);
        await producer.begin();
        send(producer, topic, { value: bytes('held up') });
        await scene.until('the record has arrived', async () => {
          const [high] = await scene.broker.admin.listOffsets(range(topic, 1), 'highWatermark');
          return high?.offset === 1;
        });
        send(producer, topic, { partition: 1, value: new Uint8Array(50_000) });
        expectKind(await failureOf(producer.commit()), 'abortable');
        await producer.close();
        // The record and a marker, and the marker of a partition that took no record.
        expect((await scene.settledEnds(topic, 2)).map(({ offset }) => offset)).toEqual([2, 1]);
      }),
    );

    it(
      'aborts a transaction whose commit fails while it closes',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2, { 'max.message.bytes': '20000' });
        // Nobody but the producer itself ends its transaction in time.
        const producer = await scene.producer(undefined, 60_000);
        await producer.begin();
        send(producer, topic, { value: bytes('held up') });
        await scene.until('the record has arrived', async () => {
          const [high] = await scene.broker.admin.listOffsets(range(topic, 1), 'highWatermark');
          return high?.offset === 1;
        });
        send(producer, topic, { partition: 1, value: new Uint8Array(50_000) });
        const failing = failureOf(producer.commit());
        await producer.close();
        expectKind(await failing, 'abortable');
        expect((await scene.settledEnds(topic, 2)).map(({ offset }) => offset)).toEqual([2, 1]);
      }),
    );

    it(
      'closes behind a commit that is under way',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer: TransactionalProducer = await scene.producer();
        await producer.begin();
        for (let count = 0; count < 1_000; count++) send(producer, topic, { value: bytes(`${count}`) });
        const committing = producer.commit();
        await producer.close();
        await committing;
        expect(await scene.readAll(topic)).toHaveLength(1_000);
      }),
    );
  });
}
