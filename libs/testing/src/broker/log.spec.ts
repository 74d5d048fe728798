import { describe, expect, it } from 'vitest';
import { passes, producer, rejection, setUp, values } from './setting.suite.js';

describe('logs', () => {
  it('compacts, keeps tombstones for their time, and leaves the end where it was', async () => {
    const setting = setUp();
    const { cluster, clock } = setting;
    cluster.createTopic('log', 1, { 'cleanup.policy': 'compact', 'delete.retention.ms': '1000' });
    cluster.append('log', 0, [
      { key: 'a', value: '1' },
      { key: 'b', value: '1' },
      { key: 'a', value: '2' },
      { key: 'b', value: null },
    ]);
    cluster.compact();
    expect(cluster.records('log', 0).map((record) => record.offset)).toEqual([2, 3]);
    await clock.advance(1_001);
    cluster.compact();
    expect(cluster.records('log', 0).map((record) => record.offset)).toEqual([2]);
    const reader = setting.start('one').broker.createReader();
    await setting.run(async () => {
      await reader.connect();
      await reader.assign([{ topic: 'log', partition: 0, offset: 0 }]);
      expect(reader.position({ topic: 'log', partition: 0 })).toBe(0);
      expect(values(await reader.read(10, 10))).toEqual(['2']);
      expect(reader.position({ topic: 'log', partition: 0 })).toBe(4);
    });
  });

  it('deletes by retention and by request, and reports a reader that fell out', async () => {
    const setting = setUp();
    const { cluster, clock } = setting;
    cluster.createTopic('log', 1, { 'retention.ms': '1000' });
    cluster.append('log', 0, [{ key: 'a', value: 'old' }]);
    await clock.advance(2_000);
    cluster.append('log', 0, [
      { key: 'a', value: 'new' },
      { key: 'a', value: 'newer' },
    ]);
    cluster.applyRetention();
    expect(values(cluster.records('log', 0))).toEqual(['new', 'newer']);
    const at = { topic: 'log', partition: 0 };
    await setting.run(async () => {
      const { broker } = setting.start('one');
      await broker.admin.deleteRecords([{ ...at, offset: 2 }]);
      expect(await broker.admin.listOffsets([at], 'earliest')).toEqual([{ ...at, offset: 2 }]);
      expect(await rejection(broker.admin.deleteRecords([{ ...at, offset: 4 }]))).toMatchObject({ kind: 'invalid', brokerCode: 1 });
      const reader = broker.createReader();
      await reader.connect();
      await reader.assign([{ ...at, offset: 1 }]);
      expect(await rejection(reader.read(10, 10))).toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
      await reader.assign([{ ...at, offset: 2 }]);
      expect(values(await reader.read(10, 10))).toEqual(['newer']);
      expect(await reader.read(10, 10)).toEqual([]);
    });
  });

  it('refuses records of compacted topics that have no key, and records of the future', () => {
    const { cluster, clock } = setUp();
    cluster.createTopic('log', 1, { 'cleanup.policy': 'compact' });
    expect(() => cluster.append('log', 0, [{ key: null, value: 'x' }])).toThrow(expect.objectContaining({ code: 'RECORD_INVALID' }));
    expect(() => cluster.append('log', 0, [{ key: 'a', value: 'x', timestampMs: clock.nowMs() + 3_700_000 }])).toThrow(
      expect.objectContaining({ code: 'TIMESTAMP_INVALID' }),
    );
  });

  it('does not compact past an open transaction', async () => {
    const setting = setUp();
    const { cluster } = setting;
    cluster.createTopic('log', 1, { 'cleanup.policy': 'compact' });
    cluster.append('log', 0, [{ key: 'key', value: 'committed' }]);
    await setting.run(async () => {
      const { producer: one, send } = await producer(setting, 'one', 'tx');
      await one.begin();
      send('log', 0, 'open');
      await passes(setting, 20);
      cluster.compact();
      expect(values(cluster.records('log', 0))).toEqual(['committed']);
      await one.commit();
      await passes(setting, 20);
      cluster.compact();
      expect(values(cluster.records('log', 0))).toEqual(['open']);
    });
  });
});
