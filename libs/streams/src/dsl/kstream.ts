import { InvalidConfigurationError } from '../core/errors.js';
import type { StreamRecord } from '../core/record.js';
import {
  filterOperator,
  flatMapOperator,
  flatMapRecordOperator,
  forEachOperator,
  type JoinKind,
  mapOperator,
  mapRecordOperator,
  passOperator,
  peekOperator,
  type ProcessorFactory,
  selectKeyOperator,
  streamGlobalJoin,
} from '../operators/index.js';
import { isSameSerde, type Serde } from '../serde/serde.js';
import { nullable, withoutNull } from '../serde/nullable.js';
import type { RecordMetadata } from '../topology/processor.js';
import type { OutputTopic } from '../topology/topic.js';
import type { GlobalKTable } from './global-ktable.js';
import { KGroupedStream } from './kgrouped-stream.js';
import { KTable, positionOf } from './ktable.js';
import { joinStreams, joinStreamWithTable } from './stream-joins.js';
import type {
  GlobalJoinOptions,
  GroupingOptions,
  MaterializedOptions,
  Named,
  PrintOptions,
  ProcessOptions,
  ProcessValuesOptions,
  RegroupingOptions,
  RepartitioningOptions,
  StoresByName,
  StreamJoinOptions,
  StreamTableJoinOptions,
  TopicsByName,
} from './options.js';
import { createProcess, createProcessValues } from './process.js';
import { repartition, repartitionAll } from './repartition.js';
import type { Position } from './scope.js';
import { addSplit, type Narrowed, type Predicates, type Refused } from './split.js';
import { addSourceTable } from './tables.js';

/** The streams that `split` makes, by the names of their branches. */
export type Branches<P, K, V> = { readonly [N in keyof P]: KStream<K, Narrowed<P[N], V>> } & { readonly rest: KStream<K, V> };

type Known = Pick<Position<unknown, unknown>, 'key' | 'value' | 'rekeyed'>;

/** A stream of the same keys, with or without null. */
type PartnerStream<K, V2> = KStream<NonNullable<K>, V2> | KStream<NonNullable<K> | null, V2>;

type JoinPartner<K, V2> = KTable<NonNullable<K>, V2> | PartnerStream<K, V2>;

/** With nulls where the kind of the join allows them. */
type Joiner<K, V, V2, R> = (left: NonNullable<V> | null, right: V2 | null, key: NonNullable<K> | null) => R;

/**
 * A stream of records, each of which stands for itself. Operators make new streams and leave this one as it is; functions given to them
 * take the value first, then the key, and must be pure: a record that fails half-way is processed again. Timestamp and headers are kept.
 */
export class KStream<K, V> {
  /** Streams come from `StreamsBuilder.stream` and from operators. */
  constructor(private readonly at: Position<K, V>) {}

  /** Keeps the records for which the predicate holds. A type predicate narrows the stream's type. */
  filter<R extends V>(predicate: (value: V, key: K) => value is R, options?: Named): KStream<K, R>;
  filter(predicate: (value: V, key: K) => boolean, options?: Named): KStream<K, V>;
  filter(predicate: (value: V, key: K) => boolean, options: Named = {}): KStream<K, V> {
    return this.follow('filter', options, filterOperator(predicate), this.at);
  }

  /** Keeps the records for which the predicate does not hold. A type predicate narrows the stream's type to the other values. */
  filterNot<P extends (value: V, key: K) => boolean>(predicate: P, options: Named = {}): KStream<K, Refused<P, V>> {
    const negated = filterOperator<K, V>((value, key) => !predicate(value, key));
    return this.follow('filterNot', options, negated, this.at) as KStream<K, unknown> as KStream<K, Refused<P, V>>;
  }

  /**
   * Replaces the value.
   * @param options.value serde of the new value, for a repartition topic that may follow
   */
  map<R>(mapper: (value: V, key: K) => R, options: Named & { readonly value?: Serde<R> } = {}): KStream<K, R> {
    return this.follow('map', options, mapOperator(mapper), { ...this.at, value: options.value });
  }

