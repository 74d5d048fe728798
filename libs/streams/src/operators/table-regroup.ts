/** Gives the changes of a table new keys and values, on their way to an aggregation by the new key. */
import type { Change, StreamRecord } from '../core/record.js';
import type { ProcessorContext } from '../topology/processor.js';
import { type ProcessorFactory, stateless } from './stateless.js';

/** Null as key or value: the row belongs to no group. */
export type Regroup<K, V, KR, R> = (value: V, key: K) => readonly [key: KR | null, value: R | null];

/**
 * Old and new row travel in one record while they are in one group, so that the group's aggregate changes once; a row that moves is two
 * records, and leaves before it arrives.
 */
export function regroupOperator<K, V, KR, R>(
  regroup: Regroup<K, V, KR, R>,
  isSameKey: (left: KR, right: KR) => boolean,
): ProcessorFactory<K, Change<V>, KR, Change<R>> {
  const member = (value: V | null, key: K): readonly [KR, R] | undefined => {
    if (value === null) return undefined;
    const [groupKey, groupValue] = regroup(value, key);
    return groupKey === null || groupValue === null ? undefined : [groupKey, groupValue];
  };
  return stateless((record: StreamRecord<K, Change<V>>, context: ProcessorContext<KR, Change<R>>) => {
    const { key, value: change, timestampMs, headers } = record;
    // A later row of the key is in its group already.
    if (!change.isLatest) return;
    const joins = member(change.newValue, key);
    const leaves = member(change.oldValue, key);
    const forward = (to: KR, oldValue: R | null, newValue: R | null): void =>
      context.forward({ key: to, value: { oldValue, newValue, isLatest: true }, timestampMs, headers });
    if (joins !== undefined && leaves !== undefined && isSameKey(leaves[0], joins[0])) {
      forward(joins[0], leaves[1], joins[1]);
      return;
    }
    if (leaves !== undefined) forward(leaves[0], leaves[1], null);
    if (joins !== undefined) forward(joins[0], null, joins[1]);
  });
}
