/**
 * One partition: records and transaction markers in the order of their offsets. Markers take offsets, as on a real broker, and offsets
 * are never used twice; compaction and deletion leave gaps.
 */
import { type ConsumedRecord, latin1Of } from '@tally/streams';

export type Isolation = 'readCommitted' | 'readUncommitted';

/** What one producer's transaction wrote to this partition; settled by its marker. */
export interface PartitionTransaction {
  readonly firstOffset: number;
  outcome: 'open' | 'committed' | 'aborted';
}

/** A record of a partition. */
export interface LoggedRecord extends ConsumedRecord {
  /** Place among all records that producers of the cluster were given, in the order of the calls; `undefined` for what no producer wrote. */
  readonly rank: number | undefined;
  /** Size in a batch. */
  readonly bytes: number;
}

/** A record on its way into a log, which gives it its offset and keeps the very object. */
export type RecordToLog = Omit<LoggedRecord, 'offset'> & { offset: number };

/** Stands where a record's transaction would: the entry is a transaction's marker. */
const marker: PartitionTransaction = { firstOffset: -1, outcome: 'aborted' };

export interface LogSlice {
  readonly records: LoggedRecord[];
  /** Where the next read goes on: behind what was returned and what was skipped. */
  readonly nextOffset: number;
}

export class PartitionLog {
  /** Group consumers are brought nothing from this offset on. */
  private releasedUntil = Number.POSITIVE_INFINITY;
  /** Records and markers; of a marker there is nothing but its offset. */
  private entries: (LoggedRecord | Pick<LoggedRecord, 'offset'>)[] = [];
  /** Of each entry. */
  private transactions: (PartitionTransaction | undefined)[] = [];
  /** Set for each marker and tombstone by the first compaction that meets it: from then on it may go. */
  private removableFromMs = new Map<number, number>();
  private readonly open = new Map<number, PartitionTransaction>();
  private waiting = new Set<() => void>();
  private start = 0;
  private end = 0;
  private endOfRecords = 0;

  get logStart(): number {
    return this.start;
  }

  get highWatermark(): number {
    return this.end;
  }

  /** Behind the last record: what follows are markers. */
  get recordsEnd(): number {
    return this.endOfRecords;
  }

  get lastStableOffset(): number {
    let stable = this.end;
    for (const transaction of this.open.values()) stable = Math.min(stable, transaction.firstOffset);
    return stable;
  }

  /** Entries held, markers included: fewer than offsets once compaction has run. */
  get length(): number {
    return this.entries.length;
  }

  /** `producerId` when the records belong to that producer's open transaction. */
  append(records: readonly RecordToLog[], producerId?: number): void {
    const transaction = producerId === undefined ? undefined : this.transactionOf(producerId);
    for (const record of records) {
      record.offset = this.end++;
      this.entries.push(record);
      this.transactions.push(transaction);
    }
    this.endOfRecords = this.end;
    this.changed();
  }

  /** Writes the marker that ends the producer's transaction here. */
  mark(producerId: number, outcome: 'committed' | 'aborted'): void {
    const transaction = this.open.get(producerId);
    if (transaction !== undefined) transaction.outcome = outcome;
    this.open.delete(producerId);
    this.entries.push({ offset: this.end++ });
    this.transactions.push(marker);
    this.changed();
  }

  /** @param before nothing from this offset on is returned */
  read(from: number, recordsMax: number, isolation: Isolation, before = Number.POSITIVE_INFINITY): LogSlice {
    const limit = Math.min(before, isolation === 'readCommitted' ? this.lastStableOffset : this.end);
    const records: LoggedRecord[] = [];
    let index = this.indexOf(from);
    for (; index < this.entries.length && records.length < recordsMax; index += 1) {
      const entry = this.entries[index];
      if (entry === undefined || entry.offset >= limit) break;
      const transaction = this.transactions[index];
      if (transaction === marker || (isolation === 'readCommitted' && transaction?.outcome === 'aborted')) continue;
      records.push(entry as LoggedRecord);
    }
    const next = this.entries[index];
    const nextOffset = next === undefined ? limit : Math.min(next.offset, limit);
    return { records, nextOffset: Math.max(from, nextOffset) };
  }

