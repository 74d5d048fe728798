import type { Headers, Serde, Topic } from '@tally/streams';
import type { LoggedRecord } from '../broker/log.js';
import { TestDriverError } from './driver-error.js';
import type { UnreadOutputs } from './unread-outputs.js';

/** A record that the topology has sent. */
export interface OutputRecord<K, V> {
  readonly key: K;
  readonly value: V;
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
  readonly headers: Headers;
  readonly partition: number;
}

/** A record as it lies on its topic. */
export interface EmittedRecord extends OutputRecord<Uint8Array | null, Uint8Array | null> {
  readonly topic: string;
}

/** A topic that the topology under test writes to: what it has sent there and nobody has read yet, in the order of sending. */
export class TestOutput<K, V> {
  constructor(
    private readonly topic: Topic<K, V>,
    private readonly outputs: () => UnreadOutputs,
  ) {}

  get isEmpty(): boolean {
    return this.outputs().isEmpty(this.topic.name);
  }

  /** The next record, or `undefined` when there is none. */
  read(): OutputRecord<K, V> | undefined {
    const record = this.outputs().take(this.topic.name);
    return record === undefined ? undefined : this.decoded(record);
  }

  readAll(): OutputRecord<K, V>[] {
    return this.outputs()
      .takeAll(this.topic.name)
      .map((record) => this.decoded(record));
  }

  private decoded({ key, value, timestampMs, headers, partition }: LoggedRecord): OutputRecord<K, V> {
    const { topic } = this;
    return {
      key: decode(topic.name, 'key', topic.key, key),
      value: decode(topic.name, 'value', topic.value, value),
      timestampMs,
      headers,
      partition,
    };
  }
}

function decode<T>(topic: string, part: 'key' | 'value', serde: Serde<T>, bytes: Uint8Array | null): T {
  if (bytes !== null) return serde.deserialize(bytes);
  if (serde.acceptsNull === true) return null as T;
  throw new TestDriverError(
    'NULL_UNEXPECTED',
    `A record of topic '${topic}' has a null ${part}, which the handle's serde '${serde.name}' does not take. Read it with a handle whose ${part} is nullable(${serde.name}).`,
    { topic },
  );
}
