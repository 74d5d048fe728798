/** Aggregation of a stream by key and sliding window. */
import type { Change, StreamRecord } from '../core/record.js';
import type { Windowed } from '../core/windowed.js';
import type { Processor } from '../topology/processor.js';
import type { WindowEntry, WindowStoreDefinition } from '../topology/window-store.js';
import { addTo, firstAggregate, type Fold } from './fold.js';
import type { Row } from './table.js';
import type { OpenWindowsDefinition } from './window-open.js';
import { hasKey, type NewRow, type WindowContext, WindowTable } from './window-table.js';
import type { SlidingWindows } from './windows.js';

/** A record in hand. */
interface Step<K, V, A> {
  readonly context: WindowContext<K, A>;
  readonly record: StreamRecord<K, V>;
  /** Windows that end before are closed. */
  readonly closedMs: number;
}

/** What the windows around a record say of the records around it. */
interface Neighbours<A> {
  /** Starts of the windows that there are. */
  readonly starts: ReadonlySet<number>;
  /** Of the last record before it, as far as its right window may be missing. */
  readonly previousMs: number | undefined;
  /** The last window that ends before the record: what the record's left window has in it already. */
  readonly before: Row<A> | undefined;
  /** The last window that the record falls into, as it was: what the record's right window holds, with what is behind the record. */
  readonly around: Row<A> | undefined;
  readonly hasLeft: boolean;
}

/**
 * Each record has a left window, which ends with it, and a right one, which starts right after it; the right one is made when there is a record in it. A
 * window's timestamp is its last record's: it tells where the windows of earlier records are missing.
 *
 * A record goes into all the windows around it that there are, then into the right window of the record before it and into its own left window, where
 * those are new; at last its own right window is made of what was there. No window starts before time 0: earlier left windows are one, from 0 on.
 */
export class SlidingWindowAggregation<K, V, A> extends WindowTable<K, V | null, A> {
  constructor(
    store: WindowStoreDefinition<K, A>,
    private readonly windows: SlidingWindows,
    private readonly fold: Fold<K, V, A>,
    open?: OpenWindowsDefinition<K>,
  ) {
    super(store, windows.differenceMs, windows.graceMs, open);
  }

  readonly create = (): Processor<K | null, V | null, Windowed<K>, Change<A>> => {
    const { differenceMs, graceMs } = this.windows;
    return {
      process: (record: StreamRecord<K | null, V | null>, context: WindowContext<K, A>) => {
        const { timestampMs } = record;
        if (!hasKey(record) || !hasValue(record)) {
          context.drop(hasKey(record) ? 'nullValue' : 'nullKey');
          return;
        }
        if (timestampMs < 0) {
          context.drop('invalidTimestamp');
          return;
        }
        const streamTimeMs = context.advanceTime(this.store, timestampMs);
        const step = { context, record, closedMs: streamTimeMs - graceMs };
        if (timestampMs + differenceMs < step.closedMs) context.drop('late');
        else if (timestampMs < differenceMs) this.addEarly(step);
        else this.add(step);
        if (timestampMs === streamTimeMs) this.emitClosed(context, record, step.closedMs - differenceMs - 1);
      },
    };
  };

  private add(step: Step<K, V, A>): void {
    const { differenceMs } = this.windows;
    const { timestampMs } = step.record;
    const neighbours = this.addToWindows(step);
    if (neighbours === undefined) return;
    const { starts, previousMs, before, around, hasLeft } = neighbours;
    const leftMs = timestampMs - differenceMs;
    // Both where the previous record's right window and the record's left one are to be made.
    const isPreviousNear = previousMs !== undefined && previousMs >= leftMs;
    if (previousMs !== undefined && previousMs + 1 >= leftMs && !starts.has(previousMs + 1)) this.begin(step, previousMs + 1, undefined);
    if (!hasLeft) this.begin(step, leftMs, isPreviousNear ? before : undefined);
    if (!starts.has(timestampMs + 1)) this.beginRight(step, around);
  }

