import type { Change } from '../core/record.js';
import { reversibleCount, type ReversibleFold, type RowStore, TableAggregation } from '../operators/index.js';
import { changeSerde } from '../serde/change.js';
import { int64 } from '../serde/int64.js';
import type { Serde } from '../serde/serde.js';
import type { NodeHandle } from '../topology/handles.js';
import { type AnyStoreDefinition, keyValueStore } from '../topology/store-definition.js';
import type { Aggregation, CountOptions } from './kgrouped-stream.js';
import { KTable } from './ktable.js';
import type { Named } from './options.js';
import { throughTopic } from './repartition.js';
import type { Position } from './scope.js';
import { addTable } from './tables.js';

/** How rows go into the aggregate of their group and out of it again. */
export interface ReversibleAggregation<K, V, A> extends Aggregation<K, V, A> {
  /** The aggregate without a row that left the group, or null to remove it. Must not change the one that it is given. */
  readonly subtract: (aggregate: A, value: V, key: K) => A | null;
}

/** As an aggregation whose first aggregate is the group's first row. */
export interface ReversibleReduction<V> {
  readonly add: (aggregate: V, value: V) => V | null;
  readonly subtract: (aggregate: V, value: V) => V | null;
}

/**
 * The rows of a table, grouped by another key. When a row changes, the aggregate of its group is told what it was and what it is; a row that moves
 * to another group leaves the old one first. Several aggregations of one grouping share its repartition topic.
 */
export class KGroupedTable<K, V> {
  private grouped: NodeHandle<K, Change<V>> | undefined;

  /** Groupings come from `KTable.groupBy`. */
  constructor(
    private readonly at: Position<K, Change<V>>,
    private readonly groupName: string | undefined,
  ) {}

  /** Counts the rows of each group, in the store given or in one of the name given or generated. A group that is empty counts 0. */
  count(store: RowStore<K, bigint>): KTable<K, bigint>;
  count(options?: CountOptions): KTable<K, bigint>;
  count(target: RowStore<K, bigint> | CountOptions = {}): KTable<K, bigint> {
    const store = target.kind === undefined ? this.countStore(target.name) : target;
    return this.update(store, {}, reversibleCount);
  }

  /** Combines the rows of each group two by two. */
  reduce(store: RowStore<K, V>, reduction: ReversibleReduction<NoInfer<V>>, options: Named = {}): KTable<K, V> {
    return this.update(store, options, reduction);
  }

  /**
   * Folds the rows of each group into an aggregate of the store's type.
   * @example
   * accounts
   *   .groupBy((account) => [account.branch, account.balance], { key: string(), value: int64() })
   *   .aggregate(totals, { initial: () => 0n, add: (sum, balance) => sum + balance, subtract: (sum, balance) => sum - balance });
   */
  aggregate<A>(store: RowStore<K, A>, aggregation: ReversibleAggregation<K, V, NoInfer<A>>, options: Named = {}): KTable<K, A> {
    return this.update(store, options, aggregation);
  }

  private update<A>(store: RowStore<K, A>, options: Named, fold: ReversibleFold<K, V, A>): KTable<K, A> {
    const { scope } = this.at;
    const parent = this.partitionedByKey(store);
    const name = options.name ?? scope.free(`${store.name}-aggregate`);
    const settings = { name, lineage: store.name, stores: [], store, key: store.key, value: store.value };
    return new KTable(addTable(scope, parent, new TableAggregation(store, fold), settings));
  }

  private partitionedByKey(store: AnyStoreDefinition): NodeHandle<K, Change<V>> {
    const { scope, node, key, value } = this.at;
    if (this.grouped !== undefined) return this.grouped;
    const name = this.groupName ?? scope.free(store.name);
    const changes = value === undefined ? undefined : changeSerde(value as Serde<V>);
    this.grouped = throughTopic(this.at, node, { name, key, value: changes });
    return this.grouped;
  }

  private countStore(explicit: string | undefined): RowStore<K, bigint> {
    const { scope, lineage, key } = this.at;
    return keyValueStore(scope.name(explicit, this.groupName ?? lineage, 'count'), { key: key as Serde<K>, value: int64() });
  }
}
