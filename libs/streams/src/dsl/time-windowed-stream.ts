import type { Windowed } from '../core/windowed.js';
import { countFold, type Fold } from '../operators/index.js';
import { int64 } from '../serde/int64.js';
import { type WindowStoreDefinition, windowStore } from '../topology/window-store.js';
import type { Grouping } from './grouping.js';
import type { Aggregation } from './kgrouped-stream.js';
import { KTable } from './ktable.js';
import type { WindowedCountOptions, WindowedOptions } from './options.js';
import { addWindowTable, ownWindowStoreTimes, type StartingWindows } from './windowed-tables.js';

type Store<K, A> = WindowStoreDefinition<NonNullable<K>, A>;
type Table<K, A> = KTable<Windowed<NonNullable<K>>, A>;

/**
 * A stream grouped by key and time window: tumbling, hopping, sliding or unlimited. Aggregations keep one value for each key and window in a window
 * store and skip records with a null key; a record that comes when its window has closed counts as dropped. Functions are given null values too,
 * but for those of sliding windows, which skip them.
 */
export class TimeWindowedKStream<K, V> {
  /** Comes from `KGroupedStream.windowedBy`. */
  constructor(
    private readonly grouping: Grouping<K, V>,
    private readonly windows: StartingWindows,
  ) {}

  /** Counts the records of each key and window, in the store given or in one of the name given or generated. */
  count(store: Store<K, bigint>, options?: WindowedOptions): Table<K, bigint>;
  count(options?: WindowedCountOptions): Table<K, bigint>;
  count(target: Store<K, bigint> | WindowedCountOptions = {}, options: WindowedOptions = {}): Table<K, bigint> {
    if (target.kind !== undefined) return this.update(target, options, countFold);
    const { emit = 'onUpdate' } = target;
    const { name, key } = this.grouping.ownStore('count', target.name);
    const store = windowStore(name, { key, value: int64(), ...ownWindowStoreTimes(this.windows, emit) });
    return this.update(store, { emit }, countFold);
  }

  /** Combines the values of each key and window two by two; the first value is the first aggregate. Null removes the aggregate. */
  reduce(
    store: Store<K, NonNullable<V>>,
    reducer: (aggregate: NonNullable<V>, value: V) => NonNullable<V> | null,
    options: WindowedOptions = {},
  ): Table<K, NonNullable<V>> {
    return this.update(store, options, { add: reducer });
  }

  /**
   * Folds the values of each key and window into an aggregate of the store's type.
   * @example
   * payments
   *   .groupByKey()
   *   .windowedBy(tumbling({ sizeMs: 3_600_000, graceMs: 60_000 }))
   *   .aggregate(hourly, { initial: () => 0n, add: (sum, payment) => sum + payment.amount }, { emit: 'onClose' });
   */
  aggregate<A>(store: Store<K, A>, aggregation: Aggregation<NonNullable<K>, V, NoInfer<A>>, options: WindowedOptions = {}): Table<K, A> {
    return this.update(store, options, aggregation);
  }

  private update<A>(store: Store<K, A>, { name, emit = 'onUpdate' }: WindowedOptions, fold: Fold<NonNullable<K>, V, A>): Table<K, A> {
    const { grouping, windows } = this;
    const { scope } = grouping;
    const parent = grouping.partitionedByKey(store);
    return new KTable(addWindowTable(scope, parent, { name: name ?? scope.free(`${store.name}-aggregate`), store, windows, emit, fold }));
  }
}
