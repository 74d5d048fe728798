/** Aggregation of a stream by key: the one stateful operator from which count, reduce and aggregate are made. */
import type { Change, StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import { addTo, firstAggregate, type Fold } from './fold.js';
import { getRow, isVersionedStore, putRow, type RowStore, storeView } from './rows.js';
import type { TableOperator, TableView } from './table.js';

/**
 * Folds each record's value into the aggregate of its key and forwards the change. The aggregate's timestamp is the largest of the
 * records folded into it. Records with a null key or a null value are dropped.
 */
export class StreamAggregation<K, V, A> implements TableOperator<K | null, V | null, K, A> {
  readonly isVersioned: boolean;
  readonly closesAfterMs = undefined;
  private oldValues = false;

  constructor(
    private readonly store: RowStore<K, A>,
    private readonly fold: Fold<K, V, A>,
  ) {
    this.isVersioned = isVersionedStore(store);
  }

  sendOldValues(): boolean {
    this.oldValues = true;
    return true;
  }

  view(): TableView<K, A> {
    return storeView(this.store);
  }

  readonly create = (): Processor<K | null, V | null, K, Change<A>> => {
    const { store, oldValues, fold } = this;
    return {
      process(record: StreamRecord<K | null, V | null>, context: ProcessorContext<K, Change<A>>) {
        const { key, value, headers } = record;
        if (key === null || value === null) {
          context.drop(key === null ? 'nullKey' : 'nullValue');
          return;
        }
        const stored = getRow(context, store, key);
        const oldValue = stored === undefined ? firstAggregate(fold) : stored.value;
        const newValue = addTo(fold, oldValue, value, key);
        const timestampMs = stored !== undefined && stored.timestampMs > record.timestampMs ? stored.timestampMs : record.timestampMs;
        const outcome = putRow(context, store, key, newValue, timestampMs);
        if (outcome === 'expired') return;
        const change = { oldValue: oldValues ? oldValue : null, newValue, isLatest: outcome === 'latest' };
        context.forward({ key, value: change, timestampMs, headers });
      },
    };
  };
}
