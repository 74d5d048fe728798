/**
 * The part of `@confluentinc/kafka-javascript` that Tally uses, typed by what its C++ sources accept and return. The package's own types
 * are loose and miss the incremental assignment calls; its native side crashes or guesses where a value has another shape, so nothing
 * reaches it but through these signatures.
 */
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { BrokerError, errorOf, type TopicPartition } from '@tally/streams';

export type Callback<T = void> = (error: unknown, result?: T) => void;

export type ClientProperties = Readonly<Record<string, string | true | ((...values: never[]) => void)>>;

/** A partition with a plain number as offset: a bigint or a string would silently become 0. */
export interface NativeOffset extends TopicPartition {
  readonly offset: number;
  readonly metadata?: string;
}

/** A group's offset of a partition, without one where there is none; an Error without a number where the partition failed. */
export type NativeCommitted = (TopicPartition & { readonly offset?: number; readonly metadata?: string }) | Error;

export interface NativeMessage extends TopicPartition {
  readonly offset: number;
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: readonly object[];
}

export interface ConnectOptions {
  readonly allTopics: boolean;
  readonly timeout: number;
}

export interface NativeLogEvent {
  readonly severity: number;
  readonly fac: string;
  readonly message: string;
}

interface NativeClient {
  connect(options: ConnectOptions, callback: Callback<unknown>): void;
  disconnect(callback: Callback<unknown>): void;
  isConnected(): boolean;
  getMetadata(
    options: { readonly topic?: string; readonly allTopics?: boolean; readonly timeout: number },
    callback: Callback<unknown>,
  ): void;
  queryWatermarkOffsets(topic: string, partition: number, timeoutMs: number, callback: Callback<unknown>): void;
  on(event: 'event.error', listener: (error: Error) => void): void;
  on(event: 'event.log', listener: (log: NativeLogEvent) => void): void;
}

export interface NativeConsumer extends NativeClient {
  on(event: 'event.stats', listener: (event: { readonly message: string }) => void): void;
  on(event: 'event.error', listener: (error: Error) => void): void;
  on(event: 'event.log', listener: (log: NativeLogEvent) => void): void;
  on(event: 'partition.eof', listener: (end: NativeOffset) => void): void;
  subscribe(topics: string[]): void;
  consume(recordsMax: number, callback: Callback<NativeMessage[]>): void;
  setDefaultConsumeTimeout(timeoutMs: number): void;
  setDefaultIsTimeoutOnlyForFirstMessage(only: boolean): void;
  incrementalAssign(starts: readonly NativeOffset[]): void;
  incrementalUnassign(partitions: readonly TopicPartition[]): void;
  assignmentLost(): boolean;
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  seek(position: NativeOffset, timeoutMs: number, callback: Callback): void;
  commit(offsets: readonly NativeOffset[]): void;
  committed(partitions: readonly TopicPartition[], timeoutMs: number, callback: Callback<NativeCommitted[]>): void;
}

export interface NativeProducer extends NativeClient {
  on(event: 'event.stats', listener: (event: { readonly message: string }) => void): void;
  on(event: 'event.error', listener: (error: Error) => void): void;
  on(event: 'event.log', listener: (log: NativeLogEvent) => void): void;
  on(event: 'delivery-report', listener: (error: unknown, report: TopicPartition) => void): void;
  setPollInterval(intervalMs: number): void;
  poll(): void;
  produce(
    topic: string,
    partition: number,
    value: Uint8Array | null,
    key: Uint8Array | null,
    timestampMs: number,
    opaque: undefined,
    headers: readonly Readonly<Record<string, Uint8Array>>[] | undefined,
  ): void;
  flush(timeoutMs: number, callback: Callback): void;
  initTransactions(timeoutMs: number, callback: Callback): void;
  beginTransaction(callback: Callback): void;
  sendOffsetsToTransaction(offsets: readonly NativeOffset[], consumer: NativeConsumer, timeoutMs: number, callback: Callback): void;
  commitTransaction(timeoutMs: number, callback: Callback): void;
  abortTransaction(timeoutMs: number, callback: Callback): void;
  disconnect(callback: Callback<unknown>): void;
  disconnect(flushTimeoutMs: number, callback: Callback<unknown>): void;
}

