/**
 * The broker port: all that the runtime asks of a Kafka cluster. `@tally/kafka` implements it on a real one, `@tally/testing` in
 * memory; both pass the same conformance suite.
 *
 * Every rejected promise carries a `BrokerError`. Offsets are safe integers. Keys, values and header values are bytes; null and empty
 * are different things and stay so in both directions.
 */
import { type ErrorKind, type ErrorPlace, TallyError } from '../core/errors.js';
import type { Headers, TopicPartition, TopicPartitionOffset } from '../core/record.js';

export class BrokerError extends TallyError {
  /** The protocol's or the client's own error number, when there is one. */
  readonly brokerCode: number | undefined;

  constructor(options: {
    code: string;
    kind: ErrorKind;
    message: string;
    brokerCode?: number | undefined;
    place?: ErrorPlace | undefined;
    cause?: unknown;
  }) {
    super(options);
    this.brokerCode = options.brokerCode;
  }
}

/** A record as read from a partition. */
export interface ConsumedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: Headers;
}

export interface Broker {
  /** For messages: the bootstrap addresses. */
  readonly name: string;
  readonly admin: BrokerAdmin;
  /** A timestamp that the client cannot write, where there is one; records with it are refused while they are in hand. */
  readonly unwritableTimestampMs?: number;
  /**
   * Reaches the cluster, within `timeoutMs` if that is less than a request may take anyway, and checks that it can do what Tally needs (KIP-848
   * groups, so Kafka 4.0 or newer).
   */
  connect(timeoutMs?: number): Promise<void>;
  createConsumer(options: GroupConsumerOptions): GroupConsumer;
  createTransactionalProducer(options: TransactionalProducerOptions): TransactionalProducer;
  createOutputProducer(): OutputProducer;
  /** A reader outside any group, for restoring. Reads committed records only. */
  createReader(): PartitionReader;
  /** What waits inside of the client now, where it tells. */
  clientQueues?(): ClientQueues;
  /** Closes the admin client. Consumers, producers and readers are closed by who made them. */
  close(): Promise<void>;
}

/** Records that wait inside of the client: fetched and not yet consumed, produced and not yet acknowledged. */
export interface ClientQueues {
  readonly fetchedRecords: number;
  readonly unsentRecords: number;
}

// ---- group consumer --------------------------------------------------------------------------------------------------------------

export interface GroupConsumerOptions {
  readonly groupId: string;
  /** Shown by the group's description and in the broker's logs. */
  readonly clientId: string;
  readonly listener: RebalanceListener;
}

/**
 * Called outside of any `consume`. The group waits for the answer: `assign` for `assigned`, `unassign` for `revoked` and `lost`.
 * Answers may be given later; the partitions not named go on meanwhile.
 */
export interface RebalanceListener {
  assigned(partitions: readonly TopicPartition[]): void;
  revoked(partitions: readonly TopicPartition[]): void;
  /** The group gave the partitions away already: nothing of them can be committed any more. */
  lost(partitions: readonly TopicPartition[]): void;
  /** An error that no call can report: authorization, an unsupported protocol, a partition that cannot be read. */
  failed(error: BrokerError): void;
}

/** One `consume` may be in flight at a time; `assign`, `unassign`, `pause`, `resume` and `seek` are called only between consumes. */
export interface GroupConsumer {
  /** Connects and joins the group. Resolves when the client is connected, not when partitions are assigned. */
  subscribe(topics: readonly string[]): Promise<void>;
  /** Waits up to `timeoutMs` for a first record, then takes what is there, `recordsMax` at most. An empty array after a timeout. */
  consume(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]>;
  /** Adds partitions, each starting at its explicit offset; `paused` ones deliver nothing until resumed. */
  assign(starts: readonly TopicPartitionOffset[], options: { readonly paused: boolean }): Promise<void>;
  unassign(partitions: readonly TopicPartition[]): Promise<void>;
  pause(partitions: readonly TopicPartition[]): Promise<void>;
  resume(partitions: readonly TopicPartition[]): Promise<void>;
  /** After it has resolved, consumes bring the partition's records from the given offset on, and none of older ones. */
  seek(positions: readonly TopicPartitionOffset[]): Promise<void>;
  /**
   * The offset up to which the partition has been read, transaction markers and aborted records included; counts what the last `consume`
   * returned. `undefined` while the partition is not assigned.
   */
  position(partition: TopicPartition): number | undefined;
  /** Commits offsets outside of any transaction. Only for at-least-once without stores. */
  commitOffsets(offsets: readonly OffsetToCommit[]): Promise<void>;
  /** Leaves the group and disconnects. Every outstanding rebalance has been answered before. Idempotent. */
  close(): Promise<void>;
}

export interface OffsetToCommit extends TopicPartitionOffset {
  /** At most 4,000 bytes of UTF-8 without NUL. */
  readonly metadata: string;
}

