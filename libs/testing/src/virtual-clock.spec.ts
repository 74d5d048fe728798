import { describe, expect, it } from 'vitest';
import { sleep } from '@tally/streams';
import { EndlessRunError, ProcessClock, VirtualClock } from './index.js';

describe('VirtualClock', () => {
  it('fires timers in order, equal ones as they were set, with all promises drained between them', async () => {
    const clock = new VirtualClock({ startMs: 1_000 });
    const seen: string[] = [];
    clock.after(20, () => seen.push('20'));
    clock.after(10, () => {
      seen.push('10a');
      void Promise.resolve()
        .then(() => Promise.resolve())
        .then(() => seen.push('promise'));
    });
    clock.after(10, () => seen.push('10b'));
    clock.after(15, () => seen.push('cancelled'))();
    await clock.advance(19);
    expect(seen).toEqual(['10a', 'promise', '10b']);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1_019, 19]);
    await clock.advance(1);
    expect(seen.at(-1)).toBe('20');
    expect(clock.pendingTimers).toBe(0);
  });

  it('drains long chains of promises before it fires anything, also for a caller that is no promise callback itself', async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    clock.after(0, () => seen.push('timer'));
    const chain = async (): Promise<void> => {
      for (let step = 0; step < 50; step += 1) await Promise.resolve();
      seen.push('chain');
    };
    await new Promise<void>((resolve, reject) => {
      setImmediate(() => {
        void chain();
        clock.advance(1).then(resolve, reject);
      });
    });
    expect(seen).toEqual(['chain', 'timer']);
  });

  it('lets the event loop turn while it fires many timers', async () => {
    const clock = new VirtualClock();
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    for (let index = 0; index < 1_000; index += 1) clock.after(index, () => {});
    await clock.runUntil(() => turned);
    expect(clock.pendingTimers).toBeGreaterThan(0);
  });

  it('keeps the order of many timers', async () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    const cancels: (() => void)[] = [];
    for (let index = 0; index < 5_000; index += 1) {
      const at = (index * 7_919) % 1_009;
      const cancel = clock.after(at + 1, () => fired.push(at));
      if (index % 2 === 0) cancels.push(cancel);
    }
    for (const cancel of cancels) cancel();
    await clock.advance(2_000);
    expect(fired).toHaveLength(2_500);
    expect(fired).toEqual(fired.toSorted((one, other) => one - other));
  });

  it('runs until a promise settles, and says when nothing can settle it', async () => {
    const clock = new VirtualClock();
    expect(await clock.run(sleep(clock, 5_000).then(() => 'done'))).toBe('done');
    expect(clock.monotonicMs()).toBe(5_000);
    await expect(clock.run(new Promise(() => {}))).rejects.toThrow('no timer left');
    const endless = (): void => void clock.after(1_000, endless);
    endless();
    await expect(clock.run(new Promise(() => {}), 60_000)).rejects.toThrow('within 60000 ms');
  });

  it('passes time when nothing but yields happen', async () => {
    const clock = new VirtualClock();
    let isDue = false;
    clock.after(1, () => {
      isDue = true;
    });
    const loop = async (): Promise<void> => {
      while (!isDue) await clock.yieldNow();
    };
    await clock.run(loop());
    expect(clock.monotonicMs()).toBeLessThan(1.1);
  });

  it('fires no more timers than it was told to', async () => {
    const clock = new VirtualClock({ timersMax: 1_000 });
    const loop = async (): Promise<never> => {
      for (;;) await clock.yieldNow();
    };
    await expect(clock.run(loop())).rejects.toThrow(EndlessRunError);
    expect(clock.monotonicMs()).toBe(1);
  });
});

describe('ProcessClock', () => {
  it('holds back what is due while its process is stopped, and fires nothing once it was killed', async () => {
    const shared = new VirtualClock();
    const clock = new ProcessClock(shared);
    const seen: string[] = [];
    clock.after(10, () => seen.push('a'));
    clock.after(20, () => seen.push('b'));
    const cancel = clock.after(30, () => seen.push('c'));
    clock.pause();
    await shared.advance(50);
    expect(seen).toEqual([]);
    cancel();
    clock.resume();
    await shared.advance(1);
    expect(seen).toEqual(['a', 'b']);
    clock.after(10, () => seen.push('d'));
    clock.jumpWallClock(1_000);
    clock.jumpWallClock(-200);
    expect(clock.nowMs() - shared.nowMs()).toBe(800);
    expect(clock.wallClockOffsetMs).toBe(800);
    clock.kill();
    await shared.advance(50);
    expect(seen).toEqual(['a', 'b']);
  });
});
