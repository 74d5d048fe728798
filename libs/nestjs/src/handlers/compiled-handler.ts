/**
 * One handler with all its enhancers, compiled once. Order and results are those of Nest's own proxy (a contract test compares them):
 * pre-request hooks, guards, interceptors, pipes, method; filters around all of it. What differs is on purpose:
 *
 * 1. Nothing is asynchronous unless an enhancer or the handler is: a synchronous handler returns no promise.
 * 2. An error that no filter handles is thrown as it is, the same instance, instead of Nest's "Internal server error".
 * 3. Whatever a failed run has written or sent is rolled back before interceptors and filters see the error.
 */
import type { CanActivate, ExecutionContext, NestInterceptor, PreRequestHook } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/internal';
import { TallyError } from '@tally/streams';
import { isObservable, Observable, type Subscriber } from 'rxjs';
import { runFilters, type CustomFilters } from './filters.js';
import { guardRunner } from './guards.js';
import { emit, type Failure, intercept, runHooks } from './interceptors.js';
import { type HandlerArguments, type Parameter, parameterResolver } from './parameters.js';
import type { Fence, RecordContext } from './record-context.js';
import { isThenable, settle } from './settle.js';

export interface HandlerParts {
  readonly controller: object;
  readonly method: (...args: unknown[]) => unknown;
  readonly guards: readonly CanActivate[];
  readonly interceptors: readonly NestInterceptor[];
  readonly hooks: readonly PreRequestHook[];
  readonly filters: CustomFilters | undefined;
  readonly parameters: readonly Parameter[];
  readonly argumentCount: number;
}

/** @returns what the handler (or a filter) returned, or a promise of it when something in it is asynchronous. */
export type CompiledHandler = (payload: unknown, context: RecordContext) => unknown;

type Stage = (args: HandlerArguments) => unknown;

export function compileHandler(parts: HandlerParts): CompiledHandler {
  return withFilters(withHooks(withGuards(withInterceptors(callMethod(parts), parts), parts), parts), parts);
}

function callMethod({ controller, method, parameters, argumentCount }: HandlerParts): Stage {
  const resolve = parameterResolver(parameters, argumentCount);
  return (args) => {
    const resolved = resolve(args);
    return isThenable(resolved) ? resolved.then((values) => method.apply(controller, values)) : method.apply(controller, resolved);
  };
}

function withInterceptors(next: Stage, parts: HandlerParts): Stage {
  if (parts.interceptors.length === 0) return (args) => settleResult(next(args), args);
  return (args) => {
    const source = (): Observable<unknown> => new Observable((subscriber) => fencedRun(next, args, subscriber));
    return settle(intercept(parts.interceptors, executionContext(args, parts), source), { signal: () => contextOf(args).signal });
  };
}

/** One run of pipes and handler. An interceptor may start several (`retry`) and may give up on one that still runs (`timeout`). */
function fencedRun(next: Stage, args: HandlerArguments, subscriber: Subscriber<unknown>): void {
  const context = contextOf(args);
  const fence: Fence = { isOpen: true };
  let isSettled = false;
  subscriber.add(() => {
    if (!isSettled) tryRollback(context);
    fence.isOpen = false;
  });
  const settled = (failure?: Failure): void => {
    if (failure !== undefined && fence.isOpen) tryRollback(context);
    if (fence.isOpen) view.copyAttachmentsTo(context);
    isSettled = true;
  };
  const view = context.fencedBy(fence);
  emit(() => next([args[0], view]), subscriber, settled);
}

function withGuards(next: Stage, parts: HandlerParts): Stage {
  const runGuards = guardRunner(parts.guards);
  if (runGuards === undefined) return next;
  return (args) => {
    const pending = runGuards(executionContext(args, parts));
    return pending === undefined ? next(args) : pending.then(() => next(args));
  };
}

function withHooks(next: Stage, parts: HandlerParts): Stage {
  if (parts.hooks.length === 0) return next;
  return (args) => {
    const source = (): Observable<unknown> =>
      new Observable((subscriber) =>
        emit(
          () => next(args),
          subscriber,
          () => undefined,
        ),
      );
    return settle(runHooks(parts.hooks, executionContext(args, parts), source), { signal: () => contextOf(args).signal });
  };
}

function withFilters(next: Stage, { filters }: HandlerParts): CompiledHandler {
  if (filters === undefined) return (payload, context) => next([payload, context]);
  const recover = (error: unknown, args: HandlerArguments): unknown => {
    const context = contextOf(args);
    // The record was taken away (an abort, a deadline) or will be repeated by the runtime: there is nothing that a filter could decide.
    if (isRuntimeSignal(error) || !tryRollback(context)) throw error;
    const host = new ExecutionContextHost(args);
    host.setType('rpc');
    return runFilters(filters, error, host, { signal: () => context.signal });
  };
  return (payload, context) => {
    const args: HandlerArguments = [payload, context];
    let result: unknown;
    try {
      result = next(args);
    } catch (error) {
      return recover(error, args);
    }
    return isThenable(result) ? result.then(undefined, (error: unknown) => recover(error, args)) : result;
  };
}

/** A handler may return an observable, or a promise of one; it is subscribed to, once. */
function settleResult(result: unknown, args: HandlerArguments): unknown {
  if (isThenable(result)) return Promise.resolve(result).then((value) => (isObservable(value) ? settleResult(value, args) : value));
  return isObservable(result) ? settle(result, { signal: () => contextOf(args).signal }) : result;
}

function executionContext(args: HandlerArguments, { controller, method }: HandlerParts): ExecutionContext {
  const context = new ExecutionContextHost(args, controller.constructor as never, method);
  context.setType('rpc');
  return context;
}

/** Errors by which the runtime speaks to itself through a handler: the scope has ended, or the record is repeated in a moment. */
function isRuntimeSignal(error: unknown): boolean {
  return error instanceof TallyError && (error.kind === 'closed' || error.code === 'DESTINATION_UNKNOWN');
}

function contextOf(args: HandlerArguments): RecordContext {
  return args[1] as RecordContext;
}

/** @returns false when the record is closed already: then the runtime has discarded everything itself. */
function tryRollback(context: RecordContext): boolean {
  try {
    context.scope.rollback();
    return true;
  } catch {
    return false;
  }
}
