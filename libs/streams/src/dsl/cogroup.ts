/** How several grouped streams are put into the topology as one table. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { Change } from '../core/record.js';
import { CogroupedTable, passOperator, type TableOperator } from '../operators/index.js';
import type { AnySerde } from '../serde/serde.js';
import type { NodeHandle } from '../topology/handles.js';
import type { AnyStoreDefinition } from '../topology/store-definition.js';
import type { Grouping } from './grouping.js';
import { groupingOf, type KGroupedStream } from './kgrouped-stream.js';
import type { TablePosition } from './scope.js';

/** Groupings by the names that they have in a cogroup, one at least. */
export type Groups<K> = readonly [Group<K>, ...Group<K>[]];
type Group<K> = readonly [name: string, grouping: Grouping<K, unknown>];

/** A grouping of any key and values. */
export interface AnyGroupedStream {
  readonly records?: readonly [key: unknown, value: unknown];
}

/** What groupings are grouped by: it has to be the same for all. */
export type CogroupKey<G> = {
  readonly [N in keyof G]: G[N] extends { readonly records?: readonly [key: infer K, value: unknown] } ? K : never;
}[keyof G];

/** Values of groupings, by the groupings' names. */
export type CogroupValues<G> = {
  readonly [N in keyof G]: G[N] extends { readonly records?: readonly [key: unknown, value: infer V] } ? V : never;
};

/** @throws InvalidConfigurationError `INVALID_OPTION` when there is none */
export function groupsOf<K>(groups: Readonly<Record<string, AnyGroupedStream>>): Groups<K> {
  const [first, ...others] = Object.entries(groups).map(([name, grouped]): Group<K> => [
    name,
    groupingOf(grouped as KGroupedStream<K, unknown>),
  ]);
  if (first === undefined) throw new InvalidConfigurationError('INVALID_OPTION', 'A cogroup needs at least one grouped stream.');
  return [first, ...others];
}

export interface CogroupSettings<K, TK, A> {
  readonly name: string | undefined;
  /** That all of them aggregate into. */
  readonly store: AnyStoreDefinition;
  readonly key: AnySerde;
  readonly value: AnySerde;
  /** The aggregation of a group. */
  readonly table: (group: string) => TableOperator<NonNullable<K> | null, unknown, TK, A>;
}

/**
 * Adds an aggregation for each group, and a node behind them all, which is the table's and owns the store.
 * @throws InvalidConfigurationError `TOPOLOGY_DUPLICATE_NAME` where two groupings have no names and need repartition topics
 */
export function addCogroup<K, TK, A>(groups: Groups<K>, settings: CogroupSettings<K, TK, A>): TablePosition<TK, A> {
  const { store, key, value } = settings;
  const { scope } = groups[0][1];
  const name = settings.name ?? scope.free(`${store.name}-aggregate`);
  checkNames(groups, store);
  // Before the store is declared, or a topic could not be called like it.
  const parents = groups.map(([group, grouping]) => [group, grouping.partitionedByKey(store)] as const);
  const members = parents.map(([group, parent]) => {
    const table = settings.table(group);
    const node = scope.topology.processor<NonNullable<K> | null, unknown, TK, Change<A>>(parent, {
      name: `${name}-${group}`,
      stores: [store],
      create: table.create,
    });
    return { table, node };
  });
  const nodes = members.map((member) => member.node) as [NodeHandle<TK, Change<A>>, ...NodeHandle<TK, Change<A>>[]];
  scope.topology.claimStore(store, name);
  const node = scope.topology.processor<TK, Change<A>, TK, Change<A>>(nodes, { name, create: passOperator() });
  const table = new CogroupedTable(members.map((member) => member.table));
  return { scope, node, lineage: store.name, key, value, rekeyed: false, table };
}

/** Their repartition topics would be called alike, and names that are made by counting shift when the topology grows. */
function checkNames<K>(groups: Groups<K>, store: AnyStoreDefinition): void {
  const unnamed = new Map(groups.filter(([, grouping]) => grouping.needsName).map(([name, grouping]) => [grouping, name]));
  if (unnamed.size < 2) return;
  const names = [...unnamed.values()].map((name) => `"${name}"`).join(' and ');
  throw new InvalidConfigurationError(
    'TOPOLOGY_DUPLICATE_NAME',
    `The groupings ${names} that are aggregated in the store "${store.name}" both pass through a repartition topic. ` +
      "Give each grouping a name, which becomes the topic's: groupBy(selector, { key, name }).",
    { store: store.name },
  );
}
