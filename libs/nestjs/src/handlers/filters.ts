import type { ArgumentsHost } from '@nestjs/common';
import { isObservable, type Observable } from 'rxjs';
import { isThenable, settle, type SettleOptions } from './settle.js';

/** The part of Nest's exceptions handler that runs custom filters: nothing (or a falsy value) when none of them has handled the error. */
export interface CustomFilters {
  invokeCustomFilters(error: unknown, host: ArgumentsHost): unknown;
}

/**
 * Runs the filter that catches the error.
 * @returns what the filter returned, which means that the record is consumed; a promise when it has to be waited for.
 * @throws the same error when no filter catches it, or when the filter returns nothing; the filter's own error when it throws one. A
 * filter that fails with something that is no `Error` (Nest's base filter throws a plain reply) leaves the original one in place.
 */
export function runFilters(filters: CustomFilters, error: unknown, host: ArgumentsHost, options: SettleOptions): unknown {
  let outcome: unknown;
  try {
    outcome = filters.invokeCustomFilters(error, host);
    // An asynchronous filter that returns nothing has not handled the error either.
    if (isThenable(outcome))
      return Promise.resolve(outcome).then(
        (value) => consume(value, error, options),
        (thrown) => refuse(thrown, error),
      );
    return consume(outcome, error, options);
  } catch (thrown) {
    return refuse(thrown, error);
  }
}

function consume(outcome: unknown, error: unknown, options: SettleOptions): unknown {
  if (!outcome) throw error;
  if (!isObservable(outcome)) return outcome;
  const result = settleOrRefuse(outcome, error, options);
  return isThenable(result) ? Promise.resolve(result).catch((thrown: unknown) => refuse(thrown, error)) : result;
}

function settleOrRefuse(outcome: Observable<unknown>, error: unknown, options: SettleOptions): unknown {
  try {
    return settle(outcome, options);
  } catch (thrown) {
    return refuse(thrown, error);
  }
}

function refuse(thrown: unknown, error: unknown): never {
  throw thrown instanceof Error ? thrown : error;
}
