import type { Headers, Serializer, Topic } from '@tally/streams';
import type { RecordToPipe } from './driven-topics.js';

export interface PipeOptions {
  /** Milliseconds since the epoch. Default: the driver's wall-clock time. */
  readonly timestampMs?: number;
  readonly headers?: Headers;
  /** Default: by the key, as producers do (murmur2). */
  readonly partition?: number;
}

/** A record to pipe. Keys and values may be null whatever the handle says, as on a real topic: what then follows is the topology's business. */
export interface InputRecord<K, V> extends PipeOptions {
  readonly key: K | null;
  readonly value: V | null;
}

/** What an input does with serialized records. */
export interface PipeTarget {
  pipe(topic: string, record: RecordToPipe): Promise<void>;
  pipeAll(topic: string, records: Iterable<RecordToPipe>): Promise<void>;
}

/** A source topic of the topology under test. */
export class TestInput<K, V> {
  constructor(
    private readonly topic: Topic<K, V>,
    private readonly target: PipeTarget,
  ) {}

  /**
   * Pipes one record and returns when it, and everything that it has caused, has been processed and committed. Records that the topology
   * sends to topics which it reads itself are processed afterwards one by one, the smallest timestamp first.
   * @throws what stopped the worker, or the serde's error for a key or value that does not fit
   */
  async pipe(key: K | null, value: V | null, options: PipeOptions = {}): Promise<void> {
    await this.target.pipe(this.topic.name, this.serialized({ ...options, key, value }));
  }

  /**
   * Pipes many records, which are processed in batches, as in production: much faster than one by one. Those of one partition are processed
   * in their order.
   * @throws as `pipe`
   */
  async pipeAll(records: Iterable<InputRecord<K, V>>): Promise<void> {
    await this.target.pipeAll(this.topic.name, this.serializedAll(records));
  }

  /** Pipes a record as it lies on the topic, whether the serdes can read it or not. Strings are UTF-8. */
  async pipeBytes(key: Uint8Array | string | null, value: Uint8Array | string | null, options: PipeOptions = {}): Promise<void> {
    await this.target.pipe(this.topic.name, { ...options, key, value });
  }

  private *serializedAll(records: Iterable<InputRecord<K, V>>): Generator<RecordToPipe> {
    for (const record of records) yield this.serialized(record);
  }

  private serialized({ key, value, timestampMs, headers, partition }: InputRecord<K, V>): RecordToPipe {
    return { key: serialize(this.topic.key, key), value: serialize(this.topic.value, value), timestampMs, headers, partition };
  }
}

function serialize<T>(serde: Serializer<T>, data: T | null): Uint8Array | null {
  return data === null && serde.acceptsNull !== true ? null : serde.serialize(data as T);
}
