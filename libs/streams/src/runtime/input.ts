/**
 * The queue of one input partition of a task.
 *
 * Invariants
 * 1. `position` is the first record not yet joined; everything before it has taken effect in the open epoch or earlier.
 * 2. Records are queued once and in order: what a consume in flight brings of older offsets, or while the input is closed to routing,
 *    is dropped.
 * 3. `committed <= position <= tail`.
 * 4. Timestamps are extracted when a record is the next one of its partition, with the partition's time of that moment.
 */
import { assert } from '../core/assert.js';
import type { ConsumedRecord } from './broker.js';
import type { SourceStep } from './graph.js';
import type { Logger } from './hooks.js';
import { type ReadRecord, readRecord } from './timestamps.js';

/** Constant part of what a queued record costs in memory, in bytes. */
const recordOverheadBytes = 200;

function recordBytes(record: ConsumedRecord): number {
  return recordOverheadBytes + (record.key?.length ?? 0) + (record.value?.length ?? 0);
}

export class Input {
  private records: ConsumedRecord[] = [];
  private head = 0;
  bytes = 0;
  /** First record not yet joined. */
  position: number;
  /** What the last confirmed epoch committed. */
  committed: number;
  /** Offset after the last record queued. */
  tail: number;
  /** How far the consumer had read when all that it had brought was queued: transaction markers and aborted records count. */
  readTo: number;
  /** Closed from an abort, a revocation or an assignment until its seek or assign has called back. */
  open = false;
  paused = true;
  /** True until a first offset has been committed for the partition. */
  initial = false;
  /** At most once: records before this offset have been committed and may be processed. */
  claimed = Number.POSITIVE_INFINITY;
  /** At most once: the offset of the commit under way, which claims what lies before it once it is confirmed. */
  private claiming = 0;
  private linked: SourceStep | undefined;
  /** The source's, at hand for each record. */
  private timestampOf: SourceStep['timestampOf'];
  /** Largest timestamp of the records that were dispatched, and of those that have joined; only where timestamps are extracted. */
  private dispatchedTimeMs: number;
  private joinedTimeMs: number;
  private committedTimeMs: number;
  private hasDropped = false;
  /** The next record, once its timestamp was extracted. */
  private next: { readonly record: ConsumedRecord; readonly read: ReadRecord } | undefined;

  constructor(
    /** Physical name. */
    readonly topic: string,
    readonly partition: number,
    readonly topicId: string,
    /** Name of the topic's handle in the topology. */
    readonly handle: string,
    start: number,
    partitionTimeMs = -1,
  ) {
    this.dispatchedTimeMs = partitionTimeMs;
    this.joinedTimeMs = partitionTimeMs;
    this.committedTimeMs = partitionTimeMs;
    this.position = start;
    this.committed = start;
    this.tail = start;
    this.readTo = start;
  }

  /** What the records go through; the task's own steps. */
  get source(): SourceStep {
    assert(this.linked !== undefined, 'an input belongs to a task');
    return this.linked;
  }

  link(source: SourceStep): void {
    this.linked = source;
    this.timestampOf = source.timestampOf;
  }

  get length(): number {
    return this.records.length - this.head;
  }

  /** Queues a record. False when it was dropped: the input is closed, or the record is not the next one. */
  push(record: ConsumedRecord): boolean {
    if (!this.open || record.offset < this.tail) return false;
    this.records.push(record);
    this.tail = record.offset + 1;
    this.bytes += recordBytes(record);
    return true;
  }

  /** The next record, if it may be processed. */
  peek(): ConsumedRecord | undefined {
    const record = this.records[this.head];
    return record !== undefined && record.offset < this.claimed ? record : undefined;
  }

  /** The next record with its timestamp, where that is not simply its own. */
  get read(): ReadRecord | undefined {
    const { timestampOf } = this;
    if (timestampOf === undefined) return undefined;
    const record = this.peek();
    if (record === undefined) return undefined;
    if (this.next?.record !== record)
      this.next = { record, read: readRecord(this.source.topic, timestampOf, record, this.dispatchedTimeMs) };
    return this.next.read;
  }

