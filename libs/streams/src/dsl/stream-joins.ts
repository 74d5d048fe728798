/** Puts joins of streams, with streams and with tables, into the topology. */
import { InvalidConfigurationError } from '../core/errors.js';
import {
  gracefulStreamTableJoinOperator,
  JoinBuffer,
  type JoinKind,
  type JoinSide,
  type JoinWindow,
  sideOperator,
  streamJoinOperator,
  type StreamJoiner,
  type StreamTableJoin,
  type StreamTableJoiner,
  streamTableJoinOperator,
} from '../operators/index.js';
import { bytes } from '../serde/bytes.js';
import { withoutNull } from '../serde/nullable.js';
import type { AnySerde, Serde } from '../serde/serde.js';
import { checkInteger } from '../topology/names.js';
import { windowStore } from '../topology/window-store.js';
import type { StreamJoinOptions, StreamTableJoinOptions } from './options.js';
import { repartition, repartitionAll } from './repartition.js';
import type { Position, TablePosition } from './scope.js';

const operators: Readonly<Record<JoinKind, string>> = { inner: 'join', left: 'leftJoin', outer: 'outerJoin' };

export function joinStreams<K, VL, VR, R>(
  left: Position<K | null, VL | null>,
  right: Position<K | null, VR | null>,
  kind: JoinKind,
  joiner: (left: VL | null, right: VR | null, key: K | null) => R,
  options: StreamJoinOptions<R>,
): Position<K | null, R> {
  const { scope, lineage } = left;
  const { topology } = scope;
  const name = scope.name(options.name, lineage, operators[kind]);
  checkWindow(name, options);
  const known = { left: { ...left, key: left.key ?? right.key }, right: { ...right, key: right.key ?? left.key } };
  const one = meetingPlace(known.left, `${name}-left`, kind);
  const other = right.node === left.node ? one : meetingPlace(known.right, `${name}-right`, kind);
  topology.copartition(one.node, other.node);
  const join = { ...streamJoin<K, VL | VR>(name, one, other, kind, options), joiner: joiner as StreamJoiner<K, VL | VR, R> };
  const stores = [join.stores.left, join.stores.right, ...(join.buffer === undefined ? [] : [join.buffer.store])];
  const sideNode = (side: JoinSide, { node }: Position<K | null, VL | VR | null>) =>
    topology.processor(node, { name: `${name}-${side}`, create: sideOperator<K | null, VL | VR | null>(side) });
  const sides = [sideNode('left', one), sideNode('right', other)] as const;
  const node = topology.processor(sides, { name, stores, create: streamJoinOperator(join) });
  return { scope, node, lineage: options.name ?? lineage, key: keyOf(known.left, kind), value: options.value, rekeyed: false };
}

export function joinStreamWithTable<K, V, VT, R>(
  left: Position<K | null, V | null>,
  right: TablePosition<K, VT>,
  kind: 'inner' | 'left',
  joiner: StreamTableJoiner<K, V, VT, R>,
  options: StreamTableJoinOptions<R>,
): Position<K | null, R> {
  const { scope, lineage } = left;
  const { graceMs } = options;
  const name = scope.name(options.name, lineage, operators[kind]);
  const known = { ...left, key: left.key ?? right.key };
  const stream = meetingPlace(known, `${name}-left`, kind);
  scope.topology.copartition(stream.node, right.node);
  const table = right.table.view();
  const join = { kind, table, joiner };
  const settings =
    graceMs === undefined
      ? { name, stores: table.stores, create: streamTableJoinOperator(join) }
      : gracefulJoin(name, stream, join, graceMs);
  const node = scope.topology.processor(stream.node, settings);
  return { scope, node, lineage: options.name ?? lineage, key: keyOf(known, kind), value: options.value, rekeyed: false };
}

/**
 * Where the records of one key are together: where they are, or, after their key was replaced, where they come back from a repartition topic. Left and outer
 * joins forward those without a key too.
 */
function meetingPlace<K, V>(at: Position<K | null, V>, name: string, kind: JoinKind): Position<K | null, V> {
  if (!at.rekeyed) return at;
  const settings = { name, key: at.key, value: at.value };
  return { ...at, node: kind === 'inner' ? repartition(at, settings) : repartitionAll(at, settings), rekeyed: false };
}

/** Inner joins drop records without a key. */
function keyOf({ key }: Pick<Position<unknown, unknown>, 'key'>, kind: JoinKind): AnySerde | undefined {
  return key === undefined || kind !== 'inner' ? key : withoutNull(key);
}

function streamJoin<K, V>(
  name: string,
  left: Position<K | null, V | null>,
  right: Position<K | null, V | null>,
  kind: JoinKind,
  { beforeMs, afterMs, graceMs }: JoinWindow,
) {
  const windowSizeMs = Math.max(1, beforeMs + afterMs);
  const retentionMs = Math.max(1, beforeMs + afterMs + graceMs);
  const key = storeSerde<K>(left, name, 'key');
  const store = (side: JoinSide, at: Position<K | null, V | null>) =>
    windowStore(`${name}-${side}`, { key, value: storeSerde<V>(at, name, 'value'), windowSizeMs, retentionMs, retainDuplicates: true });
  const stores = { left: store('left', left), right: store('right', right) };
  const buffer = kind === 'inner' ? undefined : new JoinBuffer(`${name}-unmatched`, key, stores.left.value, stores.right.value);
  return { kind, beforeMs, afterMs, graceMs, stores, buffer };
}

function gracefulJoin<K, V, VT, R>(
  name: string,
  stream: Position<K | null, V | null>,
  join: StreamTableJoin<K, V, VT, R>,
  graceMs: number,
) {
  checkInteger(`join "${name}"`, 'graceMs', graceMs, 0, Number.MAX_SAFE_INTEGER);
  if (join.table.getAsOf === undefined) {
    const message =
      `Operator "${name}" cannot join with a grace period, because its table keeps no earlier rows. Give the table a versioned store ` +
      `(versionedStore(...)), or leave graceMs out.`;
    stream.scope.topology.reportProblem(new InvalidConfigurationError('TOPOLOGY_NOT_VERSIONED', message, { node: name }));
  }
  const buffer = new JoinBuffer<K, V>(`${name}-buffer`, storeSerde(stream, name, 'key'), storeSerde(stream, name, 'value'));
  return { name, stores: [buffer.store, ...join.table.stores], create: gracefulStreamTableJoinOperator(join, buffer, graceMs) };
}

/** What lacks a serde fails `build()`, so that no record ever meets the one in its place. */
function storeSerde<T>(at: Position<unknown, unknown>, operator: string, which: 'key' | 'value'): Serde<T> {
  const serde = at[which];
  if (serde === undefined) at.scope.reportMissingSerde(operator, which, 'it keeps records in a store');
  return withoutNull(serde ?? bytes()) as Serde<T>;
}

function checkWindow(name: string, { beforeMs, afterMs, graceMs }: JoinWindow): void {
  const owner = `join "${name}"`;
  checkInteger(owner, 'beforeMs', beforeMs, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  checkInteger(owner, 'afterMs', afterMs, -beforeMs, Number.MAX_SAFE_INTEGER);
  checkInteger(owner, 'graceMs', graceMs, 0, Number.MAX_SAFE_INTEGER);
}
