/** How values become an aggregate. */

export interface Fold<K, V, A> {
  /** The aggregate of a key that has none; left out, the first value is the first aggregate, unfolded. */
  readonly initial?: () => A;
  /** The new aggregate, or null to remove it. */
  readonly add: (aggregate: A, value: V, key: K) => A | null;
}

/** A fold whose aggregates can be put together, when the sessions that they belong to become one. */
export interface MergingFold<K, V, A> extends Fold<K, V, A> {
  readonly merge: (left: A, right: A, key: K) => A | null;
}

/** What a new aggregate starts from; it counts as its old row, as in Kafka Streams. Null where the first value is the aggregate. */
export function firstAggregate<A>(fold: Fold<never, never, A>): A | null {
  return fold.initial === undefined ? null : fold.initial();
}

/** The aggregate with one more value. */
export function addTo<K, V, A>(fold: Fold<K, V, A>, aggregate: A | null, value: V, key: K): A | null {
  return aggregate === null && fold.initial === undefined ? (value as unknown as A | null) : fold.add(aggregate as A, value, key);
}

/** Two aggregates as one. */
export function mergeWith<K, V, A>(fold: MergingFold<K, V, A>, left: A | null, right: A, key: K): A | null {
  return left === null && fold.initial === undefined ? right : fold.merge(left as A, right, key);
}

export const countFold: MergingFold<unknown, unknown, bigint> = {
  initial: () => 0n,
  add: (count) => count + 1n,
  merge: (left, right) => left + right,
};
