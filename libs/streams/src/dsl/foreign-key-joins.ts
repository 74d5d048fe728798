/** Puts joins of tables by a foreign key into the topology. */
import type { Change } from '../core/record.js';
import {
  answerOperator,
  type ForeignKeyJoin,
  resolveOperator,
  subscribeOperator,
  SubscriptionStore,
  tellOperator,
} from '../operators/index.js';
import { bytes } from '../serde/bytes.js';
import { type ForeignRow, foreignRowSerde, type Subscription, subscriptionSerde } from '../serde/foreign-key.js';
import { nullable, withoutNull } from '../serde/nullable.js';
import type { Serde } from '../serde/serde.js';
import type { NodeHandle } from '../topology/handles.js';
import type { ForeignKeyJoinOptions } from './options.js';
import type { DslScope, Position, TablePosition } from './scope.js';
import { addSourceTable } from './tables.js';

export function joinByForeignKey<K, VL, FK, VR, R>(
  left: TablePosition<K, VL>,
  right: TablePosition<FK, VR>,
  kind: 'inner' | 'left',
  options: ForeignKeyJoinOptions<K, VL, FK, VR | null, R>,
): TablePosition<NonNullable<K>, NonNullable<R>> {
  const { scope, lineage } = left;
  const name = scope.name(options.name, lineage, kind === 'inner' ? 'joinOn' : 'leftJoinOn');
  left.table.sendOldValues(true);
  right.table.sendOldValues(true);
  const { key, value } = serdesOf(scope, name, left, right);
  const join: ForeignKeyJoin<K, VL, FK, VR, R> = {
    kind,
    foreignKeyOf: options.foreignKey,
    joiner: options.join,
    foreignKey: key.right,
    leftValue: value.left,
    left: left.table.view(),
    right: right.table.view(),
    subscriptions: new SubscriptionStore(`${name}-subscriptions`, key.left, key.right),
  };
  const subscribed = subscribe(scope, name, left, join, key.left);
  const responses = respond(scope, name, right, join, subscribed, foreignRowSerde(value.right), key.left);
  scope.topology.copartition(subscribed, right.node);
  scope.topology.copartition(responses, left.node);
  const resolved = scope.topology.processor<K, ForeignRow<VR>, K, R | null>(responses, {
    name: `${name}-resolve`,
    stores: join.left.stores,
    create: resolveOperator(join),
  });
  const at: Position<K, R | null> = { scope, node: resolved, lineage: name, key: key.left, value: options.value, rekeyed: false };
  return addSourceTable(at, options.store as never, name, options.name ?? lineage);
}

/** @returns where the subscriptions come in, in the tasks of the right table. */
function subscribe<K, VL, FK, VR, R>(
  { topology }: DslScope,
  name: string,
  left: TablePosition<K, VL>,
  join: ForeignKeyJoin<K, VL, FK, VR, R>,
  primaryKey: Serde<K>,
): NodeHandle<FK | null, Subscription<K>> {
  const node = topology.processor<K, Change<VL>, FK | null, Subscription<K>>(left.node, {
    name: `${name}-subscribe`,
    create: subscribeOperator(join),
  });
  // Rows that refer to none have no partition there: any task answers them.
  return topology.repartition<FK | null, Subscription<K>>(node, {
    name: `${name}-subscriptions`,
    key: nullable(join.foreignKey),
    value: subscriptionSerde(primaryKey),
  });
}

/** @returns where the right rows come back, in the tasks of the left table. */
function respond<K, VL, FK, VR, R>(
  { topology }: DslScope,
  name: string,
  right: TablePosition<FK, VR>,
  join: ForeignKeyJoin<K, VL, FK, VR, R>,
  subscribed: NodeHandle<FK | null, Subscription<K>>,
  value: Serde<ForeignRow<VR>>,
  key: Serde<K>,
): NodeHandle<K, ForeignRow<VR>> {
  const { store } = join.subscriptions;
  const answers = topology.processor<FK | null, Subscription<K>, K, ForeignRow<VR>>(subscribed, {
    name: `${name}-answer`,
    stores: [store, ...join.right.stores],
    create: answerOperator(join),
  });
  const tells = topology.processor<FK, Change<VR>, K, ForeignRow<VR>>(right.node, {
    name: `${name}-tell`,
    stores: [store],
    create: tellOperator(join),
  });
  return topology.repartition<K, ForeignRow<VR>>([answers, tells], {
    name: `${name}-responses`,
    key,
    value,
    partition: (record) => record.value.partition,
  });
}

/** What lacks a serde fails `build()`, so that no record ever meets the one in its place. */
function serdesOf<K, VL, FK, VR>(scope: DslScope, name: string, left: TablePosition<K, VL>, right: TablePosition<FK, VR>) {
  const reason = 'the tables talk through topics';
  for (const which of ['key', 'value'] as const)
    if (left[which] === undefined || right[which] === undefined) scope.reportMissingSerde(name, which, reason);
  const serde = <T>(of: Position<unknown, unknown>['key']): Serde<T> => withoutNull(of ?? bytes()) as Serde<T>;
  return {
    key: { left: serde<K>(left.key), right: serde<FK>(right.key) },
    value: { left: serde<VL>(left.value), right: serde<VR>(right.value) },
  };
}
