import type { Windowed } from '../core/windowed.js';
import { countFold, type MergingFold, type SessionWindows } from '../operators/index.js';
import { int64 } from '../serde/int64.js';
import { type SessionStoreDefinition, sessionStore } from '../topology/session-store.js';
import type { Grouping } from './grouping.js';
import type { Aggregation } from './kgrouped-stream.js';
import { KTable } from './ktable.js';
import type { WindowedCountOptions, WindowedOptions } from './options.js';
import { addSessionTable } from './session-tables.js';

type Store<K, A> = SessionStoreDefinition<NonNullable<K>, A>;
type Table<K, A> = KTable<Windowed<NonNullable<K>>, A>;

/** As an aggregation, for sessions, which may become one. */
export interface SessionAggregating<K, V, A> extends Aggregation<K, V, A> {
  /** The aggregate of two sessions together; the first one begins with the initial aggregate. Must not change those that it is given. */
  readonly merge: (left: A, right: A, key: K) => A | null;
}

/**
 * A stream grouped by key and session. Aggregations keep one value for each session in a session store and skip records with a null key; a record that comes
 * when its session has closed counts as dropped. When a session grows, the row of the smaller one is removed first, for its key has the session's
 * bounds. Functions are given null values too.
 */
export class SessionWindowedKStream<K, V> {
  /** Comes from `KGroupedStream.windowedBy`. */
  constructor(
    private readonly grouping: Grouping<K, V>,
    private readonly windows: SessionWindows,
  ) {}

  /** Counts the records of each session, in the store given or in one of the name given or generated. */
  count(store: Store<K, bigint>, options?: WindowedOptions): Table<K, bigint>;
  count(options?: WindowedCountOptions): Table<K, bigint>;
  count(target: Store<K, bigint> | WindowedCountOptions = {}, options: WindowedOptions = {}): Table<K, bigint> {
    if (target.kind !== undefined) return this.update(target, options, countFold);
    const { emit = 'onUpdate' } = target;
    const { name, key } = this.grouping.ownStore('count', target.name);
    const { gapMs, graceMs } = this.windows;
    return this.update(sessionStore(name, { key, value: int64(), retentionMs: gapMs + graceMs }), { emit }, countFold);
  }

  /** Combines the values of each session two by two; the first value is the first aggregate. Null removes the aggregate. */
  reduce(
    store: Store<K, NonNullable<V>>,
    reducer: (aggregate: NonNullable<V>, value: V) => NonNullable<V> | null,
    options: WindowedOptions = {},
  ): Table<K, NonNullable<V>> {
    return this.update(store, options, { add: reducer, merge: reducer });
  }

  /**
   * Folds the values of each session into an aggregate of the store's type.
   * @example
   * clicks
   *   .groupByKey()
   *   .windowedBy(session({ gapMs: 1_800_000, graceMs: 60_000 }))
   *   .aggregate(visits, {
   *     initial: () => [],
   *     add: (pages, click) => [...pages, click.page],
   *     merge: (left, right) => [...left, ...right],
   *   });
   */
  aggregate<A>(
    store: Store<K, A>,
    aggregation: SessionAggregating<NonNullable<K>, V, NoInfer<A>>,
    options: WindowedOptions = {},
  ): Table<K, A> {
    return this.update(store, options, aggregation);
  }

  private update<A>(
    store: Store<K, A>,
    { name, emit = 'onUpdate' }: WindowedOptions,
    fold: MergingFold<NonNullable<K>, V, A>,
  ): Table<K, A> {
    const { grouping, windows } = this;
    const { scope } = grouping;
    const parent = grouping.partitionedByKey(store);
    return new KTable(addSessionTable(scope, parent, { name: name ?? scope.free(`${store.name}-aggregate`), store, windows, emit, fold }));
  }
}
