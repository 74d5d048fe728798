/** What arrives in a simulated history. */
import { type AnyTopic, type Headers, noHeaders, partitionForKey, type Serializer, type Topic } from '@tally/streams';
import type { Draw } from '../plan/draw.js';

export interface WorkloadRecordOptions {
  /** Milliseconds since the epoch. Default: the moment at which the record arrives. */
  readonly timestampMs?: number;
  readonly headers?: Headers;
  /** Default: by the key, as producers do (murmur2). */
  readonly partition?: number;
}

export interface WorkloadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: Headers;
  readonly timestampMs: number | undefined;
}

/**
 * Adds the records of one history, in the order in which they arrive. Called once for each seed, with other chances each time.
 * @example
 * const workload: Workload = (load) => {
 *   for (let id = 1; id <= 300; id += 1) load.add(payments, load.random.oneOf(accounts), { id, amount: load.random.between(1, 500) });
 * };
 */
export type Workload = (load: WorkloadBuilder) => void;

export class WorkloadBuilder {
  readonly records: WorkloadRecord[] = [];
  private turn = 0;

  constructor(
    /** Chance that depends on the seed alone. */
    readonly random: Draw,
    /** When the history begins, in milliseconds since the epoch. */
    readonly startMs: number,
    private readonly partitionsOf: (topic: string) => number,
  ) {}

  /** @throws what the topic's serdes throw for a key or value that does not fit */
  add<K, V>(topic: Topic<K, V>, key: K, value: V, options: WorkloadRecordOptions = {}): void {
    this.addBytes(topic, serialize(topic.key, key), serialize(topic.value, value), options);
  }

  /** Adds a record as it lies on the topic, whether the serdes can read it or not. Strings are UTF-8. */
  addBytes(
    topic: Pick<AnyTopic, 'name'>,
    key: Uint8Array | string | null,
    value: Uint8Array | string | null,
    options: WorkloadRecordOptions = {},
  ): void {
    const keyBytes = bytesOf(key);
    const { headers = noHeaders, timestampMs, partition = this.choosePartition(topic.name, keyBytes) } = options;
    this.records.push({ topic: topic.name, partition, key: keyBytes, value: bytesOf(value), headers, timestampMs });
  }

  private choosePartition(topic: string, key: Uint8Array | null): number {
    const partitions = this.partitionsOf(topic);
    return key === null ? this.turn++ % partitions : partitionForKey(key, partitions);
  }
}

function serialize<T>(serde: Serializer<T>, data: T): Uint8Array | null {
  return data === null && serde.acceptsNull !== true ? null : serde.serialize(data);
}

function bytesOf(data: Uint8Array | string | null): Uint8Array | null {
  return typeof data === 'string' ? Buffer.from(data) : data;
}
