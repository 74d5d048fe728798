/** Interceptors around the scope of a record: skipping, catching, retrying, timing out; and what runs without a promise. */
import {
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import { RecordClosedError } from '@tally/streams';
import { catchError, type Observable, of, retry, timeout } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { audit, balances, compileOnly, FakeScope, type Kind, recordContext, type Setup } from './fixtures.suite.js';
import {
  Scripted,
  cellsOf,
  closeStarted,
  contextOf,
  controller,
  failure,
  kinds,
  nothing,
  open,
  run,
  script,
  setup,
  use,
} from './outcome.suite.js';

afterEach(closeStarted);

describe('an interceptor', () => {
  it.each(cellsOf('interceptor'))(
    'at $scope as $form that does not call next(): only what it sends is kept',
    async ({ kind, scope, form }) => {
      script.enhancer = 'sendAndSkipNext';
      const { outcome, scope: record } = await run(setup(kind, scope, form));
      expect(outcome).toEqual({ kind: 'returned', value: undefined });
      expect(record.state.size).toBe(0);
      expect(record.sent).toEqual(['audit interceptor skipped']);
    },
  );

  function withInterceptor(intercept: NestInterceptor['intercept'], ...filters: ExceptionFilter[]): Setup {
    return { controllers: controller(UseInterceptors({ intercept }), UseFilters(...filters)) };
  }

  it("that catches the handler's error keeps what it sends, not what the handler wrote", async () => {
    script.handler = () => {
      throw failure;
    };
    const { outcome, scope } = await run(
      withInterceptor((context, next) =>
        next.handle().pipe(
          catchError(() => {
            contextOf(context).send(audit, 'interceptor', 'caught');
            return of('caught');
          }),
        ),
      ),
    );
    expect(outcome).toEqual({ kind: 'returned', value: 'caught' });
    expect(scope.state.size).toBe(0);
    expect(scope.sent).toEqual(['audit interceptor caught']);
  });

  it('that retries starts from a clean record each time', async () => {
    let runs = 0;
    script.handler = () => {
      runs += 1;
      if (runs < 3) throw failure;
      return 'third';
    };
    const { outcome, scope } = await run(withInterceptor((_context, next) => next.handle().pipe(retry(5))));
    expect(outcome).toEqual({ kind: 'returned', value: 'third' });
    expect(runs).toBe(3);
    expect(scope.sent).toEqual(['audit handler pay']);
  });

  it('that times out rolls back, and what the forgotten handler does later is refused', async () => {
    let release: () => void = () => undefined;
    const late: unknown[] = [];
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let ended: Promise<unknown> = Promise.resolve();
    script.handler = (context, store) => {
      ended = gate.then(() => {
        for (const act of [() => context.send(audit, 'handler', 'late'), () => store.put('bob', 'late'), () => context.store(balances)]) {
          try {
            act();
          } catch (error) {
            late.push(error);
          }
        }
      });
      return ended;
    };
    const filter: ExceptionFilter = {
      catch: async () => {
        release();
        await ended;
        return 'consumed';
      },
    };
    const { outcome, scope } = await run(withInterceptor((_context, next) => next.handle().pipe(timeout({ first: 1 })), filter));
    expect(outcome).toEqual({ kind: 'returned', value: 'consumed' });
    expect(late).toHaveLength(3);
    expect(late.every((error) => error instanceof RecordClosedError)).toBe(true);
    expect(scope.state.size + scope.sent.length).toBe(0);
  });

  it('that times out hands the time-out to the error policy when no filter catches it', async () => {
    script.handler = () => new Promise(() => undefined);
    const { outcome, scope } = await run(withInterceptor((_context, next) => next.handle().pipe(timeout({ first: 1 }))));
    expect((outcome as { error: Error }).error.name).toBe('TimeoutError');
    expect(scope.state.size + scope.sent.length).toBe(0);
  });

  it('is unsubscribed when the record is closed early', async () => {
    let unsubscribed = false;
    const scope = new FakeScope();
    script.handler = () => {
      queueMicrotask(() => scope.controller.abort(failure));
      return new Promise(() => undefined);
    };
    const { outcome } = await run(
      withInterceptor((_context, next) => {
        const result = next.handle();
        return new (result.constructor as new (subscribe: (subscriber: never) => () => void) => Observable<unknown>)((subscriber) => {
          const inner = result.subscribe(subscriber);
          return () => {
            unsubscribed = true;
            inner.unsubscribe();
          };
        });
      }),
      scope,
    );
    expect((outcome as { error: unknown }).error).toBe(failure);
    expect(unsubscribed).toBe(true);
  });
});

describe('what needs no promise gets none', () => {
  const pass: Record<Kind, unknown> = {
    guard: { canActivate: () => true },
    pipe: { transform: (value: unknown) => value },
    interceptor: { intercept: (_context: ExecutionContext, next: CallHandler) => next.handle() },
    filter: new Scripted(),
  };

  it.each([...kinds, 'all'] as const)('%s', async (which) => {
    script.handler = () => 'done';
    const decorators = kinds.filter((kind) => which === 'all' || which === kind).map((kind) => use[kind](pass[kind] as never));
    const all = ((...args: Parameters<MethodDecorator>) => decorators.forEach((decorate) => decorate(...args))) as ClassDecorator &
      MethodDecorator;
    const both = await open({ controllers: controller(nothing, all) });
    expect(both.compiled('pay', recordContext(new FakeScope()))).toBe('done');
  });

  it('a failing synchronous handler throws instead of rejecting', async () => {
    script.handler = () => {
      throw failure;
    };
    const both = await open({ controllers: controller(nothing, nothing) });
    const compiled = compileOnly(both.app);
    expect(() => compiled('pay', recordContext(new FakeScope()))).toThrow(failure);
  });
});
