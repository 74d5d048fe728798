/** The only source of time. Injected, so that tests and the simulator decide how time passes. */
export interface Clock {
  /** Wall-clock time, in milliseconds since the epoch. May jump. */
  nowMs(): number;
  /** Monotonic time in milliseconds from an arbitrary origin; for intervals and deadlines. */
  monotonicMs(): number;
  /** Calls back once after the delay; the returned function cancels it. */
  after(delayMs: number, callback: () => void): () => void;
  /** Lets pending I/O callbacks run, then goes on. */
  yieldNow(): Promise<void>;
}

export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
  yieldNow: () => new Promise((resolve) => setImmediate(resolve)),
};
