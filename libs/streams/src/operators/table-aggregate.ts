/** Aggregation of a grouped table: the old row's part is taken out of the aggregate, the new row's part put in. */
import type { Change, StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import type { Fold } from './fold.js';
import { getRow, isVersionedStore, putRow, type RowStore, storeView } from './rows.js';
import type { TableOperator, TableView } from './table.js';

export interface ReversibleFold<K, V, A> extends Fold<K, V, A> {
  /** The aggregate without the value, or null to remove it. */
  readonly subtract: (aggregate: A, value: V, key: K) => A | null;
}

export class TableAggregation<K, V, A> implements TableOperator<K, Change<V>, K, A> {
  readonly isVersioned: boolean;
  readonly closesAfterMs = undefined;
  private oldValues = false;

  constructor(
    private readonly store: RowStore<K, A>,
    private readonly fold: ReversibleFold<K, V, A>,
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

  readonly create = (): Processor<K, Change<V>, K, Change<A>> => {
    const { store, oldValues, fold } = this;
    return {
      process(record: StreamRecord<K, Change<V>>, context: ProcessorContext<K, Change<A>>) {
        const { key, value: change, headers } = record;
        const stored = getRow(context, store, key);
        const newValue = applyChange(fold, stored?.value ?? null, change, key);
        const timestampMs = stored !== undefined && stored.timestampMs > record.timestampMs ? stored.timestampMs : record.timestampMs;
        const outcome = putRow(context, store, key, newValue, timestampMs);
        if (outcome === 'expired') return;
        const value = { oldValue: oldValues ? (stored?.value ?? null) : null, newValue, isLatest: outcome === 'latest' };
        context.forward({ key, value, timestampMs, headers });
      },
    };
  };
}

function applyChange<K, V, A>(fold: ReversibleFold<K, V, A>, stored: A | null, { oldValue, newValue }: Change<V>, key: K): A | null {
  const without = oldValue !== null && stored !== null ? fold.subtract(stored, oldValue, key) : stored;
  if (newValue === null) return without;
  if (without !== null) return fold.add(without, newValue, key);
  return fold.initial === undefined ? (newValue as unknown as A) : fold.add(fold.initial(), newValue, key);
}

export const reversibleCount: ReversibleFold<unknown, unknown, bigint> = {
  initial: () => 0n,
  add: (count) => count + 1n,
  subtract: (count) => count - 1n,
};
