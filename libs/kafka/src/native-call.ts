/** Turns the native client's callbacks into promises, and keeps count of what has not called back yet. */
import type { BrokerError } from '@tally/streams';
import type { Callback } from './native.js';

/** Resolves with what the callback brings; rejects with what it brings or what the call throws, classified. */
export function nativeCall<T>(classify: (thrown: unknown) => BrokerError, start: (callback: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    try {
      start((error, result) => {
        if (error) reject(classify(error));
        else resolve(result as T);
      });
    } catch (thrown) {
      reject(classify(thrown));
    }
  });
}

/** Whether the promise settled within the bound. Never rejects; the timer does not keep the process alive once it settled. */
export async function settledWithin(promise: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The calls of one client that are under way. Disconnecting beside one aborts the process or never calls back, so every client waits
 * for `idle` first.
 */
export class CallsInFlight {
  /** No set: its table is made anew after every few calls, and each one keeps what was in the one before for as long as that is not collected. */
  readonly #calls: Promise<unknown>[] = [];

  track<T>(call: Promise<T>): Promise<T> {
    this.#calls.push(call);
    const forget = (): void => {
      void this.#calls.splice(this.#calls.indexOf(call), 1);
    };
    call.then(forget, forget);
    return call;
  }

  get size(): number {
    return this.#calls.length;
  }

  /** @returns false when something was still under way after the bound. */
  async idle(timeoutMs: number): Promise<boolean> {
    if (this.#calls.length === 0) return true;
    return settledWithin(Promise.allSettled(this.#calls), timeoutMs);
  }
}
