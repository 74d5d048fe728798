/** Appends the plan's records while time passes. */
import { noHeaders } from '@tally/streams';
import type { PlannedRecord } from '../plan/plan.js';
import type { History } from './history.js';

export class Load {
  private next = 0;
  private isSuspended = false;
  private isLast = false;
  private readonly records: readonly PlannedRecord[];

  constructor(
    private readonly history: History,
    records: readonly PlannedRecord[],
  ) {
    this.records = records.toSorted((one, other) => one.atMs - other.atMs);
  }

  /** All has been appended that has a time. */
  get isDone(): boolean {
    return (this.records[this.next]?.atMs ?? Number.POSITIVE_INFINITY) === Number.POSITIVE_INFINITY;
  }

  start(): void {
    this.appendDue();
  }

  /** Until it is resumed nothing is appended; what has become due comes all at once then. */
  suspend(): void {
    this.isSuspended = true;
  }

  resume(): void {
    if (!this.isSuspended) return;
    this.isSuspended = false;
    this.appendDue();
  }

  /** Appends what has no time. @returns false when there was nothing. */
  appendLast(): boolean {
    if (this.next === this.records.length) return false;
    this.isLast = true;
    this.appendDue();
    return true;
  }

  private appendDue(): void {
    if (this.isSuspended) return;
    const { clock, cluster, elapsedMs, startMs } = this.history;
    for (;;) {
      const record = this.records[this.next];
      if (record === undefined) return;
      if (record.atMs > elapsedMs && !this.isLast) {
        if (record.atMs !== Number.POSITIVE_INFINITY) clock.after(record.atMs - elapsedMs, () => this.appendDue());
        return;
      }
      const { topic, partition, key, value, headers = noHeaders } = record;
      const timestampMs = startMs + record.timestampMs;
      const offset = cluster.topics.log({ topic, partition }).highWatermark;
      cluster.append(topic, partition, [{ key, value, timestampMs, headers }]);
      this.history.inputLog.add({ topic, partition, offset, key, value, timestampMs, headers });
      this.next += 1;
    }
  }
}
