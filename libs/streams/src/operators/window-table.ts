/** What the tables of time windows and of sliding windows have in common. */
import type { Change, StreamRecord } from '../core/record.js';
import type { Windowed } from '../core/windowed.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import type { WindowStoreDefinition } from '../topology/window-store.js';
import type { Row, TableOperator, TableView } from './table.js';
import { addOpenWindow, type OpenWindowsDefinition, takeOpenWindows } from './window-open.js';

export type WindowContext<K, A> = ProcessorContext<Windowed<K>, Change<A>>;

export function hasKey<K, V>(record: StreamRecord<K | null, V>): record is StreamRecord<K, V> {
  return record.key !== null;
}

export abstract class WindowTable<K, V, A> implements TableOperator<K | null, V, Windowed<K>, A> {
  readonly isVersioned = false;
  protected oldValues = false;

  /**
   * @param sizeMs from the start of a window to its end
   * @param closesAfterMs how long after its end a window still takes records; undefined where it has none
   * @param open makes results come out once, when their windows close
   */
  constructor(
    protected readonly store: WindowStoreDefinition<K, A>,
    protected readonly sizeMs: number,
    readonly closesAfterMs: number | undefined,
    protected readonly open: OpenWindowsDefinition<K> | undefined,
  ) {}

  abstract readonly create: () => Processor<K | null, V, Windowed<K>, Change<A>>;

  sendOldValues(): boolean {
    this.oldValues = true;
    return true;
  }

  view(): TableView<Windowed<K>, A> {
    const { store } = this;
    return { stores: [store], get: ({ key, startMs }, context) => context.store(store).getWithTimestamp(key, startMs) };
  }

  /** Writes the row of a window and forwards the change, unless it waits for the window to close. Null as the new value removes the row. */
  protected put(
    context: WindowContext<K, A>,
    { key, headers }: StreamRecord<K, V>,
    startMs: number,
    oldValue: A | null,
    { value, timestampMs }: NewRow<A>,
  ): void {
    const windows = context.store(this.store);
    const isKept = value === null ? windows.delete(key, startMs) : windows.putWithTimestamp(key, value, startMs, timestampMs);
    if (!isKept) context.drop('expired');
    if (this.open !== undefined) return;
    const change = { oldValue: this.oldValues ? oldValue : null, newValue: value, isLatest: true };
    context.forward({ key: { key, startMs, endMs: startMs + this.sizeMs }, value: change, timestampMs, headers });
  }

  /** For a window that had no row. */
  protected expectClose(context: WindowContext<K, A>, key: K, startMs: number): void {
    if (this.open !== undefined) addOpenWindow(context, this.open, key, startMs);
  }

  /** Emits the windows that start by then, which are closed. One that has left the retention of the store meanwhile has no result any more. */
  protected emitClosed(context: WindowContext<K, A>, { headers }: StreamRecord<K, V>, lastStartMs: number): void {
    if (this.open === undefined) return;
    const windows = context.store(this.store);
    takeOpenWindows(context, this.open, lastStartMs, (key, startMs) => {
      const row = windows.getWithTimestamp(key, startMs);
      if (row === undefined) return;
      const change = { oldValue: null, newValue: row.value, isLatest: true };
      context.forward({ key: { key, startMs, endMs: startMs + this.sizeMs }, value: change, timestampMs: row.timestampMs, headers });
    });
  }
}

/** A row to be written; null as the value for none. */
export type NewRow<A> = Row<A | null>;
