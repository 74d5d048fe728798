/** What is still seen, what is still taken, and when it goes: all in the time that a store has observed. */

/** Shortest segment, in milliseconds. */
const segmentMsMin = 60_000;

/**
 * How long a segment of a window or session store is. Nothing is stored by segments, but a write is refused only when its whole segment has
 * expired, and a key is looked at once in that time.
 */
export function segmentMsOf(retentionMs: number): number {
  return Math.max(Math.floor(retentionMs / 2), segmentMsMin);
}

/** As `segmentMsOf`, for the history of versioned stores. */
export function historySegmentMsOf(retentionMs: number): number {
  if (retentionMs <= 60_000) return Math.max(Math.floor(retentionMs / 3), 2_000);
  if (retentionMs <= 300_000) return Math.max(Math.floor(retentionMs / 5), 20_000);
  if (retentionMs <= 3_600_000) return Math.max(Math.floor(retentionMs / 12), 60_000);
  return Math.max(Math.floor(retentionMs / 24), 300_000);
}

export class Retention {
  constructor(
    readonly retentionMs: number,
    readonly segmentMs: number,
  ) {}

  /** The earliest time that reads show. */
  firstVisibleMs(observedMs: number): number {
    return observedMs - this.retentionMs + 1;
  }

  /** The segment of the time has not expired as a whole. Segments are counted towards zero, as in Kafka Streams. */
  isSegmentLive(timeMs: number, observedMs: number): boolean {
    return Math.trunc(timeMs / this.segmentMs) >= Math.trunc((observedMs - this.retentionMs) / this.segmentMs);
  }

  /** When a new key is looked at: all that was written by now is no longer seen then. */
  get firstLookMs(): number {
    return this.retentionMs + this.segmentMs;
  }

  /** When a key is looked at again. */
  get nextLookMs(): number {
    return this.segmentMs;
  }
}
