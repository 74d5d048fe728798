import { checkInteger } from './names.js';
import type { QueryableStore, QueryHandle } from './queries.js';
import type { SessionStoreDefinition } from './session-store.js';
import type { SortedStoreDefinition } from './sorted-store.js';
import { baseDefinition, ownerOf, type StoreHandle, type StoreOptions, type TypedDefinition } from './store-base.js';
import type { VersionedStoreDefinition } from './versioned-store.js';
import type { WindowStoreDefinition } from './window-store.js';

export type { AnyStoreDefinition, StoreHandle, StoreKind, StoreOptions } from './store-base.js';

/** Handle of a key-value store. */
export type KeyValueStoreDefinition<K, V> = TypedDefinition<'keyValue', K, V, KeyValueStore<K, V>, QueryableStore<K, V>>;

/** Typed handle of a store of any kind. */
export type StoreDefinition<K, V> =
  | KeyValueStoreDefinition<K, V>
  | WindowStoreDefinition<K, V>
  | SessionStoreDefinition<K, V>
  | VersionedStoreDefinition<K, V>
  | SortedStoreDefinition<K, V>;

/** A handle whose types do not matter to the holder: its serdes are called with what nodes of the same chain made. */
export type UntypedStore = StoreDefinition<unknown, unknown>;

export interface KeyValueStoreOptions<K, V> extends StoreOptions<K, V> {
  /**
   * Entries older than this, by their timestamps and behind the largest timestamp that the store has seen, are not seen by any read and are
   * removed little by little, from the changelog too. Default: never.
   */
  readonly ttlMs?: number;
}

/**
 * Declares a key-value store. It keeps the timestamp of each value too.
 * @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION`
 * @example const balances = keyValueStore('balances', { key: string(), value: int64() });
 */
export function keyValueStore<K, V>(name: string, options: KeyValueStoreOptions<K, V>): KeyValueStoreDefinition<K, V> {
  const base = baseDefinition('keyValue', name, options);
  const { ttlMs } = options;
  if (ttlMs !== undefined) checkInteger(ownerOf(name), 'ttlMs', ttlMs, 1, Number.MAX_SAFE_INTEGER);
  return Object.freeze({ ...base, ...(ttlMs === undefined ? {} : { ttlMs }) });
}

/** The same handle for holders that do not care for its types. */
export function untypedStore(definition: StoreHandle<unknown> | QueryHandle<unknown>): UntypedStore {
  return definition as unknown as UntypedStore;
}

export interface ReadOnlyKeyValueStore<K, V> {
  /** The value, or `undefined` when there is none. */
  get(key: K): V | undefined;
  /** Entries with `from <= key <= to`, in the byte order of the serialized keys. For queries and punctuators: about 100 us a call. */
  range(from: K, to: K): AsyncIterable<readonly [K, V]>;
  /** All entries, in the byte order of the serialized keys. */
  all(): AsyncIterable<readonly [K, V]>;
}

export interface KeyValueStore<K, V> extends ReadOnlyKeyValueStore<K, V> {
  put(key: K, value: V): void;
  delete(key: K): void;
  /** The value with the timestamp of the record that wrote it, in milliseconds since the epoch. */
  getWithTimestamp(key: K): { readonly value: V; readonly timestampMs: number } | undefined;
  /** As `put`, with an explicit timestamp instead of the current record's. */
  putWithTimestamp(key: K, value: V, timestampMs: number): void;
}

/** What queries of the handle's store are. */
export type QueriesOf<D> = D extends QueryHandle<infer Q> ? Q : never;

/** What a context opens for the handle: the store of its kind and types. */
export type StoreOf<D> = D extends StoreHandle<infer S> ? S : never;
