/** How facades put tables into the topology. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { Change } from '../core/record.js';
import { type RowStore, SourceTable, type TableOperator } from '../operators/index.js';
import { bytes } from '../serde/bytes.js';
import { withoutNull } from '../serde/nullable.js';
import type { AnySerde, Serde } from '../serde/serde.js';
import type { Parents } from '../topology/handles.js';
import { type AnyStoreDefinition, type KeyValueStoreDefinition, keyValueStore } from '../topology/store-definition.js';
import type { Topic } from '../topology/topic.js';
import type { DslScope, Position, TablePosition } from './scope.js';

export interface TableSettings<K, V> {
  readonly name: string;
  readonly lineage: string;
  /** What the processor itself uses. */
  readonly stores: readonly AnyStoreDefinition[];
  readonly key: AnySerde | undefined;
  readonly value: AnySerde | undefined;
  readonly store: RowStore<K, V> | undefined;
}

/** Adds the node of a table, which owns its store: nothing else may make rows in it. */
export function addTable<KIn, VIn, K, V>(
  scope: DslScope,
  parents: Parents<KIn, VIn>,
  table: TableOperator<KIn, VIn, K, V>,
  { name, lineage, stores, store, key, value }: TableSettings<K, V>,
): TablePosition<K, V> {
  if (store !== undefined) scope.topology.claimStore(store, name);
  const node = scope.topology.processor<KIn, VIn, K, Change<V>>(parents, {
    name,
    stores: store === undefined ? stores : [store, ...stores],
    create: table.create,
  });
  return { scope, node, lineage: store?.name ?? lineage, key: store?.key ?? key, value: store?.value ?? value, rekeyed: false, table };
}

/**
 * A table of a stream's last values. Without a store it gets one when an operator behind it needs its rows.
 * @param changelog the topic that the store is a copy of, where it is to have no changelog beside it
 */
export function addSourceTable<K, V>(
  at: Position<K, V>,
  store: RowStore<NonNullable<K>, NonNullable<V>> | undefined,
  name: string,
  lineage: string,
  changelog?: Topic<K, V>,
): TablePosition<NonNullable<K>, NonNullable<V>> {
  const { scope } = at;
  const key = at.key === undefined ? undefined : withoutNull(at.key);
  const value = at.value === undefined ? undefined : withoutNull(at.value);
  const materialize = (): RowStore<NonNullable<K>, NonNullable<V>> => {
    const reason = 'an operator behind it reads its rows, so it keeps a store';
    if (key === undefined) scope.reportMissingSerde(name, 'key', reason);
    if (value === undefined) scope.reportMissingSerde(name, 'value', reason);
    const own = keyValueStore(name, {
      key: (key ?? bytes()) as Serde<NonNullable<K>>,
      value: (value ?? bytes()) as Serde<NonNullable<V>>,
    });
    scope.topology.connectStore(own, name);
    scope.topology.claimStore(own, name);
    if (changelog !== undefined) scope.topology.topicChangelog(own, changelog, name);
    return own;
  };
  if (changelog !== undefined && store !== undefined) {
    // A store of another kind is refused there.
    scope.topology.topicChangelog(store as KeyValueStoreDefinition<NonNullable<K>, NonNullable<V>>, changelog, name);
  }
  const refuseOldValues = changelog === undefined ? undefined : (): void => reportOldValues(scope, name, changelog.name);
  const table = new SourceTable<NonNullable<K>, NonNullable<V>>(store, materialize, refuseOldValues);
  const parent = at.node as Parents<NonNullable<K> | null, NonNullable<V> | null>;
  return addTable(scope, parent, table, { name, lineage, stores: [], store, key, value });
}

function reportOldValues(scope: DslScope, name: string, topic: string): void {
  const message =
    `An operator behind table "${name}" needs to know what a row was before it changed, but the topic "${topic}" is the table's changelog, ` +
    `and compaction removes from it what has changed. Leave "topicIsChangelog" out, so that the table has a changelog of its own.`;
  scope.topology.reportProblem(new InvalidConfigurationError('TOPOLOGY_OLD_VALUES_NEEDED', message, { node: name, topic }));
}
