import { EmptyError, type Observable } from 'rxjs';

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null && (typeof value === 'object' || typeof value === 'function') && typeof (value as { then?: unknown }).then === 'function'
  );
}

export interface SettleOptions {
  /** Rejects with `EmptyError` when the observable completes without a value. Default: the result is `undefined`. */
  readonly isValueRequired?: boolean;
  /** Where it aborts, an observable that is still running is unsubscribed. Read only when the observable has not ended at once. */
  readonly signal?: () => AbortSignal;
}

/**
 * Subscribes once and takes the last value. An observable that ends while it is being subscribed to (as those of synchronous handlers do)
 * is returned, or thrown, at once; others become a promise.
 */
export function settle(source: Observable<unknown>, options: SettleOptions = {}): unknown {
  let state: 'running' | 'completed' | 'failed' = 'running';
  let hasValue = false;
  let last: unknown;
  let failure: unknown;
  let ended: (() => void) | undefined;
  const subscription = source.subscribe({
    next(value) {
      hasValue = true;
      last = value;
    },
    error(error) {
      state = 'failed';
      failure = error;
      ended?.();
    },
    complete() {
      if (hasValue || options.isValueRequired !== true) {
        state = 'completed';
      } else {
        state = 'failed';
        failure = new EmptyError();
      }
      ended?.();
    },
  });
  const now = state as 'running' | 'completed' | 'failed';
  if (now === 'completed') return last;
  if (now === 'failed') throw failure;
  return new Promise((resolve, reject) => {
    const signal = options.signal?.();
    const abort = (): void => {
      subscription.unsubscribe();
      reject(signal?.reason as Error);
    };
    ended = () => {
      signal?.removeEventListener('abort', abort);
      if (state === 'completed') resolve(last);
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- handlers may throw what they like; it is handed on as it is
      else reject(failure);
    };
    signal?.addEventListener('abort', abort, { once: true });
  });
}
