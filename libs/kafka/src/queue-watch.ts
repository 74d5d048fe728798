/**
 * How many records wait inside of the native clients. They tell it by their statistics alone, a JSON text every few seconds, which is asked for only where
 * telemetry wants it.
 */
import type { ClientQueues } from '@tally/streams';

interface Emitter {
  on(event: 'event.stats', listener: (event: { readonly message: string }) => void): void;
}

/** The part of librdkafka's statistics that is read. */
interface Statistics {
  /** Producers: records that are queued or in flight. */
  readonly msg_cnt?: number;
  /** Consumers: fetched records, by partition. */
  readonly topics?: Readonly<Record<string, { readonly partitions?: Readonly<Record<string, { readonly fetchq_cnt?: number }>> }>>;
}

export class QueueWatch {
  readonly #latest = new Map<Emitter, ClientQueues>();
  readonly #counts = new Set<() => number>();

  /** Follows a client until the returned function is called. */
  follow(client: Emitter): () => void {
    client.on('event.stats', ({ message }) => this.#latest.set(client, queuesOf(JSON.parse(message) as Statistics)));
    return () => this.#latest.delete(client);
  }

  /** Counts fetched records that wait outside of any client, until the returned function is called. */
  count(fetchedRecords: () => number): () => void {
    this.#counts.add(fetchedRecords);
    return () => this.#counts.delete(fetchedRecords);
  }

  get queues(): ClientQueues {
    let [fetchedRecords, unsentRecords] = [0, 0];
    for (const count of this.#counts) fetchedRecords += count();
    for (const each of this.#latest.values()) {
      fetchedRecords += each.fetchedRecords;
      unsentRecords += each.unsentRecords;
    }
    return { fetchedRecords, unsentRecords };
  }
}

function queuesOf({ msg_cnt: unsentRecords = 0, topics = {} }: Statistics): ClientQueues {
  let fetchedRecords = 0;
  for (const { partitions = {} } of Object.values(topics))
    for (const { fetchq_cnt: fetched = 0 } of Object.values(partitions)) fetchedRecords += fetched;
  return { fetchedRecords, unsentRecords };
}
