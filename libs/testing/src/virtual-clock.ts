/**
 * Time that passes only when it is told to, so that a run depends on nothing but its seed.
 *
 * 1. Timers fire in the order of their due times, equal ones in the order in which they were set.
 * 2. Between two timers every pending promise callback runs, and all that follow from it. The event loop turns only now and then, so code
 *    under this clock must not use real I/O or real timers.
 * 3. `yieldNow` and a delay of 0 cost a microsecond: a loop that only yields cannot stop time.
 */
import type { Clock } from '@tally/streams';
import { TimerQueue } from './timer-queue.js';

const microsPerMs = 1000;

export interface VirtualClockOptions {
  /** Wall-clock time at the start, in milliseconds since the epoch. Default 2026-01-01T00:00:00Z. */
  readonly startMs?: number;
  /** More timers than this never fire: what runs under the clock is taken to go round without end. Default: any number. */
  readonly timersMax?: number;
}

/** So many timers have fired that nothing more is expected of what runs under the clock. */
export class EndlessRunError extends Error {
  override readonly name = 'EndlessRunError';
}

export class VirtualClock implements Clock {
  private readonly timers = new TimerQueue();
  private readonly startMs: number;
  private readonly timersMax: number;
  private nowMicros = 0;
  private fired = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.startMs = options.startMs ?? Date.UTC(2026, 0, 1);
    this.timersMax = options.timersMax ?? Number.POSITIVE_INFINITY;
  }

  nowMs(): number {
    return this.startMs + Math.floor(this.nowMicros / microsPerMs);
  }

  monotonicMs(): number {
    return this.nowMicros / microsPerMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const delayMicros = Math.max(1, Math.round(delayMs * microsPerMs));
    return this.timers.add(this.nowMicros + delayMicros, callback);
  }

  yieldNow(): Promise<void> {
    return new Promise((resolve) => {
      this.after(0, resolve);
    });
  }

  /** Timers that have been set and neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.timers.size;
  }

  /** Lets `durationMs` pass, firing what becomes due. Resolves when all that follows from it has run. */
  async advance(durationMs: number): Promise<void> {
    const endMicros = this.nowMicros + Math.round(durationMs * microsPerMs);
    await drainPromises();
    while (this.timers.nextAt() <= endMicros) await this.fireNext();
    this.nowMicros = endMicros;
  }

  /**
   * Time jumps, as for a process that was suspended: what has become due fires afterwards, in order, and nothing fires at its own time.
   * Nothing has fired yet when this returns.
   */
  jump(durationMs: number): void {
    this.nowMicros += Math.round(durationMs * microsPerMs);
  }

  /**
   * Lets time pass until the predicate holds; it is asked after each timer.
   * @throws Error when nothing is left that could change it, or when `limitMs` of virtual time (default one hour) have passed.
   */
  async runUntil(predicate: () => boolean, limitMs = 3_600_000): Promise<void> {
    const endMicros = this.nowMicros + limitMs * microsPerMs;
    await drainPromises();
    while (!predicate()) {
      if (this.timers.size === 0) throw new Error('The virtual clock has no timer left, and what it was to run until has not happened.');
      if (this.timers.nextAt() > endMicros)
        throw new Error(`What the virtual clock was to run until has not happened within ${limitMs} ms of virtual time.`);
      await this.fireNext();
    }
  }

  /** Lets time pass until the promise settles, and returns or throws as it does. */
  async run<T>(promise: Promise<T>, limitMs?: number): Promise<T> {
    let settled = false;
    const mark = (): void => {
      settled = true;
    };
    promise.then(mark, mark);
    await this.runUntil(() => settled, limitMs);
    return promise;
  }

  private async fireNext(): Promise<void> {
    if (this.fired >= this.timersMax)
      throw new EndlessRunError(`${this.timersMax} timers have fired by ${this.monotonicMs()} ms, and there is no end to them.`);
    const timer = this.timers.take();
    this.nowMicros = Math.max(this.nowMicros, timer.at);
    timer.callback();
    this.fired += 1;
    if (this.fired % timersPerTurn === 0) await turnEventLoop();
    else await drainPromises();
  }
}

/** So often signals, time-outs of tests and whatever else waits for the event loop get their turn. */
const timersPerTurn = 256;

/**
 * Resolves after every promise callback that is due, and all that follow from them, have run: Node looks at its queue of ticks when that of
 * promise callbacks is empty. Asked from within such a callback, or the tick would come before those that are due already.
 */
function drainPromises(): Promise<void> {
  return new Promise((resolve) => {
    void Promise.resolve().then(() => process.nextTick(resolve));
  });
}

function turnEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