  /** Replaces key and value. */
  mapRecord<KR, R>(
    mapper: (value: V, key: K) => readonly [KR, R],
    options: Named & { readonly key?: Serde<KR>; readonly value?: Serde<R> } = {},
  ): KStream<KR, R> {
    return this.follow('mapRecord', options, mapRecordOperator(mapper), { key: options.key, value: options.value, rekeyed: true });
  }

  /** One record, under the same key, for each value that the mapper gives. */
  flatMap<R>(mapper: (value: V, key: K) => Iterable<R>, options: Named & { readonly value?: Serde<R> } = {}): KStream<K, R> {
    return this.follow('flatMap', options, flatMapOperator(mapper), { ...this.at, value: options.value });
  }

  /** One record for each pair of key and value that the mapper gives. */
  flatMapRecord<KR, R>(
    mapper: (value: V, key: K) => Iterable<readonly [KR, R]>,
    options: Named & { readonly key?: Serde<KR>; readonly value?: Serde<R> } = {},
  ): KStream<KR, R> {
    const known = { key: options.key, value: options.value, rekeyed: true };
    return this.follow('flatMapRecord', options, flatMapRecordOperator(mapper), known);
  }

  /** Replaces the key. Records are re-partitioned by it where a later operator needs them together. */
  selectKey<KR>(selector: (value: V, key: K) => KR, options: Named & { readonly key?: Serde<KR> } = {}): KStream<KR, V> {
    return this.follow('selectKey', options, selectKeyOperator(selector), { key: options.key, value: this.at.value, rekeyed: true });
  }

  /** Shows each record to the callback, for logs and counts. The callback may see a record again after a failure. */
  peek(callback: (value: V, key: K) => void, options: Named = {}): KStream<K, V> {
    return this.follow('peek', options, peekOperator(callback), this.at);
  }

  /** Shows each record to the callback, as `peek` does, and ends the chain. */
  forEach(callback: (value: V, key: K) => void, options: Named = {}): void {
    this.follow('forEach', options, forEachOperator(callback), this.at);
  }

  /** Writes a line for each record, for trying things out. */
  print(options: PrintOptions<K, V> = {}): void {
    const {
      label,
      format = (value: V, key: K) => `${String(key)}, ${String(value)}`,
      write = (line: string) => console.log(line),
    } = options;
    const prefix = label === undefined ? '' : `[${label}]: `;
    const print = forEachOperator((value: V, key: K) => write(prefix + format(value, key)));
    this.follow('print', options, print, this.at);
  }

  /** The records of both streams, in the order in which they come. */
  merge<V2>(other: KStream<K, V2>, options: Named = {}): KStream<K, V | V2> {
    const { scope, lineage, node, key, value, rekeyed } = this.at;
    const { at } = other;
    const name = scope.name(options.name, lineage, 'merge');
    const merged = scope.topology.processor<K, V | V2, K, V | V2>([node, at.node], { name, create: passOperator() });
    const shared = value !== undefined && at.value !== undefined && isSameSerde(value, at.value) ? value : undefined;
    const known = { key: key ?? at.key, value: shared, rekeyed: rekeyed || at.rekeyed };
    return new KStream({ scope, node: merged, lineage: options.name ?? lineage, ...known });
  }

  /**
   * Parts the stream: a record goes to the first branch whose predicate holds, and to `rest` when none does.
   * @example
   * const { large, rest } = stream.split({ large: (payment) => payment.amount > 1_000n });
   */
  split<P extends Predicates<K, V>>(predicates: P & Predicates<K, V>, options: Named = {}): Branches<P, K, V> {
    const { scope, lineage } = this.at;
    const name = scope.name(options.name, lineage, 'split');
    const branches = [...addSplit(this.at, name, predicates)].map(([branch, node]) => {
      const stream = new KStream<K, V>({ ...this.at, node, lineage: options.name === undefined ? lineage : `${name}-${branch}` });
      return [branch, stream] as const;
    });
    return Object.fromEntries(branches) as Branches<P, K, V>;
  }

