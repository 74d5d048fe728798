import { BrokerError, type TopicPartitionOffset } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { bytes, type CreateSetting, expectKind, failureOf, range, scenario } from './scenario.suite.js';

export function adminSuite(create: CreateSetting): void {
  describe('admin', () => {
    it(
      'describes those of the topics that exist',
      scenario(create, async (scene) => {
        const topic = await scene.topic(3);
        const found = await scene.broker.admin.describeTopics([topic, `${topic}-missing`, topic]);
        expect([...found.keys()]).toEqual([topic]);
        expect(found.get(topic)).toEqual({ name: topic, topicId: expect.stringMatching(/^.+$/) as unknown, partitions: 3 });
        expect((await scene.broker.admin.describeTopics([])).size).toBe(0);
      }),
    );

    it(
      'lists the topics that exist',
      scenario(create, async (scene) => {
        const topic = await scene.topic(3);
        const listed = await scene.broker.admin.listTopics();
        expect(listed.filter((name) => name.startsWith(topic))).toEqual([topic]);
      }),
    );

    it(
      'creates a topic that exists already without changing it',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        await scene.broker.admin.createTopic({ name: topic, partitions: 5, replicationFactor: -1, config: {} });
        expect((await scene.broker.admin.describeTopics([topic])).get(topic)?.partitions).toBe(2);
      }),
    );

    it(
      'refuses wrong topics',
      scenario(create, async (scene) => {
        const name = `${scene.id}-wrong`;
        for (const specification of [
          { name, partitions: 1, replicationFactor: 30, config: {} },
          { name, partitions: 1, replicationFactor: -1, config: { 'cleanup.policy': 'nonsense' } },
          { name: 'no/slashes', partitions: 1, replicationFactor: -1, config: {} },
        ]) {
          expectKind(await failureOf(scene.broker.admin.createTopic(specification)), 'invalid');
        }
      }),
    );

    it(
      'gives a topic that is made again another id',
      scenario(create, async (scene) => {
        const topic = await scene.topic(1);
        const before = (await scene.broker.admin.describeTopics([topic])).get(topic);
        await scene.setting.deleteTopic(topic);
        await scene.until('the topic is gone', async () => !(await scene.broker.admin.describeTopics([topic])).has(topic));
        await scene.broker.admin.createTopic({ name: topic, partitions: 1, replicationFactor: -1, config: {} });
        const after = (await scene.broker.admin.describeTopics([topic])).get(topic);
        expect(after?.topicId).not.toBe(before?.topicId);
      }),
    );

    it(
      'lists the offsets of partitions, repeated ones and none at all too',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        await scene.write(topic, [{ partition: 1 }, { partition: 1 }]);
        await scene.settledEnds(topic, 2);
        const [zero, one] = range(topic, 2) as [(typeof list)[number], (typeof list)[number]];
        const list = range(topic, 2);
        expect(await scene.broker.admin.listOffsets([], 'earliest')).toEqual([]);
        expect(await scene.broker.admin.listOffsets([one, zero, one], 'earliest')).toEqual(
          [one, zero, one].map((at) => ({ ...at, offset: 0 })),
        );
        // Two records and the transaction's marker.
        expect(await scene.broker.admin.listOffsets([one, zero], 'highWatermark')).toEqual([
          { ...one, offset: 3 },
          { ...zero, offset: 0 },
        ]);
        expect(await scene.broker.admin.listOffsets([one], 'lastStable')).toEqual([{ ...one, offset: 3 }]);
      }),
    );

    it(
      'names the topic whose offsets it cannot list',
      scenario(create, async (scene) => {
        const topic = await scene.topic(1);
        for (const at of [
          { topic: `${topic}-missing`, partition: 0 },
          { topic, partition: 9 },
        ]) {
          const error = await failureOf(scene.broker.admin.listOffsets([{ topic, partition: 0 }, at], 'highWatermark'));
          expectKind(error, 'invalid');
          expect(error.message).toContain(`${at.topic}-${at.partition}`);
          // Where no partition of the request is known the client answers otherwise.
          expect(await failureOf(scene.broker.admin.listOffsets([at], 'earliest'))).toMatchObject({
            kind: 'invalid',
            code: 'UNKNOWN_TOPIC',
          });
          expect(await failureOf(scene.broker.admin.deleteRecords([{ ...at, offset: 0 }]))).toMatchObject({
            kind: 'invalid',
            code: 'UNKNOWN_TOPIC',
          });
        }
      }),
    );

    it(
      'lists the offsets of hundreds of partitions',
      scenario(create, async (scene) => {
        const topic = await scene.topic(520);
        let offsets: readonly TopicPartitionOffset[] = [];
        // A busy cluster takes longer than one request may to find a leader for each of them: asked again, as the answer says.
        await scene.until('all partitions have leaders', async () => {
          try {
            offsets = await scene.broker.admin.listOffsets(range(topic, 520), 'highWatermark');
            return true;
          } catch (error) {
            if (error instanceof BrokerError && error.kind === 'retriable') return false;
            throw error;
          }
        });
        expect(offsets).toEqual(range(topic, 520).map((at) => ({ ...at, offset: 0 })));
      }),
    );

    it(
      'deletes records before an offset',
      scenario(create, async (scene) => {
        const topic = await scene.topic(1);
        await scene.write(topic, [{}, {}, { value: bytes('kept') }]);
        await scene.settledEnds(topic);
        await scene.broker.admin.deleteRecords([{ topic, partition: 0, offset: 2 }]);
        expect(await scene.broker.admin.listOffsets(range(topic, 1), 'earliest')).toEqual([{ topic, partition: 0, offset: 2 }]);
        await scene.broker.admin.deleteRecords([]);
        expectKind(await failureOf(scene.broker.admin.deleteRecords([{ topic, partition: 0, offset: 99 }])), 'invalid');
      }),
    );

    it(
      'tells "no offset" from "no answer yet"',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        const none = range(topic, 2).map((at) => ({ ...at, offset: undefined, metadata: '' }));
        expect(await scene.broker.admin.stableOffsets(`${scene.id}-nobody`, range(topic, 2))).toEqual(none);
        expect(await scene.broker.admin.stableOffsets(scene.id, [])).toEqual([]);
        const member = await scene.member([topic]);
        await member.holds(2);
        const producer = await scene.producer();
        await producer.begin();
        await producer.sendOffsets([{ topic, partition: 1, offset: 4, metadata: '' }], member.consumer);
        expectKind(await failureOf(scene.broker.admin.stableOffsets(scene.id, range(topic, 2))), 'pending');
        // The other partition is not held up.
        expect(await scene.broker.admin.stableOffsets(scene.id, range(topic, 1))).toEqual(none.slice(0, 1));
        await producer.commit();
        expect(await scene.stableOffsets(scene.id, range(topic, 2))).toEqual([none[0], { topic, partition: 1, offset: 4, metadata: '' }]);
      }),
    );

    it(
      'describes a group that does not exist as empty',
      scenario(create, async (scene) => {
        expect(await scene.broker.admin.describeGroup(`${scene.id}-nobody`)).toEqual([]);
      }),
    );
  });
}
