import { describe, expect, it } from 'vitest';
import { member, passes, rejection, setUp } from './setting.suite.js';

describe('groups', () => {
  it('keeps equal partitions together, moves them one by one and gives them back', async () => {
    const setting = setUp();
    setting.cluster.createTopic('left', 4);
    setting.cluster.createTopic('right', 4);
    await setting.run(async () => {
      const one = member(setting, 'one');
      await one.consumer.subscribe(['left', 'right']);
      await one.poll(() => one.held.size === 8);
      const two = member(setting, 'two');
      await two.consumer.subscribe(['left', 'right']);
      await Promise.all([
        one.poll(() => one.held.size === 4 && two.held.size === 4),
        two.poll(() => one.held.size === 4 && two.held.size === 4),
      ]);
      for (const held of [one.held, two.held]) {
        expect(
          [...held]
            .filter((name) => name.startsWith('left'))
            .map((name) => name.slice(5))
            .toSorted(),
        ).toEqual(
          [...held]
            .filter((name) => name.startsWith('right'))
            .map((name) => name.slice(6))
            .toSorted(),
        );
      }
      expect(one.log.filter((line) => line.startsWith('revoked'))).toHaveLength(1);
      await two.consumer.close();
      await one.poll(() => one.held.size === 8);
    });
    expect(setting.cluster.violations).toEqual([]);
  });

  it('removes a silent member after the session timeout; waking up it has lost all', async () => {
    const setting = setUp();
    setting.cluster.createTopic('in', 2);
    await setting.run(async () => {
      const one = member(setting, 'one');
      await one.consumer.subscribe(['in']);
      await one.poll(() => one.held.size === 2);
      const two = member(setting, 'two');
      one.clock.pause();
      await two.consumer.subscribe(['in']);
      await two.poll(() => two.held.size === 2);
      one.clock.resume();
      await one.turn();
      await Promise.all([
        one.poll(() => one.held.size === 1 && two.held.size === 1),
        two.poll(() => one.held.size === 1 && two.held.size === 1),
      ]);
      expect(one.log.some((line) => line.startsWith('lost in-0 in-1'))).toBe(true);
    });
  });

  it('refuses the offsets of a member that the group has forgotten', async () => {
    const setting = setUp();
    setting.cluster.createTopic('in', 1);
    await setting.run(async () => {
      const one = member(setting, 'one');
      const tx = one.broker.createTransactionalProducer({ transactionalId: 'tx', transactionTimeoutMs: 60_000, clientId: 'one' });
      await tx.init();
      await one.consumer.subscribe(['in']);
      await one.poll(() => one.held.size === 1);
      await tx.begin();
      one.clock.pause();
      await passes(setting, 7_000);
      one.clock.resume();
      const error = await rejection(tx.sendOffsets([{ topic: 'in', partition: 0, offset: 5, metadata: '' }], one.consumer));
      expect(error).toMatchObject({ kind: 'staleMember', brokerCode: 25 });
      expect((await rejection(tx.commit())).kind).toBe('abortable');
      await tx.abort();
    });
  });

  it('holds stable offsets back while a transaction is open or its marker is missing', async () => {
    const setting = setUp();
    setting.cluster.createTopic('in', 1);
    const at = { topic: 'in', partition: 0 };
    await setting.run(async () => {
      const one = member(setting, 'one');
      const tx = one.broker.createTransactionalProducer({ transactionalId: 'tx', transactionTimeoutMs: 60_000, clientId: 'one' });
      await tx.init();
      await one.consumer.subscribe(['in']);
      await one.poll(() => one.held.size === 1);
      expect(await one.broker.admin.stableOffsets('group', [at])).toEqual([{ ...at, offset: undefined, metadata: '' }]);
      await tx.begin();
      await tx.sendOffsets([{ ...at, offset: 5, metadata: 'm' }], one.consumer);
      expect((await rejection(one.broker.admin.stableOffsets('group', [at]))).kind).toBe('pending');
      await tx.commit();
      await setting.start('x').broker.connect();
      expect(await one.broker.admin.stableOffsets('group', [at])).toEqual([{ ...at, offset: 5, metadata: 'm' }]);
    });
  });

  it('does not fence the transaction of a producer that names no member', async () => {
    const setting = setUp();
    setting.cluster.createTopic('in', 1);
    await setting.run(async () => {
      const one = member(setting, 'one');
      await one.consumer.subscribe(['in']);
      await one.poll(() => one.held.size === 1);
    });
    const group = setting.cluster.group('group');
    const nobody = { groupId: 'group', memberId: '', memberEpoch: -1 };
    const offsets = [{ topic: 'in', partition: 0, offset: 5, metadata: '' }];
    expect(() => group.checkTransactionalCommit(nobody, offsets)).not.toThrow();
    expect(() => group.checkCommit(nobody, offsets)).toThrow('does not know this member');
    expect(() => group.checkTransactionalCommit({ ...nobody, memberId: 'stranger' }, offsets)).toThrow('does not know this member');
  });

  it('gives a partition to its successor only after it was let go', async () => {
    const setting = setUp();
    setting.cluster.createTopic('in', 2);
    await setting.run(async () => {
      const one = member(setting, 'one');
      await one.consumer.subscribe(['in']);
      await one.poll(() => one.held.size === 2);
      one.holdAnswers(true);
      const two = member(setting, 'two');
      await two.consumer.subscribe(['in']);
      let turns = 0;
      await Promise.all([one.poll(() => turns > 100), two.poll(() => ++turns > 100)]);
      expect(one.log.at(-1)).toMatch(/^revoked/);
      expect(two.held.size).toBe(0);
      one.holdAnswers(false);
      const done = () => one.held.size === 1 && two.held.size === 1;
      await Promise.all([one.poll(done), two.poll(done)]);
    });
  });

  it('accepts an older epoch for what was held since then, and nothing else', () => {
    const { cluster } = setUp();
    cluster.createTopic('in', 2);
    const group = cluster.group('group');
    const beat = (memberId: string, memberEpoch: number, owned: number[]) =>
      group.heartbeat({
        memberId,
        memberEpoch,
        clientId: memberId,
        topics: ['in'],
        owned: owned.map((partition) => ({ topic: 'in', partition, topicId: cluster.topics.find('in')?.topicId ?? '' })),
        rebalanceTimeoutMs: 60_000,
      });
    const commit = (memberId: string, memberEpoch: number, partition: number) => () =>
      group.checkCommit({ groupId: 'group', memberId, memberEpoch }, [{ topic: 'in', partition, offset: 1, metadata: '' }]);
    expect(beat('a', 0, []).assignment.map((each) => each.partition)).toEqual([0, 1]);
    expect(beat('b', 0, [])).toEqual({ memberEpoch: 2, assignment: [] });
    expect(beat('a', 1, [0, 1])).toMatchObject({ memberEpoch: 1, assignment: [{ partition: 0 }] });
    expect(beat('a', 1, [0]).memberEpoch).toBe(2);
    expect(beat('b', 2, []).assignment).toMatchObject([{ partition: 1 }]);
    expect(commit('a', 1, 0)).not.toThrow();
    expect(commit('a', 1, 1)).toThrow(expect.objectContaining({ kind: 'staleMember', brokerCode: 113 }));
    expect(commit('a', 2, 1)).not.toThrow();
    expect(commit('a', 3, 0)).toThrow(expect.objectContaining({ brokerCode: 113 }));
    expect(commit('c', 1, 0)).toThrow(expect.objectContaining({ brokerCode: 25 }));
  });

  it('brings added partitions, and those of a topic that was made again', async () => {
    const setting = setUp();
    const { cluster } = setting;
    cluster.createTopic('in', 1);
    await setting.run(async () => {
      const one = member(setting, 'one');
      await one.consumer.subscribe(['in']);
      await one.poll(() => one.held.size === 1);
      cluster.addPartitions('in', 2);
      await one.poll(() => one.held.size === 2);
      const before = cluster.topics.find('in')?.topicId;
      cluster.group('group').offsets.commit([{ topic: 'in', partition: 0, offset: 3, metadata: '' }]);
      cluster.deleteTopic('in');
      cluster.createTopic('in', 1);
      expect(cluster.topics.find('in')?.topicId).not.toBe(before);
      await one.poll(() => one.log.at(-1) === 'assigned in-0');
      expect(one.log).toEqual(['assigned in-0', 'assigned in-1', 'revoked in-0 in-1', 'assigned in-0']);
      expect(cluster.committedOffset('group', { topic: 'in', partition: 0 }).offset).toBeUndefined();
    });
  });

  it('forgets offsets when they expire', () => {
    const { cluster } = setUp();
    cluster.createTopic('in', 2);
    const at = (partition: number) => ({ topic: 'in', partition });
    cluster.group('group').offsets.commit([0, 1].map((partition) => ({ ...at(partition), offset: 3, metadata: '' })));
    cluster.expireOffsets('group', [at(0)]);
    expect([0, 1].map((partition) => cluster.committedOffset('group', at(partition)).offset)).toEqual([undefined, 3]);
    cluster.expireOffsets('group');
    expect(cluster.committedOffset('group', at(1)).offset).toBeUndefined();
  });
});
