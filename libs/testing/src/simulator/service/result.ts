/** What a history has come to, for the invariants of whoever wrote the service. */
import type { ConsumedRecord, Headers, KeyValueStoreDefinition, Serde, Topic } from '@tally/streams';

export interface SimulatedRecord<K, V> {
  readonly key: K;
  readonly value: V;
  readonly timestampMs: number;
  readonly headers: Headers;
  readonly partition: number;
  readonly offset: number;
}

/** Committed records and final state of one history, typed by the handles. */
export class SimulationResult {
  constructor(
    readonly seed: number,
    private readonly records: (topic: string) => readonly ConsumedRecord[],
    private readonly contents: ReadonlyMap<string, ReadonlyMap<unknown, unknown>>,
  ) {}

  /** All committed records of a topic, input or output; each partition in order. */
  recordsOf<K, V>(topic: Topic<K, V>): readonly SimulatedRecord<K, V>[] {
    return this.records(topic.name).map(({ key, value, timestampMs, headers, partition, offset }) => ({
      key: decode(topic.key, key),
      value: decode(topic.value, value),
      timestampMs,
      headers,
      partition,
      offset,
    }));
  }

  /** Entries of a store over all partitions. */
  contentsOf<K, V>(store: KeyValueStoreDefinition<K, V>): ReadonlyMap<K, V> {
    const contents = this.contents.get(store.name);
    if (contents === undefined) throw new TypeError(`The topology has no store '${store.name}', or it keeps no changelog.`);
    return contents as ReadonlyMap<K, V>;
  }
}

/** A null is handed on also where the serde does not know of it. */
function decode<T>(serde: Serde<T>, bytes: Uint8Array | null): T {
  return bytes === null ? (null as T) : serde.deserialize(bytes);
}