  /**
   * Sends the records through the topic `<applicationId>-<name>-repartition`: by their key, with as many partitions as wanted. Those without a key
   * stay behind, unless `keepsNullKeys` lets them pass.
   */
  repartition<Keeps extends boolean = false>(
    options: RepartitioningOptions<NoInfer<K>, NoInfer<V>, Keeps> = {},
  ): KStream<Keeps extends true ? K : NonNullable<K>, V> {
    const { scope, lineage } = this.at;
    const { value = this.at.value, partitions, keepsNullKeys } = options;
    const given = options.key ?? this.at.key;
    const key = given === undefined || keepsNullKeys === true ? given : withoutNull(given);
    const name = scope.name(options.name, lineage, 'repartition');
    const through = keepsNullKeys === true ? repartitionAll : repartition;
    const node = through(this.at, { name, key, value, partitions });
    return new KStream<K, V>({ scope, node, lineage: options.name ?? lineage, key, value, rekeyed: false }) as never;
  }

  /** Groups the records by their key. After the key was replaced, through the topic `<applicationId>-<name>-repartition`. */
  groupByKey(options: GroupingOptions<NoInfer<K>, NoInfer<V>> = {}): KGroupedStream<K, V> {
    const { name, key = this.at.key, value = this.at.value } = options;
    return new KGroupedStream({ ...this.at, key, value }, name);
  }

  /** Groups the records by another key: `selectKey` and `groupByKey` in one. */
  groupBy<KR>(selector: (value: V, key: K) => NoInfer<KR>, { key, value, name }: RegroupingOptions<KR, NoInfer<V>>): KGroupedStream<KR, V> {
    return this.selectKey<KR>(selector, { key }).groupByKey({
      ...(value === undefined ? {} : { value }),
      ...(name === undefined ? {} : { name }),
    });
  }

  /**
   * Makes the last value of each key the row of a table; null deletes the row, records without a key are dropped. After the key was replaced, the
   * records go through the topic `<applicationId>-<name>-repartition` first.
   */
  toTable(options: MaterializedOptions<NonNullable<NoInfer<K>>, NonNullable<NoInfer<V>>> = {}): KTable<NonNullable<K>, NonNullable<V>> {
    const { scope, lineage, rekeyed } = this.at;
    const { store } = options;
    const name = scope.name(options.name, store?.name ?? lineage, 'table');
    const key = this.at.key ?? store?.key;
    const value = this.at.value ?? store?.value;
    const known = { ...this.at, key, value };
    const topic = { name: options.name ?? store?.name ?? name, key, value: value === undefined ? undefined : nullable(value as Serde<V>) };
    const at = rekeyed ? { ...known, node: repartition(known, topic) } : known;
    return new KTable(addSourceTable(at, store, name, options.name ?? lineage));
  }

  /**
   * Joins each record with the row that a table has for its key when the record comes; of a versioned table with the one as of the record's time. Records without
   * key, value or row are dropped. The table's own updates forward nothing.
   *
   * Or joins each record with those of another stream that have its key, and a time from `beforeMs` earlier to `afterMs` later. Both are kept that long, in
   * stream time, and `graceMs` longer.
   * @example
   * payments.join(accounts, (payment, account) => ({ ...payment, owner: account.owner }));
   * orders.join(shipments, (order, shipment) => ({ order, shipment }), { beforeMs: 0, afterMs: 86_400_000, graceMs: 3_600_000 });
   */
  join<V2, R>(
    table: KTable<NonNullable<K>, V2>,
    joiner: (left: NonNullable<V>, right: V2, key: NonNullable<K>) => R,
    options?: StreamTableJoinOptions<R>,
  ): KStream<NonNullable<K>, R>;
  join<V2, R>(
    stream: PartnerStream<K, V2>,
    joiner: (left: NonNullable<V>, right: NonNullable<V2>, key: NonNullable<K>) => R,
    options: StreamJoinOptions<R>,
  ): KStream<NonNullable<K>, R>;
  join<V2, R>(
    other: JoinPartner<K, V2>,
    joiner: (left: NonNullable<V>, right: NonNullable<V2>, key: NonNullable<K>) => R,
    options: StreamTableJoinOptions<R> | StreamJoinOptions<R> = {},
  ): KStream<NonNullable<K>, R> {
    return this.joinWith(other, 'inner', joiner as Joiner<K, V, V2, R>, options) as KStream<NonNullable<K>, R>;
  }

