import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { isThenable } from './settle.js';

/** What Nest calls the arguments of an `rpc` handler: the payload and the context. */
export type HandlerArguments = [payload: unknown, context: unknown];

/** One decorated parameter of a handler. */
export interface Parameter {
  readonly index: number;
  readonly extract: (args: HandlerArguments) => unknown;
  /** Global, controller, method and parameter pipes, in the order of their running. */
  readonly pipes: readonly PipeTransform[];
  readonly metadata: ArgumentMetadata;
}

/** @returns the arguments to call the method with, or a promise of them when a pipe has to be waited for. */
export type ParameterResolver = (args: HandlerArguments) => unknown[] | Promise<unknown[]>;

/**
 * Nest starts the pipes of all parameters at once, so that with synchronous pipes the first pipe of each parameter runs, then the second of
 * each, and so on. The same order is kept here without a promise, until a pipe returns one.
 */
export function parameterResolver(parameters: readonly Parameter[], argumentCount: number): ParameterResolver {
  const rounds = Math.max(0, ...parameters.map((parameter) => parameter.pipes.length));
  return (args) => {
    const resolved = new Array<unknown>(argumentCount).fill(undefined);
    let isPending = false;
    for (const parameter of parameters) {
      const value = parameter.extract(args);
      resolved[parameter.index] = value;
      isPending ||= isThenable(value);
    }
    if (isPending) return resolveRest(parameters, resolved, 0);
    for (let round = 0; round < rounds; round += 1) {
      for (const parameter of parameters) {
        const pipe = parameter.pipes[round];
        if (pipe === undefined) continue;
        const value: unknown = pipe.transform(resolved[parameter.index], parameter.metadata);
        resolved[parameter.index] = value;
        isPending ||= isThenable(value);
      }
      if (isPending) return resolveRest(parameters, resolved, round + 1);
    }
    return resolved;
  };
}

async function resolveRest(parameters: readonly Parameter[], resolved: unknown[], firstRound: number): Promise<unknown[]> {
  await Promise.all(
    parameters.map(async (parameter) => {
      let value = resolved[parameter.index];
      // Before the first pipe only those wait that have to; behind a pipe Nest awaits every result.
      if (firstRound > 0 || isThenable(value)) value = await value;
      for (const pipe of parameter.pipes.slice(firstRound)) value = await pipe.transform(value, parameter.metadata);
      resolved[parameter.index] = value;
    }),
  );
  return resolved;
}