  /**
   * Puts the record into the windows that it falls into, last to first.
   * @returns `undefined` when there is nothing more to do: a record of the same time has made all the windows
   */
  private addToWindows(step: Step<K, V, A>): Neighbours<A> | undefined {
    const { differenceMs } = this.windows;
    const { timestampMs } = step.record;
    const starts = new Set<number>();
    let around: Row<A> | undefined;
    let hasLeft = false;
    let previousMs: number | undefined;
    for (const window of this.windowsBetween(step, Math.max(0, timestampMs - 2 * differenceMs)).toReversed()) {
      starts.add(window.startMs);
      const endMs = window.startMs + differenceMs;
      if (window.startMs > timestampMs) continue;
      if (endMs < timestampMs) return { starts, previousMs: window.timestampMs, before: window, around, hasLeft };
      if (endMs > timestampMs) around ??= window;
      this.update(step, window.startMs, window);
      if (endMs > timestampMs) continue;
      hasLeft = true;
      if (window.timestampMs >= timestampMs) return undefined;
      previousMs = window.timestampMs;
    }
    return { starts, previousMs, before: undefined, around, hasLeft };
  }

  /** A record whose left window would start before time 0 goes into the window from 0 on. */
  private addEarly(step: Step<K, V, A>): void {
    const { timestampMs } = step.record;
    const starts = new Set<number>();
    let first: WindowEntry<A> | undefined;
    let around: Row<A> | undefined;
    for (const window of this.windowsBetween(step, 0)) {
      starts.add(window.startMs);
      if (window.startMs === 0) first = window;
      else if (window.startMs <= timestampMs) {
        around = window;
        this.update(step, window.startMs, window);
      }
    }
    if (first !== undefined && first.timestampMs > timestampMs) around ??= first;
    if (!starts.has(timestampMs + 1)) this.beginRight(step, around);
    const previousMs = first !== undefined && first.timestampMs < timestampMs ? first.timestampMs : undefined;
    if (previousMs !== undefined && !starts.has(previousMs + 1)) this.begin(step, previousMs + 1, undefined);
    if (first === undefined) this.begin(step, 0, undefined);
    else this.update(step, 0, first);
  }

  /** Windows that start from then on, up to where the record's right one does, first to last. */
  private windowsBetween({ context, record }: Step<K, V, A>, fromMs: number): readonly WindowEntry<A>[] {
    return context.store(this.store).fetch(record.key, fromMs, record.timestampMs + 1);
  }

  /** Makes a window of what was in it already and of the record. */
  private begin(step: Step<K, V, A>, startMs: number, before: Row<A> | undefined): void {
    const { timestampMs } = step.record;
    this.update(step, startMs, { value: before === undefined ? firstAggregate(this.fold) : before.value, timestampMs }, true);
  }

  /** Makes the record's right window, if there is something in it: the record itself is not. */
  private beginRight({ context, record }: Step<K, V, A>, around: Row<A> | undefined): void {
    if (around === undefined || around.timestampMs <= record.timestampMs) return;
    const startMs = record.timestampMs + 1;
    this.expectClose(context, record.key, startMs);
    this.put(context, record, startMs, null, around);
  }

  private update({ context, record, closedMs }: Step<K, V, A>, startMs: number, row: NewRow<A>, isNew = false): void {
    const { key, value } = record;
    if (startMs + this.windows.differenceMs < closedMs) {
      context.drop('late');
      return;
    }
    if (isNew) this.expectClose(context, key, startMs);
    const timestampMs = row.value === null ? record.timestampMs : Math.max(record.timestampMs, row.timestampMs);
    this.put(context, record, startMs, row.value, { value: addTo(this.fold, row.value, value, key), timestampMs });
  }
}

function hasValue<K, V>(record: StreamRecord<K, V | null>): record is StreamRecord<K, V> {
  return record.value !== null;
}
