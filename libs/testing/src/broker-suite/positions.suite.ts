import { describe, expect, it } from 'vitest';
import type { ConsumedRecord, TopicPartition } from '@tally/streams';
import { bytes, type CreateSetting, expectKind, failureOf, range, scenario, send, texts } from './scenario.suite.js';

const offsets = (records: readonly ConsumedRecord[]): number[] => records.map((record) => record.offset);
const numbered = (count: number, partition = 0) => Array.from({ length: count }, (_, index) => ({ partition, value: bytes(`${index}`) }));

export function positionSuite(create: CreateSetting): void {
  describe('positions of a group consumer', () => {
    it(
      'starts where it is told to',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        await scene.write(topic, numbered(10));
        const member = await scene.member([topic]);
        await scene.until('it is assigned', async () => {
          await member.consume();
          return member.asked.length > 0;
        });
        await member.answer({ offset: 7 });
        expect(offsets(await member.receives(3))).toEqual([7, 8, 9]);
      }),
    );

    it(
      'delivers nothing of paused partitions, and all of it after resume',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        await scene.write(topic, [...numbered(3, 0), ...numbered(3, 1)]);
        const member = await scene.member([topic]);
        await member.holds(2, { paused: true });
        for (let count = 0; count < 10; count++) expect(await member.consume()).toEqual([]);
        await member.consumer.resume([{ topic, partition: 1 }]);
        expect((await member.receives(3)).map(({ partition, offset }) => [partition, offset])).toEqual([
          [1, 0],
          [1, 1],
          [1, 2],
        ]);
        await member.consumer.pause([{ topic, partition: 1 }]);
        await member.consumer.resume([{ topic, partition: 0 }]);
        await scene.write(topic, [...numbered(1, 0), ...numbered(1, 1)]);
        expect((await member.receives(4)).map(({ partition }) => partition)).toEqual([0, 0, 0, 0]);
      }),
    );

    it(
      'counts transaction markers and aborted records in its position, and what the last consume returned',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await scene.write(topic, numbered(3), producer);
        await producer.begin();
        send(producer, topic, { value: bytes('aborted') });
        await producer.abort();
        const [end] = await scene.settledEnds(topic);
        const at = { topic, partition: 0 };
        const member = await scene.member([topic]);
        await member.holds(1, { paused: true });
        expect(member.consumer.position(at)).toBe(0);
        await member.consumer.resume([at]);
        await member.receives(3);
        await scene.until('the end is reached', async () => {
          await member.consume();
          return member.consumer.position(at) === end?.offset;
        });
        await member.consumer.seek([{ ...at, offset: 1 }]);
        expect(member.consumer.position(at)).toBe(1);
      }),
    );

    it(
      'brings no stale record after a seek between consumes',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        await scene.write(topic, numbered(2_000));
        const member = await scene.member([topic]);
        await member.holds(1, { paused: true });
        await member.consumer.resume(range(topic, 1));
        for (const target of [1_500, 0, 1_999, 3, 700]) {
          await scene.until('some records came', async () => (await member.consume()).length > 0 || target === 3);
          await member.consumer.seek([{ topic, partition: 0, offset: target }]);
          member.records.length = 0;
          const [next] = await member.receives(1);
          expect(next?.offset).toBe(target);
          await member.consumer.seek([{ topic, partition: 0, offset: 0 }]);
        }
      }),
    );

    it(
      'seeks a paused partition without waking it',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        await scene.write(topic, numbered(10));
        const member = await scene.member([topic]);
        await member.holds(1, { paused: true });
        await member.consumer.seek([{ topic, partition: 0, offset: 6 }]);
        for (let count = 0; count < 5; count++) expect(await member.consume()).toEqual([]);
        await member.consumer.resume(range(topic, 1));
        expect(offsets(await member.receives(4))).toEqual([6, 7, 8, 9]);
      }),
    );

    it(
      'takes assigning again and unassigning what is not assigned without harm',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        await scene.write(topic, numbered(5));
        const member = await scene.member([topic]);
        await member.holds(1);
        await member.receives(5);
        await member.consumer.unassign([{ topic: 'never-heard-of', partition: 3 }]);
        await member.consumer.assign([{ topic, partition: 0, offset: 3 }], { paused: false });
        expect(offsets(await member.receives(2))).toEqual([3, 4]);
        await member.consumer.pause([{ topic: 'never-heard-of', partition: 3 }]);
        await member.consumer.resume([{ topic: 'never-heard-of', partition: 3 }]);
      }),
    );

    it(
      'brings at most as many records as asked for, in order',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        await scene.write(topic, numbered(25));
        const member = await scene.member([topic]);
        await member.holds(1, { paused: true });
        await member.consumer.resume(range(topic, 1));
        const all: ConsumedRecord[] = [];
        await scene.until('all came', async () => {
          const some = await member.consumer.consume(10, 25);
          expect(some.length).toBeLessThanOrEqual(10);
          all.push(...some);
          return all.length >= 25;
        });
        expect(texts(all)).toEqual(numbered(25).map((_, index) => `${index}`));
      }),
    );

    it(
      'reads only what is committed, in a group too',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await producer.begin();
        producer.produce(topic, 0, null, bytes('aborted'), 1, []);
        await producer.abort();
        await scene.write(topic, [{ value: bytes('committed') }], producer);
        const member = await scene.member([topic]);
        await member.holds(1);
        expect(texts(await member.receives(1))).toEqual(['committed']);
      }),
    );

    it(
      'reaches the end of a partition that it meets, before a record of another one, while offsets are committed',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        const [aborted, written] = range(topic, 2) as [TopicPartition, TopicPartition];
        const producer = await scene.producer();
        await producer.begin();
        send(producer, topic, { value: bytes('aborted') });
        await scene.until('the record has arrived', async () => {
          const [high] = await scene.broker.admin.listOffsets([aborted], 'highWatermark');
          return high?.offset === 1;
        });
        await producer.abort();
        const member = await scene.member([topic]);
        await member.holds(2);
        for (let round = 0; round < 3; round++) {
          await member.consumer.seek([{ ...aborted, offset: 0 }]);
          // A client that fetches ahead has the end of the one partition, and then the records of the other.
          await scene.setting.sleep(150);
          await scene.write(topic, numbered(3, 1), producer);
          const ends = await scene.settledEnds(topic, 2);
          await scene.setting.sleep(100);
          await member.consumer.commitOffsets([{ ...aborted, offset: round, metadata: '' }]);
          // What is still to be brought does not count, nor the end of a partition that is paused.
          expect(member.consumer.position(written)).toBe(round * 4);
          await member.consumer.pause([aborted]);
          await member.consume();
          expect(member.consumer.position(aborted)).toBe(0);
          await member.consumer.resume([aborted]);
          await member.receives(3);
          await scene.until('both ends are reached', async () => {
            expect(await member.consume()).toEqual([]);
            return ends.every((end) => member.consumer.position(end) === end.offset);
          });
        }
      }),
    );

    it(
      'pauses, resumes and seeks between consumes while offsets are committed, again and again',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const [at] = range(topic, 1) as [TopicPartition];
        const member = await scene.member([topic]);
        await member.holds(1);
        await scene.write(topic, numbered(5));
        let committing = true;
        const commits = (async () => {
          for (let offset = 0; committing; offset = (offset + 1) % 5)
            await member.consumer.commitOffsets([{ ...at, offset, metadata: '' }]);
        })();
        for (let round = 0; round < 20; round++) {
          await member.consumer.seek([{ ...at, offset: 0 }]);
          expect(texts(await member.receives(5))).toHaveLength(5);
          await member.consumer.pause([at]);
          expect(await member.consume()).toEqual([]);
          await member.consumer.resume([at]);
        }
        committing = false;
        await commits;
      }),
    );

    it(
      'commits offsets outside of a transaction, losing no record meanwhile',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        const member = await scene.member([topic]);
        await member.holds(2);
        await scene.write(topic, [...numbered(5, 0), ...numbered(5, 1)]);
        await member.consumer.commitOffsets([
          { topic, partition: 0, offset: 4, metadata: 'm' },
          { topic, partition: 1, offset: 0, metadata: '' },
        ]);
        expect(await scene.broker.admin.stableOffsets(scene.id, range(topic, 2))).toEqual([
          { topic, partition: 0, offset: 4, metadata: 'm' },
          { topic, partition: 1, offset: 0, metadata: '' },
        ]);
        const received = await member.receives(10);
        for (const partition of [0, 1])
          expect(offsets(received.filter((record) => record.partition === partition))).toEqual([0, 1, 2, 3, 4]);
        expectKind(await failureOf(member.consumer.commitOffsets([{ topic, partition: 0, offset: -1, metadata: '' }])), 'invalid');
      }),
    );
  });
}
