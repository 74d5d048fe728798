/** Sorted stores: the smallest key and ranges of keys, read synchronously. What buffers are made of. */
import type { QueryableSortedStore } from './queries.js';
import { baseDefinition, type StoreOptions, type TypedDefinition } from './store-base.js';

/** Handle of a sorted store. */
export type SortedStoreDefinition<K, V> = TypedDefinition<'sorted', K, V, SortedStore<K, V>, QueryableSortedStore<K, V>>;

/**
 * Declares a store that is sorted by the bytes of its serialized keys, and is read in that order while a record is in hand. `timeOrdered()`
 * makes keys that sort by time. The values lie together by tens: a key-value store is better where nothing needs the order.
 * @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION`
 * @example const due = sortedStore('due', { key: timeOrdered(string()), value: json<Order>() });
 */
export function sortedStore<K, V>(name: string, options: StoreOptions<K, V>): SortedStoreDefinition<K, V> {
  return Object.freeze(baseDefinition('sorted', name, options));
}

export interface ReadOnlySortedStore<K, V> {
  get(key: K): V | undefined;
  /** The entry with the smallest key. */
  first(): readonly [K, V] | undefined;
  /** The entry with the largest key. */
  last(): readonly [K, V] | undefined;
  /** The entry with the largest key that is not greater. */
  floor(key: K): readonly [K, V] | undefined;
  /** Entries with `from <= key <= to`, at most `countMax`. Open where a bound is left out. */
  range(from?: K, to?: K, countMax?: number): readonly (readonly [K, V])[];
  /** All entries. For queries and punctuators. */
  all(): AsyncIterable<readonly [K, V]>;
}

export interface SortedStore<K, V> extends ReadOnlySortedStore<K, V> {
  put(key: K, value: V): void;
  /** @returns whether there was such an entry. */
  delete(key: K): boolean;
}
