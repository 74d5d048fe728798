import type { TopicPartition } from '../core/record.js';
import type { UntypedStore } from '../topology/topology.js';

/** One partition of a global topic, and how far it has been read. */
export interface GlobalPartition extends TopicPartition {
  readonly store: UntypedStore;
  readonly topicId: string;
  /** How long its tombstones can be read, in milliseconds. */
  readonly tombstoneRetentionMs: number;
  /** Everything before this offset is in the store. */
  position: number;
  /** When the position was last known to be the end; what lies behind it is younger. */
  dateMs: number;
}

/** Name of the partition's position in the database: a store has one for each partition. */
export function positionNameOf({ store, partition }: Pick<GlobalPartition, 'store' | 'partition'>): string {
  return `${store.name}/${partition}`;
}