  /**
   * As `join`, with a result for each record of this stream: where it meets no row or record, the joiner gets null. With another stream such a result comes when
   * no record can be met any more, and only when a later one comes.
   */
  leftJoin<V2, R>(
    table: KTable<NonNullable<K>, V2>,
    joiner: (left: NonNullable<V>, right: V2 | null, key: K) => R,
    options?: StreamTableJoinOptions<R>,
  ): KStream<K, R>;
  leftJoin<V2, R>(
    stream: PartnerStream<K, V2>,
    joiner: (left: NonNullable<V>, right: NonNullable<V2> | null, key: K) => R,
    options: StreamJoinOptions<R>,
  ): KStream<K, R>;
  leftJoin<V2, R>(
    other: JoinPartner<K, V2>,
    joiner: (left: NonNullable<V>, right: NonNullable<V2> | null, key: K) => R,
    options: StreamTableJoinOptions<R> | StreamJoinOptions<R> = {},
  ): KStream<K, R> {
    return this.joinWith(other, 'left', joiner as Joiner<K, V, V2, R>, options);
  }

  /** As `leftJoin` of streams, with a result for each record of either stream. */
  outerJoin<V2, R>(
    stream: PartnerStream<K, V2>,
    joiner: (left: NonNullable<V> | null, right: NonNullable<V2> | null, key: K) => R,
    options: StreamJoinOptions<R>,
  ): KStream<K, R> {
    return this.joinWith(stream, 'outer', joiner as Joiner<K, V, V2, R>, options);
  }

  /**
   * Joins each record with the row of a global table under the key that `key` gives; records without one are passed over. Records with a null
   * value are dropped, as are those for which `key` gives null.
   * @example payments.joinGlobal(currencies, { key: (payment) => payment.currency, join: (payment, currency) => ({ ...payment, rate: currency.rate }) });
   */
  joinGlobal<KT, VT, R>(table: GlobalKTable<KT, VT>, options: GlobalJoinOptions<K, V, KT, VT, R>): KStream<K, R> {
    return this.withGlobal('joinGlobal', table, options as GlobalJoinOptions<K, V, KT, VT | null, R>, false);
  }

  /** As `joinGlobal`, with a result for each record: without a row, or where `key` gives null, `join` gets null. */
  leftJoinGlobal<KT, VT, R>(table: GlobalKTable<KT, VT>, options: GlobalJoinOptions<K, V, KT, VT | null, R>): KStream<K, R> {
    return this.withGlobal('leftJoinGlobal', table, options, true);
  }

  /**
   * Handles each record with a function of your own that uses stores, sends to topics, and forwards to the operators behind.
   * @example
   * stream.process({
   *   stores: { seen },
   *   outputs: { postings },
   *   process(record, context) {
   *     if (context.stores.seen.get(record.value.id) !== undefined) return;
   *     context.stores.seen.put(record.value.id, 1n);
   *     context.send('postings', { key: record.key, value: toPosting(record.value) });
   *   },
   * });
   */
  process<S extends StoresByName = {}, O extends TopicsByName = {}, KR = never, R = never>(
    options: ProcessOptions<K, V, S, O, KR, R>,
    named: Named = {},
  ): KStream<KR, R> {
    const known = { key: options.key, value: options.value, rekeyed: true };
    return this.handle('process', options, named, createProcess(options), known);
  }

  /**
   * As `process`, for functions that keep the key: nothing behind has to be re-partitioned.
   * @example
   * stream.processValues({
   *   stores: { latest },
   *   forwards: outputValue<Trend>(),
   *   process(record, context) {
   *     context.forward(trendOf(context.stores.latest.get(record.key), record.value));
   *     context.stores.latest.put(record.key, record.value);
   *   },
   * });
   */
  processValues<S extends StoresByName = {}, O extends TopicsByName = {}, R = never>(
    options: ProcessValuesOptions<K, V, S, O, R>,
    named: Named = {},
  ): KStream<K, R> {
    return this.handle('processValues', options, named, createProcessValues(options), { ...this.at, value: options.value });
  }

