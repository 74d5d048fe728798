import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { RpcException } from '@nestjs/microservices';
import { FORBIDDEN_MESSAGE } from '@nestjs/core/internal';
import { isObservable, lastValueFrom } from 'rxjs';
import { isThenable, settle } from './settle.js';

/** Runs the guards one after the other. @returns nothing when all let the record pass, a promise when one of them has to be waited for. */
export type GuardRunner = (context: ExecutionContext) => void | Promise<void>;

/** @throws RpcException "Forbidden resource", as Nest does, when a guard denies. */
export function guardRunner(guards: readonly CanActivate[]): GuardRunner | undefined {
  if (guards.length === 0) return undefined;
  return (context) => {
    for (let index = 0; index < guards.length; index += 1) {
      const verdict: unknown = guards[index]?.canActivate(context);
      if (verdict === true) continue;
      if (isThenable(verdict)) return runRest(guards, index, verdict, context);
      const value = isObservable(verdict) ? settle(verdict, { isValueRequired: true }) : verdict;
      if (isThenable(value)) return runRest(guards, index, value, context);
      if (!value) deny();
    }
  };
}

async function runRest(
  guards: readonly CanActivate[],
  index: number,
  pending: PromiseLike<unknown>,
  context: ExecutionContext,
): Promise<void> {
  if (!(await verdictOf(pending))) deny();
  for (const guard of guards.slice(index + 1)) {
    if (!(await verdictOf(guard.canActivate(context)))) deny();
  }
}

async function verdictOf(verdict: unknown): Promise<unknown> {
  const value = await verdict;
  return isObservable(value) ? lastValueFrom(value) : value;
}

function deny(): never {
  throw new RpcException(FORBIDDEN_MESSAGE);
}
