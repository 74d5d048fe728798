import { makeQueries, type QueryHandle } from '@tally/streams';
import type { StreamsApplication } from './streams-application.js';

/** Committed state of this instance, for queries. */
export class StreamsQueryService {
  constructor(private readonly application: StreamsApplication) {}

  /**
   * The store's queries. May be asked for at any time; what is called on it while the worker does not run fails with
   * `WORKER_NOT_RUNNING`, which is retriable.
   */
  store<Q>(definition: QueryHandle<Q>): Q {
    const { application } = this;
    const method = (name: string) => {
      const queries = application.query<unknown>(definition) as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;
      return (...args: readonly unknown[]): unknown => queries[name]?.(...args);
    };
    return makeQueries(definition, {
      keyed: async (name, key, args) => method(name)(key, ...args),
      async *listing(name, args) {
        yield* method(name)(...args) as AsyncIterable<unknown>;
      },
      partitions: () => method('partitions')() as readonly number[],
    });
  }
}
