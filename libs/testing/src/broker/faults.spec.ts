import { describe, expect, it } from 'vitest';
import { noHeaders } from '@tally/streams';
import { SimulatedBroker } from './broker.js';
import { bytes, member, passes, producer, rejection, setUp, values } from './setting.suite.js';
import { simulatedError } from './errors.js';

describe('faults', () => {
  it('writes a batch once whose answer was lost', async () => {
    const setting = setUp();
    setting.cluster.createTopic('out', 1);
    setting.cluster.faults.next('produce', { lose: 'answer' });
    await setting.run(async () => {
      const { producer: one, send } = await producer(setting, 'one', 'tx');
      await one.begin();
      send('out', 0, 'a');
      await one.commit();
      await passes(setting, 20);
    });
    expect(setting.cluster.faults.fired).toHaveLength(1);
    expect(values(setting.cluster.records('out', 0, 'readUncommitted'))).toEqual(['a']);
  });

  it('answers with the given error instead of taking effect, for the client that is meant', async () => {
    const setting = setUp();
    setting.cluster.createTopic('in', 1);
    const remove = setting.cluster.faults.add((request) =>
      request.name === 'stableOffsets' && request.process === 'one' ? { error: simulatedError('UNSTABLE_OFFSET_COMMIT') } : undefined,
    );
    await setting.run(async () => {
      const one = setting.start('one').broker;
      const at = [{ topic: 'in', partition: 0 }];
      expect((await rejection(one.admin.stableOffsets('group', at))).kind).toBe('pending');
      await setting.start('two').broker.admin.stableOffsets('group', at);
      remove();
      await one.admin.stableOffsets('group', at);
    });
    expect(setting.cluster.faults.fired).toHaveLength(1);
  });

  it('reads the member epoch when the request runs, not when it was called', async () => {
    const setting = setUp();
    setting.cluster.createTopic('in', 2);
    await setting.run(async () => {
      const one = member(setting, 'one');
      const tx = one.broker.createTransactionalProducer({ transactionalId: 'tx', transactionTimeoutMs: 60_000, clientId: 'one' });
      await tx.init();
      await one.consumer.subscribe(['in']);
      await one.poll(() => one.held.size === 2);
      await tx.begin();
      setting.cluster.faults.next('commitTransactionOffsets', { delayMs: 100 });
      const at = one.held.has('in-1') ? 1 : 0;
      const sending = tx.sendOffsets([{ topic: 'in', partition: at, offset: 5, metadata: '' }], one.consumer);
      const two = member(setting, 'two');
      await two.consumer.subscribe(['in']);
      await sending;
      await tx.commit();
    });
    expect(setting.cluster.faults.fired).toHaveLength(1);
  });

  it('delays the call that waits in the queue of the client, so that it runs under a later membership', async () => {
    const setting = setUp();
    setting.cluster.createTopic('in', 2);
    await setting.run(async () => {
      const one = member(setting, 'one');
      const tx = one.broker.createTransactionalProducer({ transactionalId: 'tx', transactionTimeoutMs: 60_000, clientId: 'one' });
      await tx.init();
      await one.consumer.subscribe(['in']);
      await one.poll(() => one.held.size === 2);
      await tx.begin();
      setting.cluster.faults.next('sendOffsets', { delayMs: 10_000 });
      const sending = tx.sendOffsets([{ topic: 'in', partition: 0, offset: 5, metadata: '' }], one.consumer);
      const two = member(setting, 'two');
      await two.consumer.subscribe(['in']);
      const isShared = (): boolean => one.held.size === 1 && two.held.size === 1;
      await Promise.all([one.poll(isShared), two.poll(isShared)]);
      // Whoever holds the partition now, the member is a current one and may commit it.
      await sending;
      await tx.commit();
      await passes(setting, 20);
    });
    expect(setting.cluster.committedOffset('group', { topic: 'in', partition: 0 }).offset).toBe(5);
  });

  it('answers with the given error although it took effect: such a commit cannot be aborted, and has happened', async () => {
    const setting = setUp();
    setting.cluster.createTopic('out', 1);
    setting.cluster.faults.next('endTransaction', { answerError: simulatedError('INVALID_TXN_STATE', undefined, 'abortable') });
    await setting.run(async () => {
      const { producer: one, send } = await producer(setting, 'one', 'tx');
      await one.begin();
      send('out', 0, 'a');
      expect((await rejection(one.commit())).kind).toBe('abortable');
      expect((await rejection(one.abort())).kind).toBe('fatal');
      await one.close();
      await producer(setting, 'two', 'tx');
    });
    expect(values(setting.cluster.records('out', 0))).toEqual(['a']);
  });

  it('brings a commit late whose producer has given up on it and been closed, and the coordinator fences it if there is a new one', async () => {
    for (const replacedMs of [100, 2_000]) {
      const setting = setUp();
      const { cluster } = setting;
      cluster.createTopic('out', 1);
      cluster.faults.next('endTransaction', { delayMs: 6_000 });
      await setting.run(async () => {
        const { producer: one, send } = await producer(setting, 'one', 'tx', 60_000);
        await one.begin();
        send('out', 0, 'a');
        expect((await rejection(one.commit())).kind).toBe('retriable');
        await one.close();
        const startMs = setting.clock.monotonicMs();
        await passes(setting, replacedMs);
        await producer(setting, 'two', 'tx', 60_000);
        while (setting.clock.monotonicMs() < startMs + 10_000) await passes(setting, 100);
      });
      expect(cluster.faults.lateRequests).toBe(1);
      expect(values(cluster.records('out', 0))).toEqual(replacedMs > 1_000 ? ['a'] : []);
    }
  });

  it('drops a request that was given up on by a producer which goes on', async () => {
    const setting = setUp();
    const { cluster } = setting;
    cluster.createTopic('out', 1);
    cluster.faults.next('endTransaction', { delayMs: 6_000 });
    await setting.run(async () => {
      const { producer: one, send } = await producer(setting, 'one', 'tx', 60_000);
      await one.begin();
      send('out', 0, 'a');
      expect((await rejection(one.commit())).kind).toBe('retriable');
      await one.commit();
      await one.begin();
      send('out', 0, 'b');
      await passes(setting, 10_000);
      await one.abort();
    });
    expect(cluster.faults.lateRequests).toBe(0);
    expect(values(cluster.records('out', 0))).toEqual(['a']);
  });

  it('outlives a restart of the cluster', async () => {
    const setting = setUp();
    const { cluster } = setting;
    cluster.createTopic('out', 1);
    await setting.run(async () => {
      const { producer: one, send, broker } = await producer(setting, 'one', 'tx', 60_000);
      const two = member(setting, 'two');
      await two.consumer.subscribe(['out']);
      await two.poll(() => two.held.size === 1);
      await one.begin();
      send('out', 0, 'a');
      cluster.stop();
      expect((await rejection(one.commit())).kind).toBe('retriable');
      expect((await rejection(broker.admin.describeTopics(['out']))).kind).toBe('retriable');
      expect(await two.turn()).toEqual([]);
      cluster.start();
      await one.commit();
      await two.poll(() => two.records.length === 1);
      expect(two.log).toEqual(['assigned out-0']);
    });
  });

  it('answers nothing after a crash, and what was sent before it still takes effect', async () => {
    const setting = setUp();
    setting.cluster.createTopic('out', 1);
    await setting.run(async () => {
      const { producer: one, send, broker, clock } = await producer(setting, 'one', 'tx');
      await one.begin();
      send('out', 0, 'a');
      const committing = one.commit();
      let answered = false;
      void committing.finally(() => {
        answered = true;
      });
      const removed = setting.cluster.faults.add((request) => {
        if (request.name !== 'endTransaction') return undefined;
        setting.clock.after(0.1, () => {
          broker.crash();
          clock.kill();
        });
        return {};
      });
      await passes(setting, 100);
      removed();
      expect(answered).toBe(false);
    });
    expect(values(setting.cluster.records('out', 0))).toEqual(['a']);
  });
});

