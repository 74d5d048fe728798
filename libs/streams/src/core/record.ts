/** One record header. Order and duplicates are kept; an absent value reads as empty bytes. */
export interface Header {
  readonly name: string;
  readonly value: Uint8Array;
}

export type Headers = readonly Header[];

export const noHeaders: Headers = Object.freeze([]);

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface TopicPartitionOffset extends TopicPartition {
  /** Offset of the next record to read; a non-negative safe integer. */
  readonly offset: number;
}

/** `topic-partition`, the form in which logs and map keys name a partition. */
export function partitionName(at: TopicPartition): string {
  return `${at.topic}-${at.partition}`;
}

/** A record as it flows through a topology. Immutable: operators make new ones. */
export interface StreamRecord<K, V> {
  readonly key: K;
  readonly value: V;
  /** Milliseconds since the epoch; may be 0 or negative, as Kafka allows. */
  readonly timestampMs: number;
  readonly headers: Headers;
}

/** What a table's node forwards: the row before and after. `null` is "no row". */
export interface Change<V> {
  /** Null as well where no operator behind the table asked for it. */
  readonly oldValue: V | null;
  readonly newValue: V | null;
  /** False behind a versioned store for an update that came out of order: a later row exists already. */
  readonly isLatest: boolean;
}
