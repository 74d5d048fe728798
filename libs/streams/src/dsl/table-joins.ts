/** Puts joins of tables by their key into the topology. */
import type { Change } from '../core/record.js';
import { JoinedTable, type JoinKind, type RowJoiner } from '../operators/index.js';
import type { TableJoinOptions } from './options.js';
import type { TablePosition } from './scope.js';
import { addTable } from './tables.js';

const operators: Readonly<Record<JoinKind, string>> = { inner: 'join', left: 'leftJoin', outer: 'outerJoin' };

export function joinTables<K, VL, VR, R>(
  left: TablePosition<K, VL>,
  right: TablePosition<K, VR>,
  kind: JoinKind,
  joiner: RowJoiner<K, VL, VR, R>,
  options: TableJoinOptions<K, R>,
): TablePosition<K, R> {
  const { scope, lineage } = left;
  const { topology } = scope;
  const { store } = options;
  const name = scope.name(options.name, lineage, operators[kind]);
  const table = new JoinedTable(left.table, right.table, kind, joiner, store);
  topology.copartition(left.node, right.node);
  const sides = [
    topology.processor<K, Change<VL>, K, Change<R>>(left.node, {
      name: `${name}-left`,
      stores: table.leftStores,
      create: table.createLeft,
    }),
    topology.processor<K, Change<VR>, K, Change<R>>(right.node, {
      name: `${name}-right`,
      stores: table.rightStores,
      create: table.createRight,
    }),
  ] as const;
  const key = left.key ?? right.key;
  return addTable(scope, sides, table, { name, lineage: options.name ?? lineage, stores: [], store, key, value: options.value });
}
