import { describe, expect, it } from 'vitest';
import { member, producer, setUp } from './setting.suite.js';

describe('the caller', () => {
  it('is told loudly when it breaks a rule', async () => {
    const setting = setUp();
    setting.cluster.createTopic('in', 1);
    await setting.run(async () => {
      const one = member(setting, 'one');
      await one.consumer.subscribe(['in']);
      await one.poll(() => one.held.size === 1);
      const consuming = one.consumer.consume(10, 10);
      await expect(one.consumer.consume(10, 10)).rejects.toThrow('interleave');
      await expect(one.consumer.seek([{ topic: 'in', partition: 0, offset: 0 }])).rejects.toThrow('in flight');
      await consuming;
      const { producer: tx, send } = await producer(setting, 'one', 'tx');
      expect(() => send('in', 0, 'a')).toThrow('state ready');
      await tx.begin();
      const committing = tx.commit();
      expect(() => send('in', 0, 'a')).toThrow('during commit');
      await committing;
    });
    expect(setting.cluster.violations).toHaveLength(4);
  });
});

describe('the same seed', () => {
  it('gives the same history', async () => {
    const history = async (seed: number): Promise<string[]> => {
      const setting = setUp(seed);
      setting.cluster.createTopic('in', 4);
      await setting.run(async () => {
        const one = member(setting, 'one');
        await one.consumer.subscribe(['in']);
        const two = member(setting, 'two');
        await two.consumer.subscribe(['in']);
        const done = () => one.held.size === 2 && two.held.size === 2;
        await Promise.all([one.poll(done), two.poll(done)]);
      });
      return setting.trace;
    };
    const first = await history(7);
    expect(first.length).toBeGreaterThan(10);
    expect(await history(7)).toEqual(first);
  });
});