  deleteBefore(offset: number): void {
    this.start = Math.max(this.start, Math.min(offset, this.end));
    const count = this.indexOf(this.start);
    this.entries.splice(0, count);
    this.transactions.splice(0, count);
    this.changed();
  }

  /** Deletes the records from the start that are older than the time, as retention does with closed segments. */
  deleteOlderThan(timestampMs: number): void {
    const stable = this.lastStableOffset;
    const kept = this.entries.find(
      ({ offset }, index) => offset >= stable || (this.recordAt(index)?.timestampMs ?? -Infinity) >= timestampMs,
    );
    this.deleteBefore(kept?.offset ?? stable);
  }

  /**
   * Keeps the last record of each key below the last stable offset, and all above. A tombstone goes at the first compaction that comes
   * `deleteRetentionMs` after the one that met it first.
   */
  compact(nowMs: number, deleteRetentionMs: number): void {
    const stable = this.lastStableOffset;
    const lastOffsets = new Map<string, number>();
    for (const [index, { offset }] of this.entries.entries()) {
      const key = this.recordAt(index)?.key ?? null;
      if (offset < stable && key !== null && this.transactions[index]?.outcome !== 'aborted') lastOffsets.set(latin1Of(key), offset);
    }
    const survivors = this.entries.map(
      ({ offset }, index) => offset >= stable || this.survives(index, lastOffsets, nowMs, deleteRetentionMs),
    );
    this.entries = this.entries.filter((_entry, index) => survivors[index]);
    this.transactions = this.transactions.filter((_transaction, index) => survivors[index]);
    this.changed();
  }

  /** Group consumers are brought what lies before the offset, and wait for the rest. */
  release(until: number): void {
    this.releasedUntil = until;
    this.changed();
  }

  get released(): number {
    return this.releasedUntil;
  }

  /** Calls back once, at the next change that a reader could notice. */
  onceChanged(callback: () => void): () => void {
    this.waiting.add(callback);
    return () => this.waiting.delete(callback);
  }

  private survives(index: number, lastOffsets: ReadonlyMap<string, number>, nowMs: number, deleteRetentionMs: number): boolean {
    const offset = this.entries[index]?.offset ?? -1;
    const record = this.recordAt(index);
    if (record !== undefined) {
      if (record.key === null || lastOffsets.get(latin1Of(record.key)) !== offset) return false;
      if (record.value !== null) return true;
    }
    const removableFromMs = this.removableFromMs.get(offset) ?? nowMs + deleteRetentionMs;
    const survives = nowMs < removableFromMs;
    if (survives) this.removableFromMs.set(offset, removableFromMs);
    else this.removableFromMs.delete(offset);
    return survives;
  }

  /** `undefined` for a marker. */
  private recordAt(index: number): LoggedRecord | undefined {
    return this.transactions[index] === marker ? undefined : (this.entries[index] as LoggedRecord | undefined);
  }

  private transactionOf(producerId: number): PartitionTransaction {
    let transaction = this.open.get(producerId);
    if (transaction === undefined) {
      transaction = { firstOffset: this.end, outcome: 'open' };
      this.open.set(producerId, transaction);
    }
    return transaction;
  }

  /** Index of the first entry at or behind the offset. */
  private indexOf(offset: number): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.entries[middle]?.offset ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private changed(): void {
    if (this.waiting.size === 0) return;
    const callbacks = this.waiting;
    // Not emptied by `clear`: a table that was cleared keeps what it held, and is itself kept by those before it once they are old.
    this.waiting = new Set();
    for (const callback of callbacks) callback();
  }
}
