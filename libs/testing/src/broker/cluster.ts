/**
 * A Kafka cluster in memory, shared by any number of simulated processes; it survives their crashes. All that happens in it depends on
 * the injected clock and random source alone.
 */
import {
  type Clock,
  type CommittedOffset,
  type ConsumedRecord,
  type Headers,
  noHeaders,
  type Random,
  seededRandom,
  type TopicPartition,
  type TopicPartitionOffset,
} from '@tally/streams';
import { Faults } from './faults.js';
import { ConsumerGroup, type GroupHost } from './group.js';
import type { MembersOffset } from './group-offsets.js';
import type { Isolation } from './log.js';
import { recordBytes, type SimulatedTopic, Topics } from './topics.js';
import { type Outcome, TransactionCoordinator, type TransactionHost } from './transactions.js';

/** A fixed number of milliseconds, or one drawn uniformly for each use. */
export type Delay = number | { readonly minMs: number; readonly maxMs: number };

export interface SimulatedClusterOptions {
  readonly clock: Clock;
  /** Default: a generator with the seed 1. */
  readonly random?: Random;
  /** Each way of a request. Default 0.5 ms. */
  readonly latency?: Delay;
  /** From the decision of a transaction to each of its markers. Default 0.5 ms. */
  readonly markerDelay?: Delay;
  /** Default 6,000 ms. */
  readonly sessionTimeoutMs?: number;
  /** Default 2,000 ms. */
  readonly heartbeatIntervalMs?: number;
  /** How often timed-out transactions are looked for. Default 1,000 ms. */
  readonly transactionSweepIntervalMs?: number;
  /** Largest timeout that a transactional producer may ask for. Default 900,000 ms. */
  readonly transactionTimeoutMsMax?: number;
  /** `message.max.bytes` of the broker, for topics that do not set `max.message.bytes`. Default 1,048,588. */
  readonly maxMessageBytes?: number;
  /** The number of partitions of a topic that is asked for and does not exist: it is made then. Default: it stays unknown. */
  readonly partitionsOfUnknown?: (topic: string) => number | undefined;
  /** Keeps `offsetCommits`. Default false. */
  readonly recordsOffsetCommits?: boolean;
  /** Called with one line per request that takes effect; two runs of one seed give the same lines. */
  readonly trace?: (line: string) => void;
}

/** An offset of a group that took effect, and who committed it. */
export interface OffsetCommit extends TopicPartitionOffset {
  readonly groupId: string;
  readonly memberId: string;
  /** Epoch of the group since which the member held the partition when it committed; `undefined` when it did not. */
  readonly heldSince: number | undefined;
}

/** A record to append, as a test writes it. Strings are UTF-8. */
export interface TestRecord {
  readonly key: Uint8Array | string | null;
  readonly value: Uint8Array | string | null;
  /** Default: now. */
  readonly timestampMs?: number | undefined;
  readonly headers?: Headers | undefined;
}

