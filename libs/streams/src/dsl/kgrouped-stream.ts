import {
  countFold,
  type Fold,
  type RowStore,
  type SessionWindows,
  type SlidingWindows,
  StreamAggregation,
  type TimeWindows,
  type UnlimitedWindows,
} from '../operators/index.js';
import { int64 } from '../serde/int64.js';
import type { NodeHandle } from '../topology/handles.js';
import { keyValueStore } from '../topology/store-definition.js';
import { Grouping } from './grouping.js';
import { KTable } from './ktable.js';
import type { Named } from './options.js';
import type { Position } from './scope.js';
import { SessionWindowedKStream } from './session-windowed-stream.js';
import { addTable } from './tables.js';
import { TimeWindowedKStream } from './time-windowed-stream.js';

/** How values are folded into the aggregate of their key. */
export interface Aggregation<K, V, A> {
  /** The aggregate of a key that has none. */
  readonly initial: () => A;
  /** The new aggregate, or null to remove it. Must not change the one that it is given. */
  readonly add: (aggregate: A, value: V, key: K) => A | null;
}

/** Not a store, which has a name too. */
export interface CountOptions extends Named {
  readonly kind?: never;
}

/** What a stream is grouped by, for the other facades. */
export let groupingOf: <K, V>(grouped: KGroupedStream<K, V>) => Grouping<K, V>;

type Store<K, A> = RowStore<NonNullable<K>, A>;
type Table<K, A> = KTable<NonNullable<K>, A>;

/**
 * A stream grouped by its key. Aggregations keep one value for each key in a store and skip records with a null key or a null value.
 * Several aggregations of one grouping share its repartition topic.
 */
export class KGroupedStream<K, V> {
  /** Never set: it carries the types. */
  declare readonly records?: readonly [key: K, value: V];
  private readonly grouping: Grouping<K, V>;

  static {
    groupingOf = (grouped) => grouped.grouping;
  }

  /** Groupings come from `KStream.groupByKey` and `KStream.groupBy`. */
  constructor(at: Position<K, V>, groupName: string | undefined) {
    this.grouping = new Grouping(at, groupName);
  }

  /** Counts the records of each key, in the store given or in one of the name given or generated. */
  count(store: Store<K, bigint>): Table<K, bigint>;
  count(options?: CountOptions): Table<K, bigint>;
  count(target: Store<K, bigint> | CountOptions = {}): Table<K, bigint> {
    return this.update(isStore(target) ? target : this.countStore(target.name), {}, countFold);
  }

  /** Combines the values of each key two by two; the first value is the first aggregate. Null removes the aggregate. */
  reduce(
    store: Store<K, NonNullable<V>>,
    reducer: (aggregate: NonNullable<V>, value: NonNullable<V>) => NonNullable<V> | null,
    options: Named = {},
  ): Table<K, NonNullable<V>> {
    return this.update(store, options, { add: reducer });
  }

  /**
   * Folds the values of each key into an aggregate of the store's type.
   * @example
   * streams.stream(payments).groupByKey().aggregate(balances, { initial: () => 0n, add: (sum, payment) => sum + payment.amount });
   */
  aggregate<A>(store: Store<K, A>, aggregation: Aggregation<NonNullable<K>, NonNullable<V>, NoInfer<A>>, options: Named = {}): Table<K, A> {
    return this.update(store, options, aggregation);
  }

  /**
   * Aggregates the records of each key window by window.
   * @param windows from `tumbling()`, `hopping()`, `sliding()`, `session()` or `unlimited()`
   */
  windowedBy(windows: TimeWindows | UnlimitedWindows): TimeWindowedKStream<K, V>;
  windowedBy(windows: SlidingWindows): TimeWindowedKStream<K, NonNullable<V>>;
  windowedBy(windows: SessionWindows): SessionWindowedKStream<K, V>;
  windowedBy(
    windows: TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows,
  ): TimeWindowedKStream<K, V> | TimeWindowedKStream<K, NonNullable<V>> | SessionWindowedKStream<K, V> {
    if (windows.kind === 'session') return new SessionWindowedKStream(this.grouping, windows);
    return new TimeWindowedKStream(this.grouping, windows);
  }

  private update<A>(store: Store<K, A>, options: Named, fold: Fold<NonNullable<K>, NonNullable<V>, A>): Table<K, A> {
    const { scope } = this.grouping;
    const parent = this.grouping.partitionedByKey(store) as NodeHandle<NonNullable<K> | null, NonNullable<V> | null>;
    const name = options.name ?? scope.free(`${store.name}-aggregate`);
    const table = new StreamAggregation(store, fold);
    const settings = { name, lineage: store.name, stores: [], store, key: store.key, value: store.value };
    return new KTable(addTable(scope, parent, table, settings));
  }

  private countStore(explicit: string | undefined): Store<K, bigint> {
    const { name, key } = this.grouping.ownStore('count', explicit);
    return keyValueStore(name, { key, value: int64() });
  }
}

function isStore<K>(target: Store<K, bigint> | CountOptions): target is Store<K, bigint> {
  return target.kind !== undefined;
}
