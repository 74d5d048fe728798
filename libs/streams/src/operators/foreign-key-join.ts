/**
 * Joins each row of the left table with the row of the right table to which it refers by a foreign key. The rows are in different tasks, so both
 * sides talk through topics:
 *
 *   left change -> subscribe -> (subscriptions) -> answer ----------> (responses) -> resolve -> result
 *                                        right change -> tell ------^
 *
 * 1. `subscribe` says for each left row which right row it refers to now, with the hash of the left row, and which no more.
 * 2. `answer` keeps the subscription and answers with the right row; `tell` tells all subscribers of a changed right row.
 * 3. `resolve` joins the right row with the left one, unless that has changed since: then the answer is stale, and another one is under way.
 */
import { createHash } from 'node:crypto';
import { equalBytes } from '../core/bytes.js';
import type { Change, StreamRecord } from '../core/record.js';
import { type ForeignRow, rowHashBytes, type Subscription } from '../serde/foreign-key.js';
import { isSameKey } from '../serde/same-key.js';
import type { Serde } from '../serde/serde.js';
import type { ProcessorContext } from '../topology/processor.js';
import { type ProcessorFactory, stateless } from './stateless.js';
import type { SubscriptionStore } from './subscription-store.js';
import type { TableView } from './table.js';

/** The right row is null where there is none, in left joins; a null result is no row. */
export type ForeignKeyJoiner<K, VL, VR, R> = (left: VL, right: VR | null, key: K) => R | null;

export interface ForeignKeyJoin<K, VL, FK, VR, R> {
  readonly kind: 'inner' | 'left';
  /** Null where the row refers to none. */
  readonly foreignKeyOf: (left: VL, key: K) => FK | null;
  readonly joiner: ForeignKeyJoiner<K, VL, VR, R>;
  readonly foreignKey: Serde<FK>;
  readonly leftValue: Serde<VL>;
  readonly left: TableView<K, VL>;
  readonly right: TableView<FK, VR>;
  readonly subscriptions: SubscriptionStore<K, FK>;
}

/** What a change of a left row means for the right rows to which it refers. */
interface Move<FK> {
  readonly foreignKey: FK | null;
  readonly isKept: boolean;
  readonly isAnswered: boolean;
}

export function subscribeOperator<K, VL, FK, VR, R>(
  join: ForeignKeyJoin<K, VL, FK, VR, R>,
): ProcessorFactory<K, Change<VL>, FK | null, Subscription<K>> {
  return stateless((record: StreamRecord<K, Change<VL>>, context: ProcessorContext<FK | null, Subscription<K>>) => {
    const { key, value: change, timestampMs, headers } = record;
    if (!change.isLatest) {
      context.drop('outOfOrder');
      return;
    }
    if (change.oldValue === null && change.newValue === null) return;
    const before = change.oldValue === null ? null : join.foreignKeyOf(change.oldValue, key);
    const now = change.newValue === null ? null : join.foreignKeyOf(change.newValue, key);
    if (join.kind === 'inner' && change.newValue !== null && now === null) context.drop('nullKey');
    const isSame = before !== null && now !== null && isSameKey(join.foreignKey, before, now);
    const moves = join.kind === 'left' ? leftMoves(before, now, isSame) : innerMoves(before, now, isSame);
    if (moves.length === 0) return;
    const rowHash = change.newValue === null ? null : hashOf(join.leftValue, change.newValue);
    const { partition } = context.record;
    for (const { foreignKey, isKept, isAnswered } of moves)
      context.forward({ key: foreignKey, value: { primaryKey: key, rowHash, partition, isKept, isAnswered }, timestampMs, headers });
  });
}

/** Each change is answered, so that a result follows in any case. */
function leftMoves<FK>(before: FK | null, now: FK | null, isSame: boolean): readonly Move<FK>[] {
  const subscribed = { foreignKey: now, isKept: true, isAnswered: true };
  return before === null || isSame ? [subscribed] : [{ foreignKey: before, isKept: false, isAnswered: false }, subscribed];
}

/** A row that refers to another one than before is answered in any case, so that its result of before goes; a row that refers to none any more, from there. */
function innerMoves<FK>(before: FK | null, now: FK | null, isSame: boolean): readonly Move<FK>[] {
  if (now === null) return before === null ? [] : [{ foreignKey: before, isKept: false, isAnswered: true }];
  if (before === null || isSame) return [{ foreignKey: now, isKept: true, isAnswered: false }];
  return [
    { foreignKey: before, isKept: false, isAnswered: false },
    { foreignKey: now, isKept: true, isAnswered: true },
  ];
}

export function answerOperator<K, VL, FK, VR, R>({
  right,
  subscriptions,
}: ForeignKeyJoin<K, VL, FK, VR, R>): ProcessorFactory<FK | null, Subscription<K>, K, ForeignRow<VR>> {
  return stateless((record: StreamRecord<FK | null, Subscription<K>>, context: ProcessorContext<K, ForeignRow<VR>>) => {
    const { key: foreignKey, value: subscription, headers } = record;
    const { primaryKey, rowHash, partition, isKept, isAnswered } = subscription;
    if (foreignKey !== null) {
      if (isKept) subscriptions.put(context, foreignKey, subscription);
      else subscriptions.delete(context, foreignKey, primaryKey);
    }
    const found = foreignKey === null ? undefined : right.get(foreignKey, context);
    if (!isAnswered && (!isKept || found === undefined)) return;
    const row = isKept && found !== undefined ? found.value : null;
    const timestampMs = Math.max(record.timestampMs, found?.timestampMs ?? record.timestampMs);
    context.forward({ key: primaryKey, value: { row, rowHash, partition }, timestampMs, headers });
  });
}

export function tellOperator<K, VL, FK, VR, R>({
  subscriptions,
}: ForeignKeyJoin<K, VL, FK, VR, R>): ProcessorFactory<FK, Change<VR>, K, ForeignRow<VR>> {
  return stateless((record: StreamRecord<FK, Change<VR>>, context: ProcessorContext<K, ForeignRow<VR>>) => {
    const { key, value: change, timestampMs, headers } = record;
    if (!change.isLatest) {
      context.drop('outOfOrder');
      return;
    }
    subscriptions.forEach(context, key, ({ primaryKey, rowHash, partition }) => {
      context.forward({ key: primaryKey, value: { row: change.newValue, rowHash, partition }, timestampMs, headers });
    });
  });
}

export function resolveOperator<K, VL, FK, VR, R>({
  kind,
  left,
  leftValue,
  joiner,
}: ForeignKeyJoin<K, VL, FK, VR, R>): ProcessorFactory<K, ForeignRow<VR>, K, R | null> {
  return stateless((record: StreamRecord<K, ForeignRow<VR>>, context: ProcessorContext<K, R | null>) => {
    const { key, value: foreign, timestampMs, headers } = record;
    const current = left.get(key, context);
    if (!isSameHash(foreign.rowHash, current === undefined ? null : hashOf(leftValue, current.value))) {
      context.drop('stale');
      return;
    }
    const joins = current !== undefined && (kind === 'left' || foreign.row !== null);
    context.forward({ key, value: joins ? joiner(current.value, foreign.row, key) : null, timestampMs, headers });
  });
}

/** Two rows of one hash are the same row. */
function hashOf<V>(serde: Serde<V>, row: V): Uint8Array {
  return createHash('sha256')
    .update(serde.serialize(row) ?? new Uint8Array())
    .digest()
    .subarray(0, rowHashBytes);
}

function isSameHash(left: Uint8Array | null, right: Uint8Array | null): boolean {
  return left === null || right === null ? left === right : equalBytes(left, right);
}
