/**
 * Replays changelogs into local stores, on a reader of its own, outside of any transaction.
 *
 * Invariants
 * 1. A replay ends at or behind the high watermark that was read after the stable offsets: what a previous owner committed is in it.
 *    Not at the last stable offset of that moment, which may lie before a commit whose markers are on their way.
 * 2. Entries and the position behind them are written in one batch; a crash in the middle costs nothing but that batch.
 * 3. Live tasks come first: between batches the event loop turns.
 */
import { type Clock, sleep } from '../core/clock.js';
import { TallyError, errorOf } from '../core/errors.js';
import { type TopicPartition, type TopicPartitionOffset, partitionName } from '../core/record.js';
import type { Broker, ConsumedRecord, PartitionReader } from './broker.js';
import type { Logger } from './hooks.js';
import { KeptReader } from './kept-reader.js';

export interface Replay {
  readonly from: TopicPartitionOffset;
  /** Offset that must be reached. */
  readonly until: number;
  /** Writes a batch; `position` is the offset behind it. */
  apply(records: readonly ConsumedRecord[], position: number): Promise<void>;
}

interface Job extends Replay {
  position: number;
  movedAtMs: number;
  assigned: boolean;
  cancelled: boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Records of all partitions that are read at once. */
const recordsPerRead = 10_000;
const readTimeoutMs = 50;
const retryDelayMs = 500;
/**
 * A replay that has not moved for this long looks whether its partition is still what it was, and goes on with a new reader: it may only
 * wait for a transaction, but a client that met a broker which died in between may also never fetch again.
 */
const stallCheckMs = 3_000;
/** How long a reader is kept for further replays. One that is kept idle may not survive a broker that is started again. */
const idleMs = 200;
const idleLookMs = 5;

export class Restorer {
  private readonly jobs = new Map<string, Job>();
  private readonly reader: KeptReader;
  private running: Promise<void> | undefined;
  private closed = false;

  constructor(
    private readonly broker: Broker,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.reader = new KeptReader(broker, logger, 'changelog reader');
  }

