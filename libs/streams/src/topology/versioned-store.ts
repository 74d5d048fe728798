/** Versioned stores: the value of a key as of any time within a history. */
import type { QueryableVersionedStore } from './queries.js';
import { baseDefinition, checkDuration, type StoreOptions, type TypedDefinition } from './store-base.js';

/** Handle of a versioned key-value store. */
export interface VersionedStoreDefinition<K, V> extends TypedDefinition<
  'versioned',
  K,
  V,
  VersionedStore<K, V>,
  QueryableVersionedStore<K, V>
> {
  readonly historyRetentionMs: number;
}

export interface VersionedStoreOptions<K, V> extends StoreOptions<K, V> {
  /** How far behind the largest timestamp that the store has seen versions can be read and put, in milliseconds. */
  readonly historyRetentionMs: number;
}

/**
 * Declares a versioned key-value store.
 * @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION`
 * @example const prices = versionedStore('prices', { key: string(), value: int64(), historyRetentionMs: 86_400_000 });
 */
export function versionedStore<K, V>(name: string, options: VersionedStoreOptions<K, V>): VersionedStoreDefinition<K, V> {
  const base = baseDefinition('versioned', name, options);
  checkDuration(name, 'historyRetentionMs', options.historyRetentionMs);
  return Object.freeze({ ...base, historyRetentionMs: options.historyRetentionMs });
}

export interface VersionedRecord<V> {
  readonly value: V;
  /** The version is valid from then on, itself included; milliseconds since the epoch. */
  readonly timestampMs: number;
  /** Until then, excluded: the time of the next version or deletion. Infinity for the latest one. */
  readonly validToMs: number;
}

export interface ReadOnlyVersionedStore<K, V> {
  /** Largest timestamp that was put or deleted; -1 before any. */
  readonly observedTimeMs: number;
  /** The latest version; `undefined` when there is none or the latest is a deletion. It never expires. */
  get(key: K): VersionedRecord<V> | undefined;
  /** The version that was valid then. Behind the retention only the latest version is found. */
  getAsOf(key: K, timestampMs: number): VersionedRecord<V> | undefined;
  /** Versions of the key that are still kept, the oldest first; deletions show as gaps. */
  history(key: K): readonly VersionedRecord<V>[];
  /** The latest version of each key, in the byte order of the serialized keys. For queries and punctuators. */
  all(): AsyncIterable<readonly [K, VersionedRecord<V>]>;
}

export interface VersionedStore<K, V> extends ReadOnlyVersionedStore<K, V> {
  /**
   * Adds a version or replaces the one with this timestamp; null is a deletion.
   * @returns until when it is valid: the time of the next version, Infinity when it is the latest; `undefined` when it was older than the
   * retention and nothing was written.
   */
  put(key: K, value: V | null, timestampMs: number): number | undefined;
  /** Puts a deletion. @returns the version that was valid at that time. `undefined` also when it was too old and nothing was written. */
  delete(key: K, timestampMs: number): VersionedRecord<V> | undefined;
}
