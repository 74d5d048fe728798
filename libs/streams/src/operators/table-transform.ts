/** A table whose rows a function with stores of its own makes from another table's. It sees deletions too, as null. */
import type { Change, StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import type { AnyStoreDefinition } from '../topology/store-definition.js';
import { getRow, isVersionedStore, putRow, type RowStore, storeView } from './rows.js';
import { mapView, type ReadingContext, type Row, type Table, type TableOperator, type TableView } from './table.js';

export type Transform<K, VIn, V> = (value: VIn | null, key: K, context: ReadingContext) => V | null;

export class TransformedTable<K, VIn, V> implements TableOperator<K, Change<VIn>, K, V> {
  readonly isVersioned: boolean;
  readonly closesAfterMs: number | undefined;
  private oldValues = false;

  /** @param transformStores what the function uses */
  constructor(
    private readonly parent: Table<K, VIn>,
    private readonly transform: Transform<K, VIn, V>,
    private readonly transformStores: readonly AnyStoreDefinition[],
    private readonly store: RowStore<K, V> | undefined,
  ) {
    this.isVersioned = store === undefined ? parent.isVersioned : isVersionedStore(store);
    this.closesAfterMs = parent.closesAfterMs;
  }

  sendOldValues(force: boolean): boolean {
    this.oldValues ||= this.store !== undefined || this.parent.sendOldValues(force);
    return this.oldValues;
  }

  view(): TableView<K, V> {
    if (this.store !== undefined) return storeView(this.store);
    const { transform } = this;
    const view = mapView(this.parent.view(), (row: Row<VIn> | undefined, key: K, context) => {
      const value = transform(row?.value ?? null, key, context);
      return value === null ? undefined : { value, timestampMs: row?.timestampMs ?? -1 };
    });
    return { ...view, stores: [...view.stores, ...this.transformStores] };
  }

  readonly create = (): Processor<K, Change<VIn>, K, Change<V>> => {
    const { transform, store, oldValues } = this;
    return {
      process(record: StreamRecord<K, Change<VIn>>, context: ProcessorContext<K, Change<V>>) {
        const { key, value: change, timestampMs, headers } = record;
        const newValue = transform(change.newValue, key, context);
        let oldValue: V | null = null;
        let { isLatest } = change;
        if (store === undefined) {
          if (oldValues) oldValue = transform(change.oldValue, key, context);
        } else {
          if (oldValues) oldValue = getRow(context, store, key)?.value ?? null;
          const outcome = putRow(context, store, key, newValue, timestampMs);
          if (outcome === 'expired') return;
          isLatest = outcome === 'latest';
        }
        context.forward({ key, value: { oldValue, newValue, isLatest }, timestampMs, headers });
      },
    };
  };
}
