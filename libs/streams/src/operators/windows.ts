/** Windows as data, and which of them a time falls into. */

/** Windows of one size that begin at multiples of an advance: tumbling where size and advance are equal, else hopping. */
export interface TimeWindows {
  readonly kind: 'time';
  readonly sizeMs: number;
  readonly advanceMs: number;
  /** How long after its end, in stream time, a window still takes records. */
  readonly graceMs: number;
}

/** One window that begins at a time and never ends. */
export interface UnlimitedWindows {
  readonly kind: 'unlimited';
  readonly startMs: number;
}

/** Windows that begin and end with records: each set of records of a key that lie within the difference has one. */
export interface SlidingWindows {
  readonly kind: 'sliding';
  /** From the start of a window to its end, both included. */
  readonly differenceMs: number;
  readonly graceMs: number;
}

/** Windows of records of a key that follow each other within the gap. */
export interface SessionWindows {
  readonly kind: 'session';
  readonly gapMs: number;
  readonly graceMs: number;
}

/** Windows whose starts are known before any record comes: `firstStartMs`, then one each `advanceMs`, while they start at or before the record. */
export interface WindowGrid {
  /** `Infinity` for windows that never end. */
  readonly sizeMs: number;
  readonly advanceMs: number;
  readonly graceMs: number;
  /** The earliest window that the time falls into; after the time when it falls into none. */
  firstStartMs(timestampMs: number): number;
}

export function windowGrid(windows: TimeWindows | UnlimitedWindows): WindowGrid {
  if (windows.kind === 'unlimited') {
    const { startMs } = windows;
    return { sizeMs: Number.POSITIVE_INFINITY, advanceMs: Number.POSITIVE_INFINITY, graceMs: 0, firstStartMs: () => startMs };
  }
  const { sizeMs, advanceMs, graceMs } = windows;
  // No window starts before time 0.
  const firstStartMs = (timestampMs: number): number => Math.floor(Math.max(0, timestampMs - sizeMs + advanceMs) / advanceMs) * advanceMs;
  return { sizeMs, advanceMs, graceMs, firstStartMs };
}
