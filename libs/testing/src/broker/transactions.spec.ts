import { describe, expect, it } from 'vitest';
import { SimulatedBroker } from './broker.js';
import { passes, producer, rejection, setUp, values } from './setting.suite.js';

describe('transactions', () => {
  it('shows records to committed readers once the marker is there, and counts the marker as an offset', async () => {
    const setting = setUp(1, 20);
    const { cluster, run } = setting;
    cluster.createTopic('out', 1);
    await run(async () => {
      const { producer: one, send, broker } = await producer(setting, 'one', 'tx');
      await one.begin();
      send('out', 0, 'a');
      send('out', 0, 'b');
      await setting.start('other').broker.connect();
      await passes(setting, 50);
      expect(values(cluster.records('out', 0, 'readUncommitted'))).toEqual(['a', 'b']);
      expect(cluster.records('out', 0)).toEqual([]);
      expect(await broker.admin.listOffsets([{ topic: 'out', partition: 0 }], 'lastStable')).toEqual([
        { topic: 'out', partition: 0, offset: 0 },
      ]);
      await one.commit();
      await one.begin();
      send('out', 0, 'c');
      await one.commit();
      expect(values(cluster.records('out', 0))).toEqual(['a', 'b']);
    });
    await setting.clock.advance(100);
    expect(cluster.records('out', 0).map((record) => record.offset)).toEqual([0, 1, 3]);
    expect(cluster.topics.log({ topic: 'out', partition: 0 }).lastStableOffset).toBe(5);
  });

  it('drops what was aborted', async () => {
    const setting = setUp();
    setting.cluster.createTopic('out', 1);
    await setting.run(async () => {
      const { producer: one, send } = await producer(setting, 'one', 'tx');
      await one.begin();
      send('out', 0, 'gone');
      await passes(setting, 50);
      await one.abort();
      await one.begin();
      send('out', 0, 'kept');
      await one.commit();
    });
    await setting.clock.advance(100);
    expect(values(setting.cluster.records('out', 0))).toEqual(['kept']);
    expect(values(setting.cluster.records('out', 0, 'readUncommitted'))).toEqual(['gone', 'kept']);
  });

  it('shows open and aborted records to those alone who do not ask for committed ones', async () => {
    const setting = setUp();
    const { cluster } = setting;
    cluster.createTopic('out', 1);
    const read = async (isolation: 'readCommitted' | 'readUncommitted') => {
      const reader = new SimulatedBroker(cluster, { isolation }).createReader();
      await reader.connect();
      await reader.assign([{ topic: 'out', partition: 0, offset: 0 }]);
      const records = values(await reader.read(10, 20));
      return [records, reader.position({ topic: 'out', partition: 0 })];
    };
    await setting.run(async () => {
      const { producer: one, send } = await producer(setting, 'one', 'tx');
      await one.begin();
      send('out', 0, 'aborted');
      await passes(setting, 20);
      await one.abort();
      await one.begin();
      send('out', 0, 'open');
      await passes(setting, 20);
      expect(await read('readUncommitted')).toEqual([['aborted', 'open'], 3]);
      expect(await read('readCommitted')).toEqual([[], 2]);
    });
  });

  it('settles what a crashed predecessor left open, and fences a living one', async () => {
    const setting = setUp();
    setting.cluster.createTopic('out', 1);
    await setting.run(async () => {
      const one = await producer(setting, 'one', 'tx');
      await one.producer.begin();
      one.send('out', 0, 'zombie');
      await passes(setting, 50);
      const two = await producer(setting, 'two', 'tx');
      expect((await rejection(one.producer.commit())).kind).toBe('fenced');
      expect(() => one.send('out', 0, 'late')).toThrow();
      await two.producer.begin();
      two.send('out', 0, 'two');
      await two.producer.commit();
    });
    await setting.clock.advance(100);
    expect(values(setting.cluster.records('out', 0))).toEqual(['two']);
  });

  it('aborts a transaction that outlives its timeout and fences its producer', async () => {
    const setting = setUp();
    setting.cluster.createTopic('out', 1);
    await setting.run(async () => {
      const one = await producer(setting, 'one', 'tx', 2_000);
      await one.producer.begin();
      one.send('out', 0, 'late');
      await passes(setting, 4_000);
      expect((await rejection(one.producer.commit())).kind).toBe('fenced');
    });
    expect(setting.cluster.records('out', 0)).toEqual([]);
    expect(setting.cluster.topics.log({ topic: 'out', partition: 0 }).lastStableOffset).toBe(2);
  });

  it.each(['request', 'answer'] as const)('continues a commit whose %s was lost', async (lose) => {
    const setting = setUp();
    setting.cluster.createTopic('out', 1);
    await setting.run(async () => {
      const one = await producer(setting, 'one', 'tx');
      await one.producer.begin();
      one.send('out', 0, 'a');
      setting.cluster.faults.next('endTransaction', { lose });
      expect((await rejection(one.producer.commit())).kind).toBe('retriable');
      await one.producer.commit();
      await one.producer.begin();
      one.send('out', 0, 'b');
      await one.producer.commit();
    });
    await setting.clock.advance(100);
    expect(setting.cluster.faults.fired).toHaveLength(1);
    expect(values(setting.cluster.records('out', 0))).toEqual(['a', 'b']);
  });

  it('fails the whole batch of a refused record, and the partition once more in the next transaction', async () => {
    const setting = setUp();
    setting.cluster.createTopic('out', 2, { 'max.message.bytes': '1000' });
    await setting.run(async () => {
      const { producer: one, send } = await producer(setting, 'one', 'tx');
      await one.begin();
      send('out', 0, 'small');
      send('out', 0, 'x'.repeat(2_000));
      expect(await rejection(one.commit())).toMatchObject({ kind: 'abortable', code: 'RECORD_TOO_LARGE' });
      expect(one.takeFailures()).toMatchObject([
        { topic: 'out', partition: 0, error: { kind: 'recordRefused', code: 'RECORD_TOO_LARGE' } },
      ]);
      await one.abort();
      await one.begin();
      send('out', 0, 'again');
      expect(await rejection(one.commit())).toMatchObject({ kind: 'abortable', code: 'SEQUENCE_ECHO' });
      await one.abort();
      await one.begin();
      send('out', 0, 'again');
      await one.commit();
    });
    await setting.clock.advance(10);
    expect(values(setting.cluster.allRecords('out'))).toEqual(['again']);
  });
});
