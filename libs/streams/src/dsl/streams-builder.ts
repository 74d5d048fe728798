/** The entry to the DSL. */
import type { RowStore } from '../operators/index.js';
import { withoutNull } from '../serde/nullable.js';
import type { Serde } from '../serde/serde.js';
import { TopologyBuilder } from '../topology/topology-builder.js';
import { checkName, internalNameLengthMax } from '../topology/names.js';
import type { SourceOptions, TopologyBuilderOptions } from '../topology/topology-builder.js';
import { type KeyValueStoreDefinition, keyValueStore } from '../topology/store-definition.js';
import type { Topic, TopicPattern } from '../topology/topic.js';
import type { Topology } from '../topology/topology.js';
import { GlobalKTable } from './global-ktable.js';
import { type AnyGroupedStream, type CogroupKey, type CogroupValues, groupsOf } from './cogroup.js';
import { CogroupedKStream } from './cogrouped-stream.js';
import { KStream } from './kstream.js';
import { KTable } from './ktable.js';
import { DslScope } from './scope.js';
import { addSourceTable } from './tables.js';

export interface StreamsBuilderOptions extends TopologyBuilderOptions {
  /** Adds to this topology instead of a new one: several builders make one application. `name` and `version` are then the topology's own. */
  readonly topology?: TopologyBuilder;
  /** Begins every generated name, so that names stay as they are when another part of the application grows. */
  readonly namePrefix?: string;
}

function globalStoreOf<K, V>(topic: Topic<K, V>, name: string): KeyValueStoreDefinition<NonNullable<K>, NonNullable<V>> {
  const key = withoutNull(topic.key) as Serde<NonNullable<K>>;
  return keyValueStore(name, { key, value: withoutNull(topic.value) as Serde<NonNullable<V>>, changelog: false });
}

export interface TableOptions extends SourceOptions {
  /**
   * The topic itself is the changelog of the table's store: nothing is written twice, and after the loss of the disk the rows come from the topic. For
   * compacted topics, and where no operator needs to know what a row was before it changed (groupings, joins of tables and `suppress` do).
   * Default false.
   */
  readonly topicIsChangelog?: boolean;
}

/**
 * Declares a topology by chains of operators.
 * @example
 * const streams = new StreamsBuilder({ name: 'ledger' });
 * streams.stream(payments).filter((payment) => payment.amount > 0n).to(accepted);
 * const topology = streams.build();
 */
export class StreamsBuilder {
  /** For nodes of the Processor API beside the chains. */
  readonly topology: TopologyBuilder;
  private readonly scope: DslScope;

  /** @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION` */
  constructor(options: StreamsBuilderOptions = {}) {
    const { topology, namePrefix, ...own } = options;
    if (namePrefix !== undefined) checkName('name prefix', namePrefix, internalNameLengthMax);
    this.topology = topology ?? new TopologyBuilder(own);
    this.scope = new DslScope(this.topology, namePrefix);
  }

  /** The records of one topic, of several together, or of all whose names match a pattern. */
  stream<K, V>(
    topics: Topic<K, V> | TopicPattern<K, V> | readonly [Topic<K, V>, ...Topic<K, V>[]],
    options: SourceOptions = {},
  ): KStream<K, V> {
    const list: readonly (Topic<K, V> | TopicPattern<K, V>)[] = 'name' in topics ? [topics] : topics;
    const node = this.topology.source(topics, options);
    const names = list.map((topic) => topic.name).toSorted();
    const [first] = list;
    return new KStream({
      scope: this.scope,
      node,
      lineage: options.name ?? String(names[0]),
      key: first?.key,
      value: first?.value,
      rekeyed: false,
    });
  }

  /**
   * The topic's last values as a table: a record replaces the row of its key, a null value deletes it, records without a key are dropped. The
   * topic's value should be `nullable()`, or a null value is refused.
   * @param store holds the rows; default: one that is made when an operator needs it
   */
  table<K, V>(
    topic: Topic<K, V>,
    store?: RowStore<NonNullable<NoInfer<K>>, NonNullable<NoInfer<V>>>,
    options: TableOptions = {},
  ): KTable<NonNullable<K>, NonNullable<V>> {
    const { scope } = this;
    const { topicIsChangelog = false, ...source } = options;
    const lineage = options.name ?? topic.name;
    const node = this.topology.source(topic, source);
    const at = { scope, node, lineage, key: topic.key, value: topic.value, rekeyed: false };
    return new KTable(addSourceTable(at, store, scope.name(undefined, lineage, 'table'), lineage, topicIsChangelog ? topic : undefined));
  }

  /**
   * The topic's last values as a table that every worker holds whole, whatever the topic's partitions: for what is small, and joined by any key.
   * It is read up to its end before the first record is processed, and kept up beside it: joins see what had arrived by then.
   * @param store holds the rows, read-only for processors; its serdes are the topic's. Default: one named `<topic>-global`
   * @throws InvalidConfigurationError as `TopologyBuilder.globalStore`
   */
  globalTable<K, V>(
    topic: Topic<K, V>,
    store?: KeyValueStoreDefinition<NonNullable<NoInfer<K>>, NonNullable<NoInfer<V>>>,
  ): GlobalKTable<NonNullable<K>, NonNullable<V>> {
    const own = store ?? globalStoreOf(topic, this.scope.name(undefined, topic.name, 'global'));
    this.topology.globalStore(topic, own);
    return new GlobalKTable(own);
  }

  /**
   * Groups of several streams, which are aggregated together into one table: each under a name, by which the aggregation has a function for it.
   * @example
   * streams.cogroup({ payments: payments.groupByKey(), refunds: refunds.groupByKey() }).aggregate(balances, { initial, add: { payments: ..., refunds: ... } });
   */
  cogroup<G extends Readonly<Record<string, AnyGroupedStream>>>(groups: G): CogroupedKStream<CogroupKey<G>, CogroupValues<G>> {
    return new CogroupedKStream(groupsOf(groups));
  }

  /**
   * Checks the whole topology and returns it as data.
   * @throws InvalidConfigurationError as `TopologyBuilder.build`
   */
  build(): Topology {
    return this.topology.build();
  }
}
