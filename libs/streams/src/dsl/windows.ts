/** Windows for `windowedBy`. All times are whole milliseconds, in the time of the records. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows } from '../operators/index.js';
import { checkInteger } from '../topology/names.js';

const longest = Number.MAX_SAFE_INTEGER;

export interface TumblingOptions {
  /** From the start of a window to its end, which is the start of the next one. */
  readonly sizeMs: number;
  /** How long after its end, in stream time, a window still takes records; 0 for none. */
  readonly graceMs: number;
}

export interface HoppingOptions extends TumblingOptions {
  /** From the start of a window to the start of the next one; `sizeMs` at most. */
  readonly advanceMs: number;
}

export interface SlidingOptions {
  /** From the first record of a window to the last one, at most. */
  readonly differenceMs: number;
  /** How long after its end, in stream time, a window still takes records; 0 for none. */
  readonly graceMs: number;
}

export interface SessionOptions {
  /** From a record to the next one of the same session, at most. */
  readonly gapMs: number;
  /** How long after the gap, in stream time, a session still takes records; 0 for none. */
  readonly graceMs: number;
}

/**
 * Windows that follow each other: each record falls into one. They begin at multiples of their size, from 0 on; the end is excluded.
 * @throws InvalidConfigurationError `INVALID_OPTION`
 * @example payments.groupByKey().windowedBy(tumbling({ sizeMs: 3_600_000, graceMs: 60_000 })).count(paymentsPerHour);
 */
export function tumbling({ sizeMs, graceMs }: TumblingOptions): TimeWindows {
  return hopping({ sizeMs, advanceMs: sizeMs, graceMs });
}

/**
 * Windows that overlap: one begins every `advanceMs`, and each record falls into all that it lies in. The end is excluded.
 * @throws InvalidConfigurationError `INVALID_OPTION`
 * @example payments.groupByKey().windowedBy(hopping({ sizeMs: 3_600_000, advanceMs: 300_000, graceMs: 0 })).count(lastHour);
 */
export function hopping({ sizeMs, advanceMs, graceMs }: HoppingOptions): TimeWindows {
  const owner = 'time windows';
  checkInteger(owner, 'sizeMs', sizeMs, 1, longest);
  checkInteger(owner, 'advanceMs', advanceMs, 1, longest);
  checkInteger(owner, 'graceMs', graceMs, 0, longest);
  if (advanceMs > sizeMs) {
    throw new InvalidConfigurationError(
      'INVALID_OPTION',
      `The option "advanceMs" of time windows is ${advanceMs}, more than their "sizeMs" of ${sizeMs}: records between two windows would fall into none.`,
      { option: 'advanceMs' },
    );
  }
  return Object.freeze({ kind: 'time', sizeMs, advanceMs, graceMs });
}

/**
 * Windows that move with the records: for each record one that ends with it and one that starts right after it, where there are records in
 * them. Both ends are included.
 * @throws InvalidConfigurationError `INVALID_OPTION`
 * @example payments.groupByKey().windowedBy(sliding({ differenceMs: 60_000, graceMs: 10_000 })).count(lastMinute);
 */
export function sliding({ differenceMs, graceMs }: SlidingOptions): SlidingWindows {
  const owner = 'sliding windows';
  checkInteger(owner, 'differenceMs', differenceMs, 1, longest);
  checkInteger(owner, 'graceMs', graceMs, 0, longest);
  return Object.freeze({ kind: 'sliding', differenceMs, graceMs });
}

/**
 * Windows that are as long as there is something going on: records of a key that follow each other within the gap are one session. It begins with its
 * first record and ends with its last one.
 * @throws InvalidConfigurationError `INVALID_OPTION`
 * @example clicks.groupByKey().windowedBy(session({ gapMs: 1_800_000, graceMs: 60_000 })).count(visits);
 */
export function session({ gapMs, graceMs }: SessionOptions): SessionWindows {
  const owner = 'session windows';
  checkInteger(owner, 'gapMs', gapMs, 1, longest);
  checkInteger(owner, 'graceMs', graceMs, 0, longest);
  return Object.freeze({ kind: 'session', gapMs, graceMs });
}

/**
 * One window for each key, from `startMs` on, that never ends: its `endMs` is `Infinity`. Earlier records fall into none.
 * @throws InvalidConfigurationError `INVALID_OPTION`
 */
export function unlimited({ startMs = 0 }: { readonly startMs?: number } = {}): UnlimitedWindows {
  checkInteger('unlimited windows', 'startMs', startMs, 0, longest);
  return Object.freeze({ kind: 'unlimited', startMs });
}
