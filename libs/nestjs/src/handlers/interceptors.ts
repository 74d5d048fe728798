import { AsyncResource } from 'node:async_hooks';
import type { CallHandler, ExecutionContext, NestInterceptor, PreRequestHook } from '@nestjs/common';
import { from, isObservable, mergeAll, Observable, type Subscriber } from 'rxjs';
import { isThenable } from './settle.js';

/** Produces the result of what an interceptor's `next.handle()` stands for. */
export type ResultSource = () => Observable<unknown>;

/** Runs the interceptors around the innermost source: the next one starts when the observable of its `next.handle()` is subscribed to. */
export function intercept(
  interceptors: readonly NestInterceptor[],
  context: ExecutionContext,
  innermost: ResultSource,
): Observable<unknown> {
  const chain = (index: number): Observable<unknown> => {
    const interceptor = interceptors[index];
    if (interceptor === undefined) return innermost();
    return deferred(() =>
      interceptor.intercept(
        context,
        callHandler(() => chain(index + 1)),
      ),
    );
  };
  return chain(0);
}

/** Runs the global pre-request hooks around guards and everything else. */
export function runHooks(hooks: readonly PreRequestHook[], context: ExecutionContext, innermost: ResultSource): Observable<unknown> {
  const chain = (index: number): Observable<unknown> => {
    const hook = hooks[index];
    return hook === undefined ? innermost() : hook(context, () => chain(index + 1));
  };
  return chain(0);
}

/** `als.run(store, () => next.handle())` must reach the handler although it is subscribed to outside of `run`: so the scope is bound here. */
function callHandler(next: ResultSource): CallHandler {
  return {
    handle: () => {
      const scope = new AsyncResource('TallyInterceptor');
      return new Observable((subscriber) => scope.runInAsyncScope(() => next().subscribe(subscriber)));
    },
  };
}

function deferred(produce: () => Observable<unknown> | Promise<Observable<unknown>>): Observable<unknown> {
  return new Observable((subscriber) => {
    const produced = produce();
    return (isThenable(produced) ? from(produced).pipe(mergeAll()) : from(produced)).subscribe(subscriber);
  });
}

export interface Failure {
  readonly thrown: unknown;
}

/** Hands a handler's result, promise or observable to the subscriber. `settled` is called as soon as the result is known. */
export function emit(produce: () => unknown, subscriber: Subscriber<unknown>, settled: (failure?: Failure) => void): void {
  const fail = (thrown: unknown): void => {
    settled({ thrown });
    subscriber.error(thrown);
  };
  const succeed = (value: unknown): void => {
    settled();
    subscriber.next(value);
    subscriber.complete();
  };
  const accept = (value: unknown): void => {
    if (!isObservable(value)) return succeed(value);
    subscriber.add(
      value.subscribe({
        next: (item) => {
          settled();
          subscriber.next(item);
        },
        error: fail,
        complete: () => {
          settled();
          subscriber.complete();
        },
      }),
    );
  };
  let result: unknown;
  try {
    result = produce();
  } catch (thrown) {
    return fail(thrown);
  }
  if (isThenable(result)) void Promise.resolve(result).then(accept, fail);
  else accept(result);
}
