import { describe, expect, it } from 'vitest';
import { inParallel } from './in-parallel.mjs';

describe('work in parallel', () => {
  it('is done a few at a time, in order, and answered in order', async () => {
    const started = [];
    const ends = [];
    const results = inParallel([1, 2, 3, 4], 2, (item) => {
      started.push(item);
      return new Promise((resolve) => ends.push(() => resolve(item * 10)));
    });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await turn();
    expect(started).toEqual([1, 2]);
    ends[1]();
    await turn();
    expect(started).toEqual([1, 2, 3]);
    ends[0]();
    ends[2]();
    await turn();
    ends[3]();
    expect(await Promise.all(results)).toEqual([10, 20, 30, 40]);
  });

  it('goes on after work that failed', async () => {
    const results = inParallel([1, 2], 1, async (item) => {
      if (item === 1) throw new Error('no');
      return item;
    });
    expect((await Promise.allSettled(results)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});
