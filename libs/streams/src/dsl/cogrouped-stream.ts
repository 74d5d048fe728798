import type { Windowed } from '../core/windowed.js';
import {
  type Fold,
  type MergingFold,
  type RowStore,
  SessionAggregation,
  type SessionWindows,
  type SlidingWindows,
  StreamAggregation,
  type TimeWindows,
  type UnlimitedWindows,
} from '../operators/index.js';
import { sessionWindowed, timeWindowed } from '../serde/windowed.js';
import type { SessionStoreDefinition } from '../topology/session-store.js';
import type { WindowStoreDefinition } from '../topology/window-store.js';
import { addCogroup, type Groups } from './cogroup.js';
import { KTable } from './ktable.js';
import type { Named } from './options.js';
import { checkRetention } from './session-tables.js';
import { type StartingWindows, windowSizeMs, windowStoreFor, windowTable } from './windowed-tables.js';

/** How the values of several streams are folded into one aggregate: a function for each stream, by the name that it has in the cogroup. */
export interface Cogrouping<K, V, A> {
  /** The aggregate of a key that has none. */
  readonly initial: () => A;
  /** Each gives the new aggregate, or null to remove it, and must not change the one that it is given. */
  readonly add: { readonly [N in keyof V]: (aggregate: A, value: V[N], key: K) => A | null };
}

/** As a cogrouping, for sessions, which may become one. */
export interface SessionCogrouping<K, V, A> extends Cogrouping<K, V, A> {
  /** The aggregate of two sessions together; the first one begins with the initial aggregate. Must not change those that it is given. */
  readonly merge: (left: A, right: A, key: K) => A | null;
}

/** Values where null ones are skipped. */
export type PresentValues<V> = { readonly [N in keyof V]: NonNullable<V[N]> };

/** Several grouped streams that are aggregated together, by key: one table, one value for each key. Null keys and null values are skipped. */
export class CogroupedKStream<K, V> {
  /** Comes from `StreamsBuilder.cogroup`. */
  constructor(private readonly groups: Groups<K>) {}

  /**
   * Folds the values of each key into an aggregate of the store's type.
   * @example
   * streams
   *   .cogroup({ payments: payments.groupByKey(), refunds: refunds.groupByKey() })
   *   .aggregate(balances, {
   *     initial: () => 0n,
   *     add: { payments: (sum, payment) => sum + payment.amount, refunds: (sum, refund) => sum - refund.amount },
   *   });
   */
  aggregate<A>(
    store: RowStore<NonNullable<K>, A>,
    { initial, add }: Cogrouping<NonNullable<K>, PresentValues<V>, NoInfer<A>>,
    options: Named = {},
  ): KTable<NonNullable<K>, A> {
    const table = (group: string) =>
      new StreamAggregation(store, { initial, add: add[group as keyof V] } as Fold<NonNullable<K>, unknown, A>);
    return new KTable(addCogroup(this.groups, { name: options.name, store, key: store.key, value: store.value, table }));
  }

  /**
   * Aggregates the records of each key window by window.
   * @param windows from `tumbling()`, `hopping()`, `sliding()`, `session()` or `unlimited()`
   */
  windowedBy(windows: TimeWindows | UnlimitedWindows): TimeWindowedCogroupedKStream<K, V>;
  windowedBy(windows: SlidingWindows): TimeWindowedCogroupedKStream<K, PresentValues<V>>;
  windowedBy(windows: SessionWindows): SessionWindowedCogroupedKStream<K, V>;
  windowedBy(
    windows: StartingWindows | SessionWindows,
  ): TimeWindowedCogroupedKStream<K, V> | TimeWindowedCogroupedKStream<K, PresentValues<V>> | SessionWindowedCogroupedKStream<K, V> {
    if (windows.kind === 'session') return new SessionWindowedCogroupedKStream(this.groups, windows);
    return new TimeWindowedCogroupedKStream(this.groups, windows);
  }
}

/** Several grouped streams that are aggregated together, by key and time window. Each stream has a stream time of its own. */
export class TimeWindowedCogroupedKStream<K, V> {
  /** Comes from `CogroupedKStream.windowedBy`. */
  constructor(
    private readonly groups: Groups<K>,
    private readonly windows: StartingWindows,
  ) {}

  /** Folds the values of each key and window into an aggregate of the store's type. */
  aggregate<A>(
    store: WindowStoreDefinition<NonNullable<K>, A>,
    { initial, add }: Cogrouping<NonNullable<K>, V, NoInfer<A>>,
    options: Named = {},
  ): KTable<Windowed<NonNullable<K>>, A> {
    const { windows } = this;
    const kept = windowStoreFor(store, windows, 'onUpdate');
    const table = (group: string) =>
      windowTable(kept, windows, { initial, add: add[group as keyof V] } as Fold<NonNullable<K>, unknown, A>, undefined);
    const key = timeWindowed(kept.key, { sizeMs: windowSizeMs(windows) });
    return new KTable(addCogroup(this.groups, { name: options.name, store: kept, key, value: kept.value, table }));
  }
}

/** Several grouped streams that are aggregated together, by key and session. Each stream has a stream time of its own. */
export class SessionWindowedCogroupedKStream<K, V> {
  /** Comes from `CogroupedKStream.windowedBy`. */
  constructor(
    private readonly groups: Groups<K>,
    private readonly windows: SessionWindows,
  ) {}

  /** Folds the values of each session into an aggregate of the store's type. */
  aggregate<A>(
    store: SessionStoreDefinition<NonNullable<K>, A>,
    { initial, add, merge }: SessionCogrouping<NonNullable<K>, V, NoInfer<A>>,
    options: Named = {},
  ): KTable<Windowed<NonNullable<K>>, A> {
    const { windows } = this;
    checkRetention(store, windows);
    const table = (group: string) =>
      new SessionAggregation(store, windows, { initial, merge, add: add[group as keyof V] } as MergingFold<NonNullable<K>, unknown, A>);
    const key = sessionWindowed(store.key);
    return new KTable(addCogroup(this.groups, { name: options.name, store, key, value: store.value, table }));
  }
}
