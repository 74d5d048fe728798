import type { Change } from '../core/record.js';
import { regroupOperator, type RowJoiner, tableFilter, tableMap, toStreamOperator, TransformedTable } from '../operators/index.js';
import { nullable, withoutNull } from '../serde/nullable.js';
import { isSameKey } from '../serde/same-key.js';
import type { Serde } from '../serde/serde.js';
import { joinByForeignKey } from './foreign-key-joins.js';
import { KGroupedTable } from './kgrouped-table.js';
import { KStream } from './kstream.js';
import type {
  ForeignKeyJoinOptions,
  MaterializedOptions,
  Named,
  StoresByName,
  TableGroupingOptions,
  TableJoinOptions,
  TransformContext,
  TransformOptions,
} from './options.js';
import { storesByName } from './process.js';
import type { TablePosition } from './scope.js';
import { addSuppress, type SuppressOptions } from './suppress.js';
import { joinTables } from './table-joins.js';
import { addTable } from './tables.js';

/** Where a table stands, for the other facades. */
export let positionOf: <K, V>(table: KTable<K, V>) => TablePosition<K, V>;

/**
 * A table: one row for each key. Its node forwards changes, each with the row before and after. Operators make new tables, which are views
 * unless they are given a store; functions given to them take the row first, then the key, never a row that is gone, and must be pure.
 */
export class KTable<K, V> {
  /** Tables come from `StreamsBuilder.table`, `KStream.toTable`, from aggregations and from operators. */
  constructor(private readonly at: TablePosition<K, V>) {}

  static {
    positionOf = (table) => table.at;
  }

  /** The table's new rows, one record for each change; null where a row was removed. */
  toStream(options: Named = {}): KStream<K, V | null> {
    const { scope, lineage, key, value } = this.at;
    const name = scope.name(options.name, lineage, 'toStream');
    const node = scope.topology.processor(this.at.node, { name, create: toStreamOperator<K, V>() });
    const rows = value === undefined ? undefined : nullable(value as Serde<V>);
    return new KStream({ scope, node, lineage: options.name ?? lineage, key, value: rows, rekeyed: false });
  }

  /** Keeps the rows for which the predicate holds. A type predicate narrows the table's type. */
  filter<R extends V>(predicate: (value: V, key: K) => value is R, options?: MaterializedOptions<NoInfer<K>, NoInfer<R>>): KTable<K, R>;
  filter(predicate: (value: V, key: K) => boolean, options?: MaterializedOptions<NoInfer<K>, NoInfer<V>>): KTable<K, V>;
  filter(predicate: (value: V, key: K) => boolean, options: MaterializedOptions<K, V> = {}): KTable<K, V> {
    const { table, value } = this.at;
    return this.derive('filter', tableFilter(table, predicate, options.store), options, value);
  }

  /** Keeps the rows for which the predicate does not hold. */
  filterNot(predicate: (value: V, key: K) => boolean, options: MaterializedOptions<NoInfer<K>, NoInfer<V>> = {}): KTable<K, V> {
    const { table, value } = this.at;
    const negated = (row: V, key: K): boolean => !predicate(row, key);
    return this.derive('filterNot', tableFilter(table, negated, options.store), options, value);
  }

  /**
   * Replaces each row; null removes it.
   * @param options.value serde of the new rows, for a store or repartition topic that may follow; a store given has its own
   */
  map<R>(
    mapper: (value: V, key: K) => R | null,
    options: MaterializedOptions<NoInfer<K>, R> & { readonly value?: Serde<R> } = {},
  ): KTable<K, R> {
    return this.derive('map', tableMap(this.at.table, mapper, options.store), options, options.value);
  }

  /**
   * Replaces each row by what a function with stores of its own makes of it. It is called for deletions too, with null, and may be called again for
   * a row when an operator behind the table asks what it was: where that matters give the table a store.
   */
  transformValues<R, S extends StoresByName = {}>(
    { stores, transform }: TransformOptions<K, V, R, S>,
    options: MaterializedOptions<NoInfer<K>, R> & { readonly value?: Serde<R> } = {},
  ): KTable<K, R> {
    const { table } = this.at;
    const named = storesByName(stores ?? {});
    const used = Object.values(stores ?? {});
    const operator = new TransformedTable<K, V, R>(
      table,
      (value, key, context) => transform(value, key, { stores: named(context) } as TransformContext<S>),
      used,
      options.store,
    );
    return this.derive('transformValues', operator, options, options.value, used);
  }

  /**
   * Holds changes back and forwards the last one of each key alone: until a time has passed since the first one, or until the row's window can
   * change no more. What is held back is kept in the store `<name>-buffer`, and comes with its own timestamp and headers.
   * @example visits.windowedBy(tumbling({ sizeMs: 60_000, graceMs: 5_000 })).count(perMinute).suppress({ until: 'windowCloses' });
   */
  suppress(options: SuppressOptions<K>): KTable<K, V> {
    return new KTable(addSuppress(this.at, options));
  }

