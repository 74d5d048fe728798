/** A table made from another one row by row: filter and map. */
import type { Change, StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import { getRow, isVersionedStore, putRow, type RowStore, storeView } from './rows.js';
import { mapView, type Table, type TableOperator, type TableView } from './table.js';

/** The new row, or null for none. */
export type Derive<K, VIn, V> = (value: VIn, key: K) => V | null;

export class DerivedTable<K, VIn, V> implements TableOperator<K, Change<VIn>, K, V> {
  readonly isVersioned: boolean;
  readonly closesAfterMs: number | undefined;
  private oldValues: boolean;

  /**
   * @param store makes it materialized
   * @param skipsAbsent forwards nothing where there was no row and is none, as far as the old rows are known
   */
  constructor(
    private readonly parent: Table<K, VIn>,
    private readonly derive: Derive<K, VIn, V>,
    private readonly store: RowStore<K, V> | undefined,
    private readonly skipsAbsent: boolean,
  ) {
    this.isVersioned = store === undefined ? parent.isVersioned : isVersionedStore(store);
    this.closesAfterMs = parent.closesAfterMs;
    // Where old rows cost nothing, they save the deletion of rows that were never there.
    this.oldValues = skipsAbsent && parent.sendOldValues(false);
  }

  sendOldValues(force: boolean): boolean {
    this.oldValues ||= this.store !== undefined || this.parent.sendOldValues(force);
    return this.oldValues;
  }

  view(): TableView<K, V> {
    if (this.store !== undefined) return storeView(this.store);
    const { derive } = this;
    return mapView(this.parent.view(), (row, key) => {
      const value = row === undefined ? null : derive(row.value, key);
      return row === undefined || value === null ? undefined : { value, timestampMs: row.timestampMs };
    });
  }

  readonly create = (): Processor<K, Change<VIn>, K, Change<V>> => {
    const { derive, store, oldValues } = this;
    // Behind versioned rows every update is forwarded, for an older one may still follow.
    const skipsAbsent = this.skipsAbsent && oldValues && !this.parent.isVersioned;
    const deriveOrNull = (value: VIn | null, key: K): V | null => (value === null ? null : derive(value, key));
    return {
      process(record: StreamRecord<K, Change<VIn>>, context: ProcessorContext<K, Change<V>>) {
        const { key, value: change, timestampMs, headers } = record;
        const newValue = deriveOrNull(change.newValue, key);
        let oldValue: V | null = null;
        if (oldValues) oldValue = store === undefined ? deriveOrNull(change.oldValue, key) : (getRow(context, store, key)?.value ?? null);
        if (skipsAbsent && oldValue === null && newValue === null) return;
        let { isLatest } = change;
        if (store !== undefined) {
          const outcome = putRow(context, store, key, newValue, timestampMs);
          if (outcome === 'expired') return;
          isLatest = outcome === 'latest';
        }
        context.forward({ key, value: { oldValue, newValue, isLatest }, timestampMs, headers });
      },
    };
  };
}

export function tableFilter<K, V>(
  parent: Table<K, V>,
  predicate: (value: V, key: K) => boolean,
  store: RowStore<K, V> | undefined,
): DerivedTable<K, V, V> {
  return new DerivedTable(parent, (value, key) => (predicate(value, key) ? value : null), store, true);
}

export function tableMap<K, VIn, V>(
  parent: Table<K, VIn>,
  mapper: Derive<K, VIn, V>,
  store: RowStore<K, V> | undefined,
): DerivedTable<K, VIn, V> {
  return new DerivedTable(parent, mapper, store, false);
}