  /** Resolves when the replay has reached its end. */
  replay(replay: Replay): Promise<void> {
    if (replay.from.offset >= replay.until) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const job: Job = {
        from: replay.from,
        until: replay.until,
        apply: (records, position) => replay.apply(records, position),
        position: replay.from.offset,
        movedAtMs: this.clock.monotonicMs(),
        assigned: false,
        cancelled: false,
        resolve,
        reject,
      };
      this.jobs.set(partitionName(replay.from), job);
      this.running ??= this.run();
    });
  }

  /** Ends a replay early; its promise resolves. */
  cancel(partition: TopicPartition): void {
    const job = this.jobs.get(partitionName(partition));
    if (job !== undefined) job.cancelled = true;
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const job of this.jobs.values()) job.cancelled = true;
    await this.running;
    await this.closeReader();
  }

  private async run(): Promise<void> {
    do {
      await this.runJobs();
      for (let waitedMs = 0; waitedMs < idleMs && this.jobs.size === 0 && !this.closed; waitedMs += idleLookMs)
        await sleep(this.clock, idleLookMs);
      if (this.jobs.size === 0) await this.closeReader();
    } while (this.jobs.size > 0 && !this.closed);
    if (this.closed) for (const job of this.jobs.values()) job.resolve();
    // At once, not when the promise has settled: a replay that follows the last one's end starts a new run.
    this.running = undefined;
  }

  private async runJobs(): Promise<void> {
    while (this.jobs.size > 0) {
      try {
        // Before the reader is connected: without a cluster nothing else would ever end them.
        await this.dropCancelled();
        await this.rejectStalled();
        if (this.jobs.size === 0) break;
        const reader = await this.reader.connected();
        await this.assignNew(reader);
        const records = await reader.read(recordsPerRead, readTimeoutMs);
        await this.applyAll(reader, groupByPartition(records));
      } catch (error) {
        if (this.closed) break;
        this.logger.warn(`Reading changelogs failed and is tried again: ${errorOf(error).message}`);
        await this.closeReader();
        await sleep(this.clock, retryDelayMs);
      }
      await this.clock.yieldNow();
    }
  }

  private async closeReader(): Promise<void> {
    for (const job of this.jobs.values()) job.assigned = false;
    await this.reader.close();
  }

  private async dropCancelled(): Promise<void> {
    for (const [name, job] of this.jobs) if (job.cancelled) await this.end(name, job, job.resolve);
  }

  /** A partition that was deleted, cut off or made anew brings nothing more, and need not bring an error either. */
  private async rejectStalled(): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    for (const [name, job] of this.jobs) {
      if (nowMs - job.movedAtMs < stallCheckMs) continue;
      job.movedAtMs = nowMs;
      const reason = await this.whyStalled(job);
      if (reason !== undefined) await this.end(name, job, () => job.reject(reason));
      else {
        this.logger.warn(
          `The replay of ${partitionName(job.from)} waits at ${job.position} of ${job.until}: an open transaction holds it back. If that outlasts the ` +
            `transaction's time-out, it hangs in the broker: see kafka-transactions.sh find-hanging and abort.`,
        );
        await this.closeReader();
      }
    }
  }

  private async whyStalled({ from, position, until }: Job): Promise<Error | undefined> {
    try {
      const [first] = await this.broker.admin.listOffsets([from], 'earliest');
      const [end] = await this.broker.admin.listOffsets([from], 'highWatermark');
      if (first === undefined || end === undefined || (first.offset <= position && end.offset >= until)) return undefined;
      const message = `The changelog ${partitionName(from)} was to be replayed from ${position} to ${until}, but now holds ${first.offset} to ${end.offset}.`;
      return new TallyError({ code: 'CHANGELOG_CHANGED', kind: 'retriable', message, place: from });
    } catch (error) {
      return error instanceof TallyError && error.kind === 'invalid' ? error : undefined;
    }
  }

  /** Forgets a job and then settles it, also when the reader fails: whoever waits would wait for ever. */
  private async end(name: string, job: Job, settle: () => void): Promise<void> {
    this.jobs.delete(name);
    try {
      if (job.assigned) await this.reader.current?.unassign([job.from]);
    } finally {
      settle();
    }
  }

  private async assignNew(reader: PartitionReader): Promise<void> {
    const fresh = [...this.jobs.values()].filter((job) => !job.assigned);
    if (fresh.length === 0) return;
    await reader.assign(fresh.map((job) => ({ topic: job.from.topic, partition: job.from.partition, offset: job.position })));
    for (const job of fresh) job.assigned = true;
  }

  private async applyAll(reader: PartitionReader, records: ReadonlyMap<string, readonly ConsumedRecord[]>): Promise<void> {
    for (const [name, job] of this.jobs) {
      const batch = records.get(name) ?? [];
      const position = reader.position(job.from) ?? job.position;
      try {
        if (!job.cancelled && (batch.length > 0 || position > job.position)) await job.apply(batch, position);
      } catch (error) {
        await this.end(name, job, () => job.reject(errorOf(error)));
        continue;
      }
      if (position > job.position) job.movedAtMs = this.clock.monotonicMs();
      job.position = position;
      if (position >= job.until) await this.end(name, job, job.resolve);
    }
  }
}

export function groupByPartition(records: readonly ConsumedRecord[]): ReadonlyMap<string, readonly ConsumedRecord[]> {
  const groups = new Map<string, ConsumedRecord[]>();
  let lastTopic: string | undefined;
  let lastPartition = -1;
  let group: ConsumedRecord[] = [];
  for (const record of records) {
    if (record.topic !== lastTopic || record.partition !== lastPartition) {
      lastTopic = record.topic;
      lastPartition = record.partition;
      const name = partitionName(record);
      group = groups.get(name) ?? [];
      groups.set(name, group);
    }
    group.push(record);
  }
  return groups;
}
