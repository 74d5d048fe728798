/** The part that a consumer and a reader share: which partitions are read, from where, and one read at a time. */
import { type BrokerError, type ConsumedRecord, partitionName, type TopicPartition, type TopicPartitionOffset } from '@tally/streams';
import type { Connection } from './connection.js';
import { simulatedError } from './errors.js';
import type { Isolation } from './log.js';
import { fetch, type FetchedSlice } from './requests/index.js';

interface FetchedPartition extends TopicPartition {
  /** Of the next fetch. */
  offset: number;
  paused: boolean;
  /** The client reports an offset outside of the partition once, then it stalls. */
  stalled: boolean;
}

/** A fetch is not given up earlier, however short the read that asks for it: a real client would have fetched ahead. */
const fetchTimeoutMsMin = 250;

export interface FetcherOptions {
  readonly connection: Connection;
  readonly clientId: string;
  readonly isolation: Isolation;
  readonly outOfRange: (error: BrokerError) => void;
  /** While it says so nothing is fetched. */
  readonly suspended?: () => boolean;
  /** Only what has been released is fetched. */
  readonly waitsForRelease?: boolean;
}

export class Fetcher {
  private readonly partitions = new Map<string, FetchedPartition>();
  private inFlight = false;
  private interrupted = false;
  private interruptWait: (() => void) | undefined;
  private rotation = 0;

  constructor(private readonly options: FetcherOptions) {}

  get reading(): boolean {
    return this.inFlight;
  }

  has(partition: TopicPartition): boolean {
    return this.partitions.has(partitionName(partition));
  }

  /** Adds those that are not there yet. */
  add(starts: readonly TopicPartitionOffset[], paused: boolean): void {
    this.requireIdle('assign');
    for (const start of starts) {
      const name = partitionName(start);
      this.requireOffset('assign', start);
      if (this.partitions.has(name)) continue;
      const { topic, partition, offset } = start;
      this.partitions.set(name, { topic, partition, offset, paused, stalled: false });
    }
  }

  remove(partitions: readonly TopicPartition[]): void {
    this.requireIdle('unassign');
    for (const partition of partitions) {
      if (!this.partitions.delete(partitionName(partition)))
        throw this.violation(`unassign of ${partitionName(partition)}, which is not assigned`);
    }
  }

  setPaused(partitions: readonly TopicPartition[], paused: boolean): void {
    const call = paused ? 'pause' : 'resume';
    this.requireIdle(call);
    for (const partition of partitions) this.get(partition, call).paused = paused;
  }

  seek(positions: readonly TopicPartitionOffset[]): void {
    this.requireIdle('seek');
    for (const position of positions) {
      this.requireOffset('seek', position);
      const fetched = this.get(position, 'seek');
      fetched.offset = position.offset;
      fetched.stalled = false;
    }
  }

  /** Where the next read of the partition goes on. */
  position(partition: TopicPartition): number | undefined {
    return this.partitions.get(partitionName(partition))?.offset;
  }

  async read(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]> {
    if (this.inFlight) throw this.violation('two reads in flight: they would interleave their records');
    if (!Number.isInteger(recordsMax) || recordsMax < 1) throw this.violation(`a read of ${recordsMax} records`);
    const { connection } = this.options;
    this.inFlight = true;
    const deadlineMs = connection.clock.monotonicMs() + timeoutMs;
    for (;;) {
      const records = await this.fetch(recordsMax, Math.max(0, deadlineMs - connection.clock.monotonicMs()));
      const leftMs = deadlineMs - connection.clock.monotonicMs();
      if (records.length > 0 || leftMs <= 0 || this.interrupted) return this.finish(records);
      await this.waitForChange(leftMs);
      if (this.interrupted) return this.finish([]);
    }
  }

  /** Ends the read in flight with what it has, now or after its answer. */
  interruptRead(): void {
    if (!this.inFlight) return;
    this.interrupted = true;
    this.interruptWait?.();
  }

  private finish(records: ConsumedRecord[]): ConsumedRecord[] {
    this.inFlight = false;
    this.interrupted = false;
    return records;
  }

  /** A lost fetch brings nothing; the client asks again from where it was. */
  private async fetch(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]> {
    const { connection, clientId } = this.options;
    try {
      const parts = await connection.call('fetch', { clientId, timeoutMs: Math.max(timeoutMs, fetchTimeoutMsMin) }, () =>
        this.collect(recordsMax),
      );
      return parts.flatMap((part) => this.take(part));
    } catch {
      return [];
    }
  }

  private collect(recordsMax: number): FetchedSlice<FetchedPartition>[] {
    const { connection, isolation, suspended, waitsForRelease: onlyReleased = false } = this.options;
    if (suspended?.() === true) return [];
    const active = [...this.partitions.values()].filter((fetched) => !fetched.paused && !fetched.stalled);
    const first = active.length === 0 ? 0 : this.rotation % active.length;
    this.rotation += 1;
    return fetch(connection.cluster, { from: [...active.slice(first), ...active.slice(0, first)], recordsMax, isolation, onlyReleased });
  }

  private take({ from: fetched, slice }: FetchedSlice<FetchedPartition>): readonly ConsumedRecord[] {
    if (slice === undefined) {
      fetched.stalled = true;
      const { topic, partition, offset } = fetched;
      this.options.outOfRange(simulatedError('OFFSET_OUT_OF_RANGE', { topic, partition, offset }));
      return [];
    }
    fetched.offset = slice.nextOffset;
    return slice.records;
  }

  private waitForChange(timeoutMs: number): Promise<void> {
    const { connection } = this.options;
    return new Promise((resolve) => {
      const undo: (() => void)[] = [];
      const wake = (): void => {
        this.interruptWait = undefined;
        for (const step of undo) step();
        resolve();
      };
      // A change is noticed on this process's clock, so that a stopped process notices nothing.
      const noticed = (): void => {
        undo.push(connection.after(0, wake));
      };
      undo.push(connection.after(timeoutMs, wake));
      for (const fetched of this.partitions.values()) {
        const log = fetched.paused ? undefined : connection.cluster.topics.findLog(fetched);
        if (log !== undefined) undo.push(log.onceChanged(noticed));
      }
      this.interruptWait = wake;
    });
  }

  private get(partition: TopicPartition, call: string): FetchedPartition {
    const fetched = this.partitions.get(partitionName(partition));
    if (fetched === undefined) throw this.violation(`${call} of ${partitionName(partition)}, which is not assigned`);
    return fetched;
  }

  private requireOffset(call: string, { topic, partition, offset }: TopicPartitionOffset): void {
    if (!Number.isSafeInteger(offset) || offset < 0) throw this.violation(`${call} of ${topic}-${partition} at the offset ${offset}`);
  }

  private requireIdle(call: string): void {
    if (this.inFlight) throw this.violation(`${call} while a read is in flight`);
  }

  private violation(message: string): Error {
    return this.options.connection.violation(`${this.options.clientId}: ${message}`);
  }
}