  /**
   * Groups the rows by another key, through the topic `<applicationId>-<name>-repartition`. A row for which key or value is null belongs to no group.
   * @param regroup gives key and value of a row in its group
   */
  groupBy<KR, R>(
    regroup: (value: V, key: K) => readonly [key: NoInfer<KR> | null, value: NoInfer<R> | null],
    options: TableGroupingOptions<KR, R>,
  ): KGroupedTable<KR, R> {
    const { scope, lineage, table } = this.at;
    table.sendOldValues(true);
    const name = scope.name(undefined, options.name ?? lineage, 'groupBy');
    const key = withoutNull(options.key) as Serde<KR>;
    const node = scope.topology.processor(this.at.node, {
      name,
      create: regroupOperator<K, V, KR, R>(regroup, (left, right) => isSameKey(key, left, right)),
    });
    const position = { scope, node, lineage: options.name ?? lineage, key, value: withoutNull(options.value), rekeyed: true };
    return new KGroupedTable(position, options.name);
  }

  /**
   * Joins the rows of both tables that have the same key: a row wherever both have one. It changes when either of them does. Both tables' topics must
   * have equal partition counts.
   * @param joiner null for no row
   * @example
   * accounts.join(limits, (account, limit) => ({ ...account, limit }), { store: limitedAccounts });
   */
  join<V2, R>(
    other: KTable<K, V2>,
    joiner: (left: V, right: V2, key: K) => R | null,
    options: TableJoinOptions<NoInfer<K>, R> = {},
  ): KTable<K, R> {
    return new KTable(joinTables(this.at, other.at, 'inner', joiner as RowJoiner<K, V, V2, R>, options));
  }

  /** As `join`, with a row for each row of this table: where the other one has none, the joiner gets null. */
  leftJoin<V2, R>(
    other: KTable<K, V2>,
    joiner: (left: V, right: V2 | null, key: K) => R | null,
    options: TableJoinOptions<NoInfer<K>, R> = {},
  ): KTable<K, R> {
    return new KTable(joinTables(this.at, other.at, 'left', joiner as RowJoiner<K, V, V2, R>, options));
  }

  /** As `join`, with a row for each row of either table: the joiner gets null for the side that has none. */
  outerJoin<V2, R>(
    other: KTable<K, V2>,
    joiner: (left: V | null, right: V2 | null, key: K) => R | null,
    options: TableJoinOptions<NoInfer<K>, R> = {},
  ): KTable<K, R> {
    return new KTable(joinTables(this.at, other.at, 'outer', joiner, options));
  }

  /**
   * Joins each row with the row of the other table to which it refers by a foreign key. The result has the keys of this table; it changes when either row does.
   * Both tables may have any numbers of partitions: they talk through the topics `<applicationId>-<name>-subscriptions-repartition` and
   * `<applicationId>-<name>-responses-repartition`.
   * @example
   * orders.joinOn(customers, { foreignKey: (order) => order.customerId, join: (order, customer) => ({ ...order, customer: customer.name }) });
   */
  joinOn<FK, V2, R>(other: KTable<FK, V2>, options: ForeignKeyJoinOptions<K, V, FK, V2, R>): KTable<K, R> {
    return this.joinByKeyOf(other, 'inner', options as ForeignKeyJoinOptions<K, V, FK, V2 | null, R>);
  }

  /** As `joinOn`, with a row for each row of this table: where the other one has none, or `foreignKey` gives null, `join` gets null. */
  leftJoinOn<FK, V2, R>(other: KTable<FK, V2>, options: ForeignKeyJoinOptions<K, V, FK, V2 | null, R>): KTable<K, R> {
    return this.joinByKeyOf(other, 'left', options);
  }

  private joinByKeyOf<FK, V2, R>(
    other: KTable<FK, V2>,
    kind: 'inner' | 'left',
    options: ForeignKeyJoinOptions<K, V, FK, V2 | null, R>,
  ): KTable<K, R> {
    return new KTable(joinByForeignKey(this.at, other.at, kind, options) as TablePosition<K, R>);
  }

  private derive<R>(
    operator: string,
    table: Parameters<typeof addTable<K, Change<V>, K, R>>[2],
    options: MaterializedOptions<K, R>,
    value: TablePosition<K, R>['value'],
    stores: Parameters<typeof addTable<K, Change<V>, K, R>>[3]['stores'] = [],
  ): KTable<K, R> {
    const { scope, lineage, node, key } = this.at;
    const name = scope.name(options.name, lineage, operator);
    const settings = { name, lineage: options.name ?? lineage, stores, key, value, store: options.store };
    return new KTable(addTable(scope, node, table, settings));
  }
}
