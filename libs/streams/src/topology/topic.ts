import { InvalidConfigurationError } from '../core/errors.js';
import type { Headers } from '../core/record.js';
import type { AnySerde, Serde, Serializer } from '../serde/serde.js';
import { checkInteger, checkName, checkSerde, topicNameLengthMax } from './names.js';

interface TopicSettings {
  /** Where given, checked at start; where the topic is internal, what it is created with. */
  readonly partitions?: number;
  /** Largest record, in bytes of key, value and headers, that this topic takes; default: the application's `maxRecordBytes`. */
  readonly maxRecordBytes?: number;
  /** Where a partition without a committed offset starts. Default `earliest`. */
  readonly startAt?: 'earliest' | 'latest';
  /** Of a compacted topic that is kept as a table, in milliseconds: its `delete.retention.ms`. Default 24 hours, as Kafka's. */
  readonly tombstoneRetentionMs?: number;
}

const namedTimestamps: readonly string[] = ['record', 'logAndSkip', 'usePartitionTime'];

/** A topic as far as writing to it goes: a topic of a wider type takes a narrower record. */
export interface OutputTopic<K, V> extends TopicSettings {
  readonly name: string;
  /** @see TopicPattern */
  readonly pattern?: never;
  readonly key: Serializer<K>;
  readonly value: Serializer<V>;
}

/** What is known of a record beside key and value when its timestamp is asked for. */
export interface RecordTimes {
  /** The record's own, in milliseconds since the epoch; negative where it has none. */
  readonly timestampMs: number;
  /** Largest timestamp of the partition's records before it; -1 before any. */
  readonly partitionTimeMs: number;
  readonly headers: Headers;
}

/** Gives a record's timestamp, in whole milliseconds since the epoch; a negative one drops the record. Must be pure. */
export type TimestampExtractor<K, V> = (value: V, key: K, times: RecordTimes) => number;

/**
 * Which timestamp a record has that is read from the topic. `record`: its own, whatever it is. `logAndSkip`: its own; a negative one drops the
 * record. `usePartitionTime`: its own; instead of a negative one the partition's time, and before there is any the record fails.
 */
export type Timestamps<K, V> = 'record' | 'logAndSkip' | 'usePartitionTime' | TimestampExtractor<K, V>;

/** Typed handle of a topic: declared once, used wherever its name would be. */
export interface Topic<K, V> extends TopicSettings {
  readonly name: string;
  /** @see TopicPattern */
  readonly pattern?: never;
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  /** Of the records that are read. Default `record`. */
  readonly timestamps?: Timestamps<K, V>;
}

/** Typed handle of all topics whose names match, those included that come while the application runs. They are only read. */
export interface TopicPattern<K, V> extends Pick<Topic<K, V>, 'key' | 'value' | 'startAt' | 'timestamps'> {
  /** Stands for the topics in the names of nodes and sub-topologies: it must not change. */
  readonly name: string;
  readonly pattern: RegExp;
}

/** A topic whose types do not matter to the holder. Every `Topic<K, V>` is one. */
export interface AnyTopic extends TopicSettings {
  readonly name: string;
  readonly key: AnySerde;
  readonly value: AnySerde;
  readonly timestamps?: Timestamps<never, never>;
  readonly pattern?: RegExp;
}

/** The key's type of a topic or store handle. */
export type KeyOf<Handle> = Handle extends { readonly key: Serde<infer K> } ? K : never;

/** The value's type of a topic or store handle. */
export type ValueOf<Handle> = Handle extends { readonly value: Serde<infer V> } ? V : never;

/** A handle whose types do not matter to the holder: serdes are called with what other nodes of the same chain made. */
export type UntypedTopic = Topic<unknown, unknown>;

/** What a source reads: a topic, or all whose names match. */
export type UntypedSourceTopic = Omit<UntypedTopic, 'pattern'> & { readonly pattern?: RegExp };

export interface TopicOptions<K, V> extends TopicSettings {
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  /** Which timestamps its records have when they are read: their own, or what a function of the value gives. Default `record`. */
  readonly timestamps?: Timestamps<NoInfer<K>, NoInfer<V>>;
}

/**
 * Declares a topic.
 * @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION`
 * @example const payments = topic('payments', { key: string(), value: json(Payment) });
 */
export function topic<K, V>(name: string, options: TopicOptions<K, V>): Topic<K, V> {
  checkName('topic', name, topicNameLengthMax);
  const owner = `topic "${name}"`;
  checkSerde(owner, 'key', options.key);
  checkSerde(owner, 'value', options.value);
  if (options.partitions !== undefined) checkInteger(owner, 'partitions', options.partitions, 1, 1_000_000);
  if (options.maxRecordBytes !== undefined) checkInteger(owner, 'maxRecordBytes', options.maxRecordBytes, 1, 2 ** 31 - 1);
  const { tombstoneRetentionMs } = options;
  if (tombstoneRetentionMs !== undefined) checkInteger(owner, 'tombstoneRetentionMs', tombstoneRetentionMs, 0, Number.MAX_SAFE_INTEGER);
  if (options.startAt !== undefined && options.startAt !== 'earliest' && options.startAt !== 'latest') {
    throw new InvalidConfigurationError('INVALID_OPTION', `The option "startAt" of ${owner} must be 'earliest' or 'latest'.`, {
      option: 'startAt',
    });
  }
  const { timestamps = 'record' } = options;
  if (typeof timestamps !== 'function' && !namedTimestamps.includes(timestamps)) {
    const message = `The option "timestamps" of ${owner} must be a function or one of ${namedTimestamps.join(', ')}.`;
    throw new InvalidConfigurationError('INVALID_OPTION', message, { option: 'timestamps' });
  }
  return Object.freeze({ ...options, name });
}

/** The same handle for holders that do not care for its types. */
export function untypedTopic(handle: AnyTopic | OutputTopic<never, never>): UntypedTopic {
  return handle as unknown as UntypedTopic;
}

/**
 * Declares all topics whose whole names match the pattern as one source: new ones are found while the application runs. Topics that the
 * topology names elsewhere, and its own internal ones, do not belong to it.
 * @param name stands for them in the names of nodes, stores and sub-topologies
 * @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION`
 * @example const orders = topicPattern('orders', /orders-.+/, { key: string(), value: json(Order) });
 */
export function topicPattern<K, V>(
  name: string,
  pattern: RegExp,
  options: Pick<TopicOptions<K, V>, 'key' | 'value' | 'startAt' | 'timestamps'>,
): TopicPattern<K, V> {
  if (!(pattern instanceof RegExp) || pattern.flags.replace(/[iu]/g, '') !== '') {
    throw new InvalidConfigurationError(
      'INVALID_OPTION',
      `The pattern of "${name}" must be a regular expression without flags other than i and u.`,
      {
        option: 'pattern',
      },
    );
  }
  const { key, value, startAt, timestamps } = topic(name, options);
  return Object.freeze({
    name,
    pattern: new RegExp(`^(?:${pattern.source})$`, pattern.flags),
    key,
    value,
    ...(startAt === undefined ? {} : { startAt }),
    ...(timestamps === undefined ? {} : { timestamps }),
  });
}