  /** As `read`, for a record that has been dispatched and could not be read. */
  readAgain(record: ConsumedRecord): ReadRecord | undefined {
    const { timestampOf } = this;
    return timestampOf === undefined ? undefined : readRecord(this.source.topic, timestampOf, record, this.dispatchedTimeMs);
  }

  /** Timestamp of the next record: of two inputs the smaller one goes first. A record that is to be dropped does not hold up others. */
  get nextTimestampMs(): number | undefined {
    const record = this.peek();
    if (record === undefined || this.timestampOf === undefined) return record?.timestampMs;
    const { timestampMs = record.timestampMs, failure } = this.read ?? {};
    return timestampMs < 0 && failure === undefined ? Number.NEGATIVE_INFINITY : timestampMs;
  }

  /** Says once for each partition that records are dropped; how many are is counted. */
  noteDropped(logger: Logger, timestampMs: number): void {
    if (this.hasDropped) return;
    this.hasDropped = true;
    const place = `${this.topic}-${this.partition}`;
    logger.warn(
      `Records of ${place} are dropped for their timestamps, the first one for ${timestampMs}. Further ones are only counted (recordsDropped).`,
    );
  }

  /** For the committed offset's metadata. */
  get partitionTimeMs(): number | undefined {
    return this.timestampOf === undefined || this.joinedTimeMs < 0 ? undefined : this.joinedTimeMs;
  }

  /** A record with this timestamp has joined. */
  joined(offset: number, timestampMs: number): void {
    this.position = offset + 1;
    if (timestampMs > this.joinedTimeMs) this.joinedTimeMs = timestampMs;
  }

  confirm(offset: number, partitionTimeMs: number | undefined): void {
    this.committed = offset;
    this.committedTimeMs = partitionTimeMs ?? -1;
    this.initial = false;
    if (this.claimed !== Number.POSITIVE_INFINITY) this.claimed = offset;
  }

  shift(): void {
    const record = this.records[this.head];
    if (record === undefined) return;
    if (this.next?.record === record && this.next.read.failure === undefined) {
      this.dispatchedTimeMs = Math.max(this.dispatchedTimeMs, this.next.read.timestampMs);
    }
    this.bytes -= recordBytes(record);
    this.head++;
    if (this.head === this.records.length) {
      this.records = [];
      this.head = 0;
    } else if (this.head >= 4_096 && this.head * 2 > this.records.length) {
      this.records = this.records.slice(this.head);
      this.head = 0;
    }
  }

  /** Takes what the consumer has read behind the last record, and what is none, as passed. Only while nothing is in hand. */
  advance(): void {
    if (!this.open || this.length > 0 || this.position !== this.tail || this.readTo <= this.tail) return;
    this.tail = this.readTo;
    this.position = this.readTo;
  }

  /** At most once: a commit of all that is queued begins. */
  claim(): number {
    this.claiming = this.tail;
    return this.tail;
  }

  /** Forgets what is queued; somebody else will process it. At most once keeps what it has committed already, or is committing. */
  dropUnclaimed(): void {
    const end = Math.max(this.claimed, this.claiming);
    const kept = end === Number.POSITIVE_INFINITY ? [] : this.records.slice(this.head).filter((record) => record.offset < end);
    this.records = kept;
    this.head = 0;
    this.bytes = kept.reduce((sum, record) => sum + recordBytes(record), 0);
    this.tail = Math.max(this.position, (kept.at(-1)?.offset ?? -1) + 1, Math.min(this.tail, end));
  }

  /** Empties the queue and closes the input to routing; the next record expected is the one at `offset`. */
  rewind(offset: number): void {
    this.records = [];
    this.head = 0;
    this.bytes = 0;
    this.position = offset;
    this.committed = offset;
    this.tail = offset;
    this.readTo = offset;
    this.claiming = 0;
    this.open = false;
    this.next = undefined;
    this.joinedTimeMs = this.committedTimeMs;
    this.dispatchedTimeMs = this.committedTimeMs;
  }
}
