import { describe, expect, it } from 'vitest';
import type { ConsumedRecord, PartitionReader, TopicPartition } from '@tally/streams';
import { bytes, type CreateSetting, range, scenario, type Scene, send, texts } from './scenario.suite.js';

export function readerSuite(create: CreateSetting): void {
  describe('a partition reader', () => {
    it(
      'counts transaction markers and aborted records in its position',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await scene.write(topic, [{ value: bytes('one') }], producer);
        await producer.begin();
        send(producer, topic, { value: bytes('aborted') });
        await producer.abort();
        const [end] = await scene.settledEnds(topic);
        const reader = await scene.reader();
        expect(reader.position({ topic, partition: 0 })).toBeUndefined();
        await reader.assign([{ topic, partition: 0, offset: 0 }]);
        const records = await readTo(scene, reader, [{ topic, partition: 0, offset: end?.offset ?? 0 }]);
        expect(texts(records)).toEqual(['one']);
        expect(reader.position({ topic, partition: 0 })).toBe(end?.offset);
      }),
    );

    it(
      'reaches the end of a partition that holds nothing but aborted records',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        const producer = await scene.producer();
        await producer.begin();
        for (let count = 0; count < 10; count++) send(producer, topic, {});
        await producer.abort();
        const [end] = await scene.settledEnds(topic);
        const reader = await scene.reader();
        await reader.assign([{ topic, partition: 0, offset: 0 }]);
        expect(await readTo(scene, reader, [{ topic, partition: 0, offset: end?.offset ?? 0 }])).toEqual([]);
      }),
    );

    it(
      'stops before an open transaction and goes on when it ends',
      scenario(create, async (scene) => {
        const topic = await scene.topic();
        await scene.write(topic, [{ value: bytes('one') }]);
        const [stable] = await scene.settledEnds(topic);
        const open = await scene.producer();
        await open.begin();
        send(open, topic, { value: bytes('two') });
        await scene.until('the open record has arrived', async () => {
          const [high] = await scene.broker.admin.listOffsets(range(topic, 1), 'highWatermark');
          return (high?.offset ?? 0) > (stable?.offset ?? 0);
        });
        const reader = await scene.reader();
        await reader.assign([{ topic, partition: 0, offset: 0 }]);
        const records = await readTo(scene, reader, [{ topic, partition: 0, offset: stable?.offset ?? 0 }]);
        for (let count = 0; count < 5; count++) records.push(...(await reader.read(100, 25)));
        expect(texts(records)).toEqual(['one']);
        expect(reader.position({ topic, partition: 0 })).toBe(stable?.offset);
        await open.commit();
        const [high] = await scene.settledEnds(topic);
        expect(texts(await readTo(scene, reader, [{ topic, partition: 0, offset: high?.offset ?? 0 }]))).toEqual(['two']);
      }),
    );

    it(
      'reads many partitions at once, each from its own start',
      scenario(create, async (scene) => {
        const topic = await scene.topic(12);
        await scene.write(
          topic,
          range(topic, 12).flatMap(({ partition }) => Array.from({ length: 50 }, (_, index) => ({ partition, value: bytes(`${index}`) }))),
        );
        const reader = await scene.reader();
        await reader.assign(range(topic, 12).map((at) => ({ ...at, offset: at.partition })));
        const ends = await scene.settledEnds(topic, 12);
        const records = await readTo(scene, reader, ends);
        for (const { partition } of range(topic, 12)) {
          const own = records.filter((record) => record.partition === partition).map((record) => record.offset);
          expect(own).toEqual(Array.from({ length: 50 - partition }, (_, index) => partition + index));
        }
      }),
    );

    it(
      'starts again where it is assigned again, and forgets what is unassigned',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        await scene.write(
          topic,
          [0, 1].flatMap((partition) => ['a', 'b', 'c'].map((text) => ({ partition, value: bytes(text) }))),
        );
        const ends = await scene.settledEnds(topic, 2);
        const reader = await scene.reader();
        await reader.assign(range(topic, 2).map((at) => ({ ...at, offset: 0 })));
        await readTo(scene, reader, ends);
        await reader.unassign([{ topic, partition: 0 }]);
        await reader.unassign([
          { topic, partition: 0 },
          { topic: 'never-heard-of', partition: 1 },
        ]);
        expect(reader.position({ topic, partition: 0 })).toBeUndefined();
        await reader.assign([{ topic, partition: 1, offset: 2 }]);
        expect(reader.position({ topic, partition: 1 })).toBe(2);
        const records = await readTo(scene, reader, ends.slice(1));
        expect(records.map(({ partition, offset }) => [partition, offset])).toEqual([[1, 2]]);
        await Promise.all([reader.close(), reader.close()]);
      }),
    );
  });
}

async function readTo(
  scene: Scene,
  reader: PartitionReader,
  ends: readonly (TopicPartition & { offset: number })[],
): Promise<ConsumedRecord[]> {
  const records: ConsumedRecord[] = [];
  await scene.until('the reader reaches the end', async () => {
    records.push(...(await reader.read(1_000, 25)));
    return ends.every((end) => reader.position(end) === end.offset);
  });
  return records;
}