// ---- producers -------------------------------------------------------------------------------------------------------------------

export interface TransactionalProducerOptions {
  readonly transactionalId: string;
  readonly transactionTimeoutMs: number;
  readonly clientId: string;
}

/** A record that the broker refused after it had been queued. */
export interface DeliveryFailure extends TopicPartition {
  readonly error: BrokerError;
}

export interface RecordSender {
  /**
   * Queues one record; never waits, and copies the bytes: the caller may use its arrays again. `partition` is explicit, or -1 where no key
   * decides (any partition will do).
   * A timestamp is written as given, negative ones included; a client that cannot write 0 refuses it. In a transaction that has failed
   * already the record is dropped and true returned: sendOffsets or commit says why.
   * @returns false when the queue is full: nothing was queued, try again a little later.
   * @throws BrokerError of kind `recordRefused` when the record can never be queued (too large for the client).
   */
  produce(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestampMs: number,
    headers: Headers,
  ): boolean;
  /** Records refused by the broker since the last call. */
  takeFailures(): readonly DeliveryFailure[];
}

/**
 * Calls on one producer never overlap, except `produce`, which may be called whenever a transaction is open and no commit or abort is
 * under way.
 *
 * `commit` rejects with kind `retriable` when the outcome is not known: the same call again continues it. Kind `abortable`: call `abort`.
 * Kind `fenced`: this producer is of no more use; whether its transaction took effect is unknown.
 */
export interface TransactionalProducer extends RecordSender {
  /** Connects, and settles what an earlier producer with the same transactional id left open. */
  init(): Promise<void>;
  begin(): Promise<void>;
  /** Adds offsets to the open transaction under the consumer's current membership (KIP-447). Does not flush. */
  sendOffsets(offsets: readonly OffsetToCommit[], consumer: GroupConsumer): Promise<void>;
  /** Flushes and ends the transaction. Its records and offsets become visible a moment later, when the coordinator has written its markers. */
  commit(): Promise<void>;
  abort(): Promise<void>;
  /** Disconnects, once every other call has ended. Idempotent. */
  close(): Promise<void>;
}

/** Idempotent, not transactional. */
export interface OutputProducer extends RecordSender {
  connect(): Promise<void>;
  /** Resolves when all that was queued is acknowledged; rejects with `retriable` after the timeout. */
  flush(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

// ---- restore ---------------------------------------------------------------------------------------------------------------------

/** The same rule as for the group consumer: one `read` in flight, `assign` and `unassign` between reads. */
export interface PartitionReader {
  connect(): Promise<void>;
  assign(starts: readonly TopicPartitionOffset[]): Promise<void>;
  unassign(partitions: readonly TopicPartition[]): Promise<void>;
  read(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]>;
  /**
   * The offset up to which the partition has been read, transaction markers and aborted records included; counts what the last
   * `read` returned. `undefined` while nothing is known.
   */
  position(partition: TopicPartition): number | undefined;
  close(): Promise<void>;
}

// ---- admin -----------------------------------------------------------------------------------------------------------------------

export interface TopicDescription {
  readonly name: string;
  /** Text form of the topic's unique id: differs after a topic was deleted and made again. */
  readonly topicId: string;
  readonly partitions: number;
}

export interface TopicSpecification {
  readonly name: string;
  readonly partitions: number;
  /** -1 is the broker's default. */
  readonly replicationFactor: number;
  readonly config: Readonly<Record<string, string>>;
}

export type OffsetSpec = 'earliest' | 'highWatermark' | 'lastStable';

export interface CommittedOffset extends TopicPartition {
  /** `undefined`: there is none. */
  readonly offset: number | undefined;
  readonly metadata: string;
}

export interface BrokerAdmin {
  /** Names of all topics; Kafka's own may be among them. */
  listTopics(): Promise<readonly string[]>;
  /** Descriptions of those of the topics that exist. */
  describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>>;
  /** Resolves also when the topic exists already (whatever its settings: describe it afterwards). */
  createTopic(topic: TopicSpecification): Promise<void>;
  /** @throws kind `invalid` when a topic or partition does not exist. */
  listOffsets(partitions: readonly TopicPartition[], spec: OffsetSpec): Promise<readonly TopicPartitionOffset[]>;
  /**
   * Committed offsets that no open transaction can still change (KIP-447).
   * @throws kind `pending` when an open transaction holds one of them: ask again; a time-out is `pending` too, never "none".
   */
  stableOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<readonly CommittedOffset[]>;
  /** Deletes records before the offsets. */
  deleteRecords(before: readonly TopicPartitionOffset[]): Promise<void>;
  /** Owner of each assigned partition of the group, by client id. */
  describeGroup(groupId: string): Promise<readonly GroupMember[]>;
}

export interface GroupMember {
  readonly memberId: string;
  readonly clientId: string;
  readonly instanceId: string | undefined;
  readonly partitions: readonly TopicPartition[];
}
