import type { KeyValueStoreDefinition } from '../topology/store-definition.js';

/**
 * A table that every worker holds whole: the last values of a topic, whatever its partitions. Streams are joined with it by any key, and need not be
 * partitioned as it is. Processors and queries read its store.
 */
export class GlobalKTable<K, V> {
  /** Tables come from `StreamsBuilder.globalTable`. */
  constructor(
    /** Where the rows are: read-only. */
    readonly store: KeyValueStoreDefinition<K, V>,
  ) {}
}
