/** A table from a topic or a stream: the last value of each key is its row, a null value deletes it. */
import type { Change, StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import { getRow, isVersionedStore, putRow, type RowStore, storeView } from './rows.js';
import type { TableOperator, TableView } from './table.js';

export class SourceTable<K, V> implements TableOperator<K | null, V | null, K, V> {
  readonly isVersioned: boolean;
  readonly closesAfterMs = undefined;
  private oldValues = false;

  /**
   * @param materialize gives it a store that nobody asked for by name; called at most once
   * @param refuseOldValues set where the topic itself is the changelog: a row that comes from there may lack the version of before
   */
  constructor(
    private store: RowStore<K, V> | undefined,
    private readonly materialize: () => RowStore<K, V>,
    private readonly refuseOldValues?: () => void,
  ) {
    this.isVersioned = store !== undefined && isVersionedStore(store);
  }

  sendOldValues(force: boolean): boolean {
    if (this.refuseOldValues !== undefined) {
      if (force) this.refuseOldValues();
      return false;
    }
    if (this.store === undefined && !force) return false;
    this.store ??= this.materialize();
    this.oldValues = true;
    return true;
  }

  view(): TableView<K, V> {
    this.store ??= this.materialize();
    return storeView(this.store);
  }

  readonly create = (): Processor<K | null, V | null, K, Change<V>> => {
    const { store, oldValues } = this;
    return {
      process(record: StreamRecord<K | null, V | null>, context: ProcessorContext<K, Change<V>>) {
        const { key, value: newValue, timestampMs, headers } = record;
        if (key === null) {
          context.drop('nullKey');
          return;
        }
        let oldValue: V | null = null;
        let isLatest = true;
        if (store !== undefined) {
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
