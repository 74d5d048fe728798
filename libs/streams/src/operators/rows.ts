/** A table's store as operators use it, versioned or not. */
import type { ProcessorContext } from '../topology/processor.js';
import type { AnyStoreDefinition, KeyValueStoreDefinition } from '../topology/store-definition.js';
import type { VersionedStoreDefinition } from '../topology/versioned-store.js';
import type { ReadingContext, Row, TableView } from './table.js';

/** A store that holds the rows of a table. */
export type RowStore<K, V> = KeyValueStoreDefinition<K, V> | VersionedStoreDefinition<K, V>;

/** What became of a row: a versioned store may already hold a later one, or be past the row's time. */
export type PutOutcome = 'latest' | 'outOfOrder' | 'expired';

export function isVersionedStore(store: AnyStoreDefinition): boolean {
  return store.kind === 'versioned';
}

export function getRow<K, V>(context: ReadingContext, store: RowStore<K, V>, key: K): Row<V> | undefined {
  return store.kind === 'versioned' ? context.store(store).get(key) : context.store(store).getWithTimestamp(key);
}

/** Writes a row; null deletes it. One that is too old for a versioned store is dropped, and must not be forwarded. */
export function putRow<K, V>(context: ProcessorContext, store: RowStore<K, V>, key: K, value: V | null, timestampMs: number): PutOutcome {
  if (store.kind === 'versioned') {
    const validToMs = context.store(store).put(key, value, timestampMs);
    if (validToMs === Number.POSITIVE_INFINITY) return 'latest';
    if (validToMs !== undefined) return 'outOfOrder';
    context.drop('expired');
    return 'expired';
  }
  const rows = context.store(store);
  if (value === null) rows.delete(key);
  else rows.putWithTimestamp(key, value, timestampMs);
  return 'latest';
}

/** Reads the rows of a materialized table. */
export function storeView<K, V>(store: RowStore<K, V>): TableView<K, V> {
  const stores = [store];
  const get = (key: K, context: ReadingContext): Row<V> | undefined => getRow(context, store, key);
  if (store.kind !== 'versioned') return { stores, get };
  return { stores, get, getAsOf: (key, timestampMs, context) => context.store(store).getAsOf(key, timestampMs) };
}
