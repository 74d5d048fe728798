/** Committed state of this instance's tasks, for queries. */
import { assert } from '../core/assert.js';
import { partitionForKey } from '../core/murmur2.js';
import { InvalidConfigurationError, TallyError } from '../core/errors.js';
import { makeQueries, type QueryHandle } from '../topology/queries.js';
import { untypedStore, type UntypedStore } from '../topology/store-definition.js';
import type { GlobalReader } from './global-reader.js';
import type { Task } from './task.js';

/** A query that this instance cannot answer now. `retriable`: ask again later, or another instance. */
export class QueryError extends TallyError {
  constructor(code: 'STORE_NOT_LOCAL' | 'STORE_RESTORING' | 'STORE_BUSY' | 'WORKER_NOT_RUNNING', message: string, store: string) {
    super({ code, kind: 'retriable', message, place: { store } });
  }
}

export function notRunning(store: string): QueryError {
  return new QueryError('WORKER_NOT_RUNNING', `Store '${store}' cannot be used: the worker does not run.`, store);
}

export function notLocal(store: string, partition: number): QueryError {
  return new QueryError('STORE_NOT_LOCAL', `Partition ${partition} of store '${store}' is on another instance. Ask there.`, store);
}

/** What a query asks of the worker. */
export interface QuerySource {
  isRunning(): boolean;
  /** Every worker has the whole of such a store. */
  isGlobal(store: string): boolean;
  /** `undefined` while the worker has not opened it. */
  globalReader(store: string): GlobalReader | undefined;
  globalPartitionsOf(store: string): number;
  /** The store as the topology has it, which knows more than a handle where a handle leaves something to its table. */
  definitionOf(store: string): UntypedStore | undefined;
  /** Number of partitions of the store; `undefined` when the topology has no such store. */
  partitionsOf(store: string): number | undefined;
  /** Running tasks that hold the store. */
  tasksOf(store: string): readonly Task[];
  /** The partition is owned, and its task is being opened. */
  isOpening(store: string, partition: number): boolean;
}

export function queriesOf<Q>(source: QuerySource, handle: QueryHandle<Q>): Q {
  const { name } = handle;
  const declared = source.definitionOf(name);
  const definition = declared?.kind === handle.kind ? declared : untypedStore(handle);
  const check = (): number => {
    if (!source.isRunning()) throw notRunning(name);
    const partitions = source.partitionsOf(name);
    if (partitions === undefined)
      throw new InvalidConfigurationError('STORE_UNKNOWN', `Store '${name}' is not part of this application's topology.`, { store: name });
    return partitions;
  };
  const taskOf = (key: unknown): Task => {
    const partitions = check();
    const bytes = definition.key.serialize(key);
    const partition = bytes === null ? 0 : partitionForKey(bytes, partitions);
    const task = source.tasksOf(name).find((each) => each.partition === partition);
    if (task !== undefined) return task;
    if (!source.isOpening(name, partition)) throw notLocal(name, partition);
    throw new QueryError(
      'STORE_RESTORING',
      `Partition ${partition} of store '${name}' is being restored on this instance. Ask again later.`,
      name,
    );
  };
  if (source.isGlobal(name)) return globalQueries(source, handle);
  return makeQueries(handle, {
    keyed: async (method, key, args) => call(taskOf(key).state.readerOf(definition), method, [key, ...args]),
    async *listing(method, args) {
      check();
      const readers = source.tasksOf(name).map((task) => task.state.readerOf(definition));
      for (const reader of readers) yield* call(reader, method, args) as AsyncIterable<unknown>;
    },
    partitions: () =>
      source
        .tasksOf(name)
        .map(({ partition }) => partition)
        .sort((left, right) => left - right),
  });
}

function globalQueries<Q>(source: QuerySource, handle: QueryHandle<Q>): Q {
  const { name } = handle;
  const reader = (): GlobalReader => {
    const found = source.globalReader(name);
    if (found === undefined || !source.isRunning()) throw notRunning(name);
    return found;
  };
  return makeQueries(handle, {
    keyed: async (method, key, args) => call(reader(), method, [key, ...args]),
    async *listing(method, args) {
      yield* call(reader(), method, args) as AsyncIterable<unknown>;
    },
    partitions: () => Array.from({ length: source.globalPartitionsOf(name) }, (_none, partition) => partition),
  });
}

function call(reader: object, method: string, args: readonly unknown[]): unknown {
  const implementation: unknown = Reflect.get(reader, method);
  assert(typeof implementation === 'function', `the store's reader has the method '${method}'`);
  return Reflect.apply(implementation, reader, args);
}