  /** Writes the records to a topic. */
  to(topic: OutputTopic<K, V>, options: Named = {}): void {
    const { scope, node } = this.at;
    scope.topology.sink<K, V>(node, topic, options);
  }

  /** Writes each record to the topic that is chosen for it; all of them must exist. */
  toRouted(choose: (value: V, key: K, metadata: RecordMetadata) => OutputTopic<K, V>, options: Named = {}): void {
    const { scope, node } = this.at;
    const target = (record: StreamRecord<K, V>, metadata: RecordMetadata): OutputTopic<K, V> => choose(record.value, record.key, metadata);
    scope.topology.sink<K, V>(node, target, options);
  }

  private withGlobal<KT, VT, R>(
    operator: string,
    { store }: GlobalKTable<KT, VT>,
    options: GlobalJoinOptions<K, V, KT, VT | null, R>,
    isLeft: boolean,
  ): KStream<K, R> {
    const { scope, lineage } = this.at;
    const { key, join, value } = options;
    const create = streamGlobalJoin<K, V, KT, VT, R>(store, { keyOf: key, join, isLeft });
    const node = scope.topology.processor(this.at.node, { name: scope.name(options.name, lineage, operator), stores: [store], create });
    return new KStream({ ...this.at, node, lineage: options.name ?? lineage, value });
  }

  private joinWith<V2, R>(
    other: JoinPartner<K, V2>,
    kind: JoinKind,
    joiner: Joiner<K, V, V2, R>,
    options: StreamTableJoinOptions<R> | StreamJoinOptions<R>,
  ): KStream<K, R> {
    const left = this.at as Position<NonNullable<K> | null, NonNullable<V> | null>;
    const joined =
      other instanceof KTable
        ? joinStreamWithTable(left, positionOf(other), kind === 'inner' ? kind : 'left', joiner, options)
        : joinStreams(left, other.at as Position<NonNullable<K> | null, V2 | null>, kind, joiner, options as StreamJoinOptions<R>);
    return new KStream<K, R>(joined as Position<K, R>);
  }

  private handle<KR, R>(
    operator: string,
    options: Pick<ProcessOptions<never, never, StoresByName, {}>, 'stores' | 'concurrency' | 'deadlineMs' | 'errors'>,
    named: Named,
    create: ProcessorFactory<K, V, KR, R>,
    known: Known,
  ): KStream<KR, R> {
    const { scope, lineage, node } = this.at;
    const { stores = {}, concurrency, deadlineMs, errors } = options;
    const name = scope.name(named.name, lineage, operator);
    if (this.at.rekeyed && concurrency !== undefined && Object.keys(stores).length > 0) throw reorderedKeys(name);
    const settings = {
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
      ...(errors === undefined ? {} : { errors }),
    };
    const handler = scope.topology.processor<K, V, KR, R>(node, { ...settings, name, stores: Object.values(stores), create });
    const { key, value, rekeyed } = known;
    return new KStream({ scope, node: handler, lineage: named.name ?? lineage, key, value, rekeyed });
  }

  private follow<KR, R>(operator: string, options: Named, create: ProcessorFactory<K, V, KR, R>, known: Known): KStream<KR, R> {
    const { scope, lineage } = this.at;
    const node = scope.topology.processor(this.at.node, { name: scope.name(options.name, lineage, operator), create });
    return new KStream({ scope, node, lineage: options.name ?? lineage, key: known.key, value: known.value, rekeyed: known.rekeyed });
  }
}

/** Records in flight are kept apart by the key that they were read with. */
function reorderedKeys(name: string): InvalidConfigurationError {
  return new InvalidConfigurationError(
    'TOPOLOGY_CONCURRENT_STORE',
    `Operator "${name}" handles several records at a time and has stores, but the key was replaced before it, so records of one key could meet there. ` +
      'Write the records to a topic by their new key first, or take the concurrency away.',
    { node: name },
  );
}