export class SimulatedCluster implements GroupHost, TransactionHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly faults = new Faults();
  readonly topics: Topics;
  readonly transactions: TransactionCoordinator;
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly sweepIntervalMs: number;
  readonly transactionTimeoutMsMax: number;
  /** Broken rules of the port, in the order of their breaking: each is a bug of the caller. A test ends with a look at it. */
  readonly violations: string[] = [];
  /** Offsets that members have committed, in the order in which they took effect; only where the options ask for it. */
  readonly offsetCommits: OffsetCommit[] = [];
  private readonly groups = new Map<string, ConsumerGroup>();
  private readonly latency: Delay;
  private readonly markerDelay: Delay;
  private readonly partitionsOfUnknown: (topic: string) => number | undefined;
  private readonly traceLine: ((line: string) => void) | undefined;
  private readonly recordsOffsetCommits: boolean;
  private waitingForStart: (() => void)[] = [];
  private available = true;
  private nextMemberNumber = 1;
  private recordsProduced = 0;

  constructor(options: SimulatedClusterOptions) {
    this.clock = options.clock;
    this.random = options.random ?? seededRandom(1);
    this.latency = options.latency ?? 0.5;
    this.markerDelay = options.markerDelay ?? 0.5;
    this.sessionTimeoutMs = options.sessionTimeoutMs ?? 6_000;
    this.heartbeatIntervalMs = options.heartbeatIntervalMs ?? 2_000;
    this.sweepIntervalMs = options.transactionSweepIntervalMs ?? 1_000;
    this.transactionTimeoutMsMax = options.transactionTimeoutMsMax ?? 900_000;
    this.partitionsOfUnknown = options.partitionsOfUnknown ?? (() => undefined);
    this.traceLine = options.trace;
    this.recordsOffsetCommits = options.recordsOffsetCommits ?? false;
    this.topics = new Topics(options.maxMessageBytes ?? 1_048_588);
    this.transactions = new TransactionCoordinator(this);
  }

  // ---- what tests do to it ----

  createTopic(name: string, partitions: number, config: Readonly<Record<string, string>> = {}): void {
    this.topics.create(name, partitions, config);
  }

  /** Deletes the topic, its records, and the offsets that groups have committed for it. */
  deleteTopic(name: string): void {
    this.topics.delete(name);
    for (const group of this.groups.values()) group.offsets.forgetTopic(name);
  }

  addPartitions(topic: string, total: number): void {
    this.topics.addPartitions(topic, total);
  }

  /** Appends committed records, as a producer that is no part of the test would. */
  append(topic: string, partition: number, records: readonly TestRecord[]): void {
    const now = this.clock.nowMs();
    const at = { topic, partition };
    const complete = records.map((given) => {
      const { timestampMs = now, headers = noHeaders } = given;
      const [key, value] = [bytesOf(given.key), bytesOf(given.value)];
      return { topic, partition, offset: -1, timestampMs, key, value, headers, rank: undefined, bytes: recordBytes(key, value, headers) };
    });
    for (const record of complete) this.topics.checkBatch(at, [record], now);
    this.topics.log(at).append(complete);
  }

  /** What a new consumer of the partition would read from its start. */
  records(topic: string, partition: number, isolation: Isolation = 'readCommitted'): ConsumedRecord[] {
    const log = this.topics.log({ topic, partition });
    return log.read(log.logStart, Number.POSITIVE_INFINITY, isolation).records;
  }

  /** As `records`, over all partitions, one after the other. */
  allRecords(topic: string, isolation: Isolation = 'readCommitted'): ConsumedRecord[] {
    const partitions = this.topics.find(topic)?.partitions.length ?? 0;
    return Array.from({ length: partitions }, (_, partition) => this.records(topic, partition, isolation)).flat();
  }

  /** The group's committed offset, whatever open transactions hold. */
  committedOffset(groupId: string, partition: TopicPartition): CommittedOffset {
    return this.group(groupId).offsets.read(partition);
  }

  /** Runs the log cleaner over all compacted topics. */
  compact(): void {
    for (const { settings, partitions } of this.topics.all()) {
      if (settings.compact) for (const log of partitions) log.compact(this.clock.nowMs(), settings.deleteRetentionMs);
    }
  }

  /** Deletes what is older than its topic's retention. */
  applyRetention(): void {
    for (const { settings, partitions } of this.topics.all()) {
      if (!settings.deletes || settings.retentionMs < 0) continue;
      for (const log of partitions) log.deleteOlderThan(this.clock.nowMs() - settings.retentionMs);
    }
  }

  /** Forgets committed offsets, as the broker does with those of a group that was empty for days. */
  expireOffsets(groupId: string, partitions?: readonly TopicPartition[]): void {
    this.group(groupId).offsets.expire(partitions);
  }

  /** Stops answering; nothing is lost. Sessions and transaction timeouts do not end meanwhile. */
  stop(): void {
    this.available = false;
  }

  start(): void {
    this.available = true;
    const waiting = this.waitingForStart;
    this.waitingForStart = [];
    for (const callback of waiting) callback();
  }

  // ---- what its parts ask of it ----

  get isAvailable(): boolean {
    return this.available;
  }

  group(groupId: string): ConsumerGroup {
    let group = this.groups.get(groupId);
    if (group === undefined) {
      group = new ConsumerGroup(this, this.recordsOffsetCommits ? (offset) => this.noteOffset(groupId, offset) : undefined);
      this.groups.set(groupId, group);
    }
    return group;
  }

  /** The topic; one that does not exist is made where the cluster's options say so. */
  describe(name: string): SimulatedTopic | undefined {
    const partitions = this.topics.find(name) === undefined ? this.partitionsOfUnknown(name) : undefined;
    return partitions === undefined ? this.topics.find(name) : this.topics.create(name, partitions, anyTimestamp);
  }

  /** Counts the records that producers are given. */
  nextRank(): number {
    return this.recordsProduced++;
  }

  /** Calls back at once, or when the cluster has been started again. */
  whenAvailable(callback: () => void): void {
    if (this.available) callback();
    else this.waitingForStart.push(callback);
  }

  latencyMs(): number {
    return this.draw(this.latency);
  }

  markerDelayMs(): number {
    return this.draw(this.markerDelay);
  }

  /** Member ids are drawn, so that who comes first in the range assignment is a matter of the seed. */
  newMemberId(): string {
    const drawn = Math.floor(this.random.next() * 0x1_0000_0000);
    return `${drawn.toString(16).padStart(8, '0')}-${this.nextMemberNumber++}`;
  }

  markPartition(partition: TopicPartition, producerId: number, outcome: Outcome): void {
    if (this.isTraced) this.trace(`marker ${partition.topic}-${partition.partition} ${producerId} ${outcome}`);
    this.topics.findLog(partition)?.mark(producerId, outcome);
  }

  markGroup(groupId: string, producerId: number, outcome: Outcome): void {
    if (this.isTraced) this.trace(`marker group ${groupId} ${producerId} ${outcome}`);
    this.group(groupId).offsets.mark(producerId, outcome);
  }

  /** Lines are made only for somebody. */
  get isTraced(): boolean {
    return this.traceLine !== undefined;
  }

  trace(line: string): void {
    this.traceLine?.(`${this.clock.monotonicMs()} ${line}`);
  }

  private noteOffset(groupId: string, { topic, partition, offset, by }: MembersOffset): void {
    if (by !== undefined) this.offsetCommits.push({ groupId, topic, partition, offset, ...by });
  }

  private draw(delay: Delay): number {
    return typeof delay === 'number' ? delay : delay.minMs + this.random.next() * (delay.maxMs - delay.minMs);
  }
}

/** Of topics that nobody has made by hand: records keep whatever time they have. */
const anyTimestamp = { 'message.timestamp.after.max.ms': String(Number.MAX_SAFE_INTEGER) };

function bytesOf(bytes: Uint8Array | string | null): Uint8Array | null {
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}
