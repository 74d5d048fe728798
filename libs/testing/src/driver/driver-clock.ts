/**
 * The clock of a driven topology, for the worker, the cluster and whoever else is given it.
 *
 * 1. It stands still between the driver's calls.
 * 2. Within a call it passes only as far as something waits for it: what the cluster and the worker do by themselves takes microseconds,
 *    and what is less than a millisecond at the end of a call is not counted. So wall-clock times do not depend on how many requests a
 *    record costs.
 * 3. Wall-clock time stands still until the worker has started: what it waits for until then is no time of the test.
 * 4. `advance` jumps: what has become due happens then, once.
 */
import type { Clock } from '@tally/streams';
import { VirtualClock } from '../virtual-clock.js';

const microsPerMs = 1000;

export class DriverClock implements Clock {
  private readonly timers = new VirtualClock();
  /** Wall-clock time at the beginning of the call, and the timers' time then. */
  private wallMs: number;
  private begunMs = 0;
  private isStarted = false;

  constructor(startMs: number | undefined) {
    this.wallMs = startMs ?? this.timers.nowMs();
  }

  nowMs(): number {
    if (!this.isStarted) return this.wallMs;
    const micros = Math.round((this.timers.monotonicMs() - this.begunMs) * microsPerMs);
    return this.wallMs + Math.floor(micros / microsPerMs);
  }

  monotonicMs(): number {
    return this.timers.monotonicMs();
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.timers.after(delayMs, callback);
  }

  yieldNow(): Promise<void> {
    return this.timers.yieldNow();
  }

  // ---- what the driver does with it ----

  /** The worker has started. */
  started(): void {
    this.begunMs = this.timers.monotonicMs();
    this.isStarted = true;
  }

  /** A call of the driver begins. */
  begin(): void {
    this.wallMs = this.nowMs();
    this.begunMs = this.timers.monotonicMs();
  }

  jump(durationMs: number): void {
    this.timers.jump(durationMs);
  }

  /** Lets time pass until the predicate holds. */
  runUntil(predicate: () => boolean): Promise<void> {
    return this.timers.runUntil(predicate, Number.POSITIVE_INFINITY);
  }

  /** Lets time pass until the promise settles. */
  run<T>(promise: Promise<T>): Promise<T> {
    return this.timers.run(promise, Number.POSITIVE_INFINITY);
  }
}
