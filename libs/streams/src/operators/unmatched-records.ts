/**
 * Records of joined streams that have met no other yet, until their windows are closed. A window is closed when the stream time of the join has passed the
 * last time at which a record of the other side could be, by more than the grace period.
 *
 * The buffer is looked through only when the stream time has passed the time under its own key by the window and the grace period: the earliest
 * that was held since, or the last one that was seen when it was looked through. So a record may be held for longer than need be, as in Kafka
 * Streams.
 */
import { noHeaders, type StreamRecord } from '../core/record.js';
import type { ProcessorContext } from '../topology/processor.js';
import type { HeldRecord, JoinBuffer, JoinSide, OpenJoinBuffer } from './join-buffer.js';

/** Which records of the right stream a left one meets. */
export interface JoinWindow {
  /** How much earlier it may be, in milliseconds. */
  readonly beforeMs: number;
  /** How much later it may be, in milliseconds. */
  readonly afterMs: number;
  /** How far behind the stream time a record of either side may come and still meet others, in milliseconds. */
  readonly graceMs: number;
}

/** One for the record in hand. */
export class UnmatchedRecords<K, V> {
  readonly streamTimeMs: number;
  private readonly held: OpenJoinBuffer<K, V>;

  constructor(
    buffer: JoinBuffer<K, V>,
    private readonly window: JoinWindow,
    context: ProcessorContext,
    timestampMs: number,
  ) {
    this.streamTimeMs = context.advanceTime(buffer.store, timestampMs);
    this.held = buffer.open(context);
  }

  hold(side: JoinSide, record: StreamRecord<K, V>): void {
    const sinceMs = this.held.ownTimeMs;
    if (sinceMs === undefined || record.timestampMs < sinceMs) this.held.ownTimeMs = record.timestampMs;
    // Its headers are not kept: it comes out with those of the record that closes its window.
    this.held.add(side, { ...record, headers: noHeaders });
  }

  /** A record of the side was met: what is held of its key and time comes out no more. */
  met(side: JoinSide, timeMs: number, key: K): void {
    this.held.removeAll(side, timeMs, key);
  }

  /**
   * Takes out what is closed, in the order of the times; at one time what is of the right side comes first.
   * @param reachMs how much later than the record in hand one of the other side may be
   */
  takeClosed(reachMs: number, take: (side: JoinSide, record: StreamRecord<K, V>) => void): void {
    const { held } = this;
    const sinceMs = held.ownTimeMs;
    if (sinceMs === undefined || !this.isClosed(sinceMs, reachMs)) return;
    let lastMs: number | undefined;
    for (let next = this.firstClosed(); next !== undefined; next = this.firstClosed()) {
      held.remove(next);
      take(next.side, held.read(next));
      lastMs = next.timeMs;
    }
    const seenMs = this.lastSeenMs(lastMs);
    if (seenMs !== sinceMs) held.ownTimeMs = seenMs;
  }

  private firstClosed(): HeldRecord | undefined {
    const { beforeMs, afterMs } = this.window;
    const left = this.held.first('left');
    const right = this.held.first('right');
    const closedLeft = left !== undefined && this.isClosed(left.timeMs, afterMs) ? left : undefined;
    const closedRight = right !== undefined && this.isClosed(right.timeMs, beforeMs) ? right : undefined;
    if (closedLeft === undefined || closedRight === undefined) return closedLeft ?? closedRight;
    return closedRight.timeMs <= closedLeft.timeMs ? closedRight : closedLeft;
  }

  private isClosed(timeMs: number, reachMs: number): boolean {
    return timeMs + reachMs + this.window.graceMs < this.streamTimeMs;
  }

  /**
   * How far the buffer has been seen when it was looked through: one record further than where both sides have an open one, or to the end.
   * @param takenMs time of the last record that was taken out
   */
  private lastSeenMs(takenMs: number | undefined): number | undefined {
    const { held } = this;
    const left = held.first('left');
    const right = held.first('right');
    if (left !== undefined && right !== undefined) {
      const isLeft = right.timeMs <= left.timeMs;
      const next = isLeft ? [held.next(left), held.first('right', left.timeMs + 1)] : [held.next(right), held.first('left', right.timeMs)];
      return earliestMs(next) ?? (isLeft ? left : right).timeMs;
    }
    const lastMs = (left === undefined ? held.last('right') : held.last('left'))?.timeMs;
    return takenMs === undefined || (lastMs !== undefined && lastMs > takenMs) ? lastMs : takenMs;
  }
}

function earliestMs(records: readonly (HeldRecord | undefined)[]): number | undefined {
  let timeMs: number | undefined;
  for (const record of records) {
    if (record !== undefined && (timeMs === undefined || record.timeMs < timeMs)) ({ timeMs } = record);
  }
  return timeMs;
}