export interface NativeError {
  readonly code: number;
  readonly message: string;
}

export interface NativeTopicDescription {
  readonly name: string;
  readonly topicId: { readonly base64: string };
  readonly partitions: readonly unknown[];
  readonly error?: NativeError;
}

export interface NativeGroupDescription {
  readonly error?: NativeError;
  readonly members: readonly {
    readonly memberId: string;
    readonly clientId: string;
    readonly groupInstanceId?: string;
    readonly assignment: { readonly topicPartitions: readonly TopicPartition[] };
  }[];
}

interface WithTimeout {
  readonly timeout: number;
}

export interface NativeAdmin {
  getMetadata(
    options: { readonly topic?: string; readonly allTopics: boolean; readonly timeout: number },
    callback: Callback<unknown>,
  ): void;
  listTopics(options: WithTimeout, callback: Callback<string[]>): void;
  describeTopics(names: readonly string[], options: WithTimeout, callback: Callback<NativeTopicDescription[]>): void;
  createTopic(
    topic: { topic: string; num_partitions: number; replication_factor: number; config: Readonly<Record<string, string>> },
    timeoutMs: number,
    callback: Callback,
  ): void;
  listOffsets(
    partitions: readonly (TopicPartition & { readonly offset: object })[],
    options: WithTimeout & { readonly isolationLevel: number },
    callback: Callback<(NativeOffset & { readonly error?: NativeError })[]>,
  ): void;
  deleteRecords(
    before: readonly NativeOffset[],
    options: WithTimeout & { readonly operationTimeout: number },
    callback: Callback<(TopicPartition & { readonly error?: NativeError })[]>,
  ): void;
  describeGroups(groups: readonly string[], options: WithTimeout, callback: Callback<{ groups: NativeGroupDescription[] }>): void;
  disconnect(): void;
}

export interface NativeModule {
  readonly KafkaConsumer: new (properties: ClientProperties) => NativeConsumer;
  readonly Producer: new (properties: ClientProperties) => NativeProducer;
  readonly AdminClient: {
    create(properties: ClientProperties, listeners: Readonly<Record<string, (event: never) => void>>): NativeAdmin;
    readonly OffsetSpec: { readonly EARLIEST: object; readonly LATEST: object };
    readonly IsolationLevel: { readonly READ_UNCOMMITTED: number; readonly READ_COMMITTED: number };
  };
  readonly librdkafkaVersion: string;
}

let loaded: NativeModule | undefined;

/**
 * Loads the native client at its first use, so that a missing binary becomes one clear error instead of a failed import.
 * @throws BrokerError of kind `invalid` in a worker thread, where it cannot load, and when it was never built.
 */
export function loadNativeModule(): NativeModule {
  if (loaded) return loaded;
  if (!isMainThread) {
    throw new BrokerError({
      code: 'WORKER_THREAD',
      kind: 'invalid',
      message: 'The native Kafka client cannot run in a worker thread. Scale by processes: one worker per process.',
    });
  }
  try {
    loaded = createRequire(import.meta.url)('@confluentinc/kafka-javascript') as NativeModule;
    return loaded;
  } catch (cause) {
    throw new BrokerError({
      code: 'CLIENT_NOT_BUILT',
      kind: 'invalid',
      message:
        `The native client of @confluentinc/kafka-javascript could not be loaded (${errorOf(cause).message}). Install it again on this machine with ` +
        '`npm rebuild @confluentinc/kafka-javascript`; where its binary cannot be downloaded, set CKJS_LINKING=dynamic to build from source.',
      cause,
    });
  }
}