describe('the output producer', () => {
  it('queues nothing while its queue is full of records or bytes, and takes more when they are sent', async () => {
    const setting = setUp();
    const { cluster } = setting;
    cluster.createTopic('out', 1);
    for (const bounds of [{ queueRecordsMax: 2 }, { queueBytesMax: 130 }]) {
      await setting.run(async () => {
        const out = new SimulatedBroker(cluster, { producer: bounds }).createOutputProducer();
        await out.connect();
        const send = (): boolean => out.produce('out', 0, null, new Uint8Array(50), 1, noHeaders);
        expect([send(), send(), send()]).toEqual([true, true, false]);
        await out.flush(5_000);
        expect(send()).toBe(true);
        await out.flush(5_000);
      });
    }
    expect(cluster.records('out', 0)).toHaveLength(6);
  });

  it('delivers once, reports what was refused, and times out', async () => {
    const setting = setUp();
    const { cluster } = setting;
    cluster.createTopic('out', 1, { 'max.message.bytes': '1000' });
    await setting.run(async () => {
      const out = setting.start('one').broker.createOutputProducer();
      await out.connect();
      out.produce('out', 0, null, bytes('a'), 1, noHeaders);
      cluster.faults.next('produce', { lose: 'answer' });
      await out.flush(5_000);
      expect(values(cluster.records('out', 0))).toEqual(['a']);
      out.produce('out', 0, null, bytes('x'.repeat(2_000)), 1, noHeaders);
      await out.flush(5_000);
      expect(out.takeFailures()).toMatchObject([{ topic: 'out', partition: 0, error: { kind: 'recordRefused' } }]);
      cluster.stop();
      out.produce('out', 0, null, bytes('b'), 1, noHeaders);
      expect((await rejection(out.flush(1_000))).kind).toBe('retriable');
      cluster.start();
      await out.close();
    });
    expect(cluster.faults.fired).toHaveLength(1);
  });
});
