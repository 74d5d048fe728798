import { describe, expect, it } from 'vitest';
import {
  bytes,
  type CreateSetting,
  expectKind,
  failureOf,
  type Member,
  named,
  range,
  scenario,
  type Scene,
  send,
  texts,
} from './scenario.suite.js';

export function groupSuite(create: CreateSetting): void {
  describe('groups', () => {
    it(
      'gives all partitions to a lone member, outside of a consume',
      scenario(create, async (scene) => {
        const topic = await scene.topic(3);
        const member = await scene.member([topic]);
        await member.holds(3);
        expect(member.history).toEqual([`assigned ${range(topic, 3).map(named).join(' ')}`]);
        const described = await scene.broker.admin.describeGroup(scene.id);
        expect(described.map(({ clientId, partitions }) => [clientId, partitions.map(named).sort()])).toEqual([
          [member.clientId, range(topic, 3).map(named)],
        ]);
      }),
    );

    it(
      'lets assigned partitions go on while the answer for others is awaited',
      scenario(create, async (scene) => {
        const [first, second] = [await scene.topic(1), await scene.topic(1)];
        const member = await scene.member([first]);
        await member.holds(1);
        await member.consumer.subscribe([first, second]);
        await scene.until('the second topic is assigned', async () => {
          await member.consume();
          return member.asked.length > 0;
        });
        await scene.write(first, [{ value: bytes('meanwhile') }]);
        expect((await member.receives(1)).map((record) => record.topic)).toEqual([first]);
        await member.answer();
        await scene.write(second, [{ value: bytes('then') }]);
        expect((await member.receives(1)).map((record) => record.topic)).toEqual([second]);
      }),
    );

    it(
      'moves partitions to a second member only when the first has let them go',
      scenario(create, async (scene) => {
        const topic = await scene.topic(4);
        const first = await scene.member([topic]);
        await first.holds(4);
        const second = await scene.member([topic]);
        await scene.until('the first is asked to let go', async () => {
          await Promise.all([first.consume(), second.turn()]);
          return first.asked.length > 0;
        });
        const revoked = first.asked[0]?.partitions ?? [];
        expect(revoked).toHaveLength(2);
        for (let count = 0; count < 10; count++) await Promise.all([first.consume(), second.turn()]);
        expect([...second.held]).toEqual([]);
        // One of the two is not enough: the group is answered when all that were named are let go.
        await first.consumer.unassign(revoked.slice(0, 1));
        for (let count = 0; count < 10; count++) await Promise.all([first.consume(), second.turn()]);
        expect([...second.held]).toEqual([]);
        await first.answer();
        await bothTurn(scene, first, second, () => second.held.size === 2);
        expect([...second.held].sort()).toEqual(revoked.map(named).sort());
        expect([...first.held, ...second.held].sort()).toEqual(range(topic, 4).map(named));
      }),
    );

    it(
      'keeps equal partition numbers of two topics together',
      scenario(create, async (scene) => {
        const [left, right] = [await scene.topic(4), await scene.topic(4)];
        const first = await scene.member([left, right]);
        await first.holds(8);
        const second = await scene.member([left, right]);
        await bothTurn(scene, first, second, () => first.held.size === 4 && second.held.size === 4);
        for (const member of [first, second]) {
          const numbers = (topic: string): string[] =>
            [...member.held].filter((name) => name.startsWith(`${topic}/`)).map((name) => name.slice(topic.length));
          expect(numbers(left).sort()).toEqual(numbers(right).sort());
        }
      }),
    );

    it(
      'gives out partitions that are added, and takes back those of a topic that is deleted',
      scenario(create, async (scene) => {
        const [kept, grown] = [await scene.topic(1), await scene.topic(1)];
        const member = await scene.member([kept, grown]);
        await member.holds(2);
        await scene.setting.addPartitions(grown, 3);
        await member.holds(4);
        expect([...member.held].sort()).toEqual([...range(kept, 1), ...range(grown, 3)].map(named).sort());
        await scene.deleteTopic(grown);
        await member.holds(1);
        expect([...member.held]).toEqual(range(kept, 1).map(named));
        expect(member.history.filter((line) => line.includes(`${kept}/`))).toHaveLength(1);
        await scene.write(kept, [{ value: bytes('after') }]);
        expect(texts(await member.receives(1))).toEqual(['after']);
      }),
    );

    it(
      'gives the partitions of a member that leaves to the others',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        const first = await scene.member([topic]);
        await first.holds(2);
        const second = await scene.member([topic]);
        await bothTurn(scene, first, second, () => first.held.size === 1 && second.held.size === 1);
        await first.close();
        await second.holds(2);
        expect(second.history.filter((line) => line.startsWith('lost'))).toEqual([]);
      }),
    );

    it(
      'closes while a revocation is unanswered',
      scenario(create, async (scene) => {
        const topic = await scene.topic(2);
        const first = await scene.member([topic]);
        await first.holds(2);
        const second = await scene.member([topic]);
        await scene.until('the first is asked to let go', async () => {
          await Promise.all([first.consume(), second.turn()]);
          return first.asked.length > 0;
        });
        await Promise.all([first.close(), first.close()]);
        await second.holds(2);
        expectKind(await failureOf(first.consumer.consume(1, 10)), 'closed');
      }),
    );

    it(
      'refuses the offsets of a member that the group has given up, and tells it of the loss',
      scenario(create, async (scene) => {
        const topic = await scene.topic(1);
        const zombie = await scene.member([topic]);
        await zombie.holds(1);
        await scene.setting.outlastPolling();
        const successor = await scene.member([topic]);
        await successor.holds(1);
        const producer = await scene.producer();
        await producer.begin();
        send(producer, topic, { value: bytes('of the zombie') });
        expectKind(
          await failureOf(producer.sendOffsets([{ topic, partition: 0, offset: 9, metadata: '' }], zombie.consumer)),
          'staleMember',
        );
        await producer.abort();
        await scene.until('the zombie hears of it', async () => {
          await Promise.all([zombie.turn(), successor.turn()]);
          return zombie.history.some((line) => line.startsWith('lost'));
        });
        expect(await scene.stableOffsets(scene.id, range(topic, 1))).toEqual([{ topic, partition: 0, offset: undefined, metadata: '' }]);
        expect(await scene.readAll(topic)).toEqual([]);
      }),
    );

    it(
      'refuses the offsets of partitions that the member does not own',
      scenario(create, async (scene) => {
        const [own, foreign] = [await scene.topic(1), await scene.topic(1)];
        const member = await scene.member([own]);
        await member.holds(1);
        const producer = await scene.producer();
        await producer.begin();
        expectKind(
          await failureOf(producer.sendOffsets([{ topic: foreign, partition: 0, offset: 1, metadata: '' }], member.consumer)),
          'staleMember',
        );
        await member.close();
        expectKind(
          await failureOf(producer.sendOffsets([{ topic: own, partition: 0, offset: 1, metadata: '' }], member.consumer)),
          'staleMember',
        );
        await producer.abort();
      }),
    );
  });
}

async function bothTurn(scene: Scene, first: Member, second: Member, reached: () => boolean): Promise<void> {
  await scene.until('the partitions have moved', async () => {
    await Promise.all([first.turn(), second.turn()]);
    return reached();
  });
}
