/**
 * Queries: committed state of this instance's tasks. Every method is asynchronous, for later it may be another instance that answers.
 *
 * Those that ask for a key throw QueryError `STORE_NOT_LOCAL` when another instance owns its partition, `STORE_RESTORING` while that is
 * restored; both are `retriable`. Those that list go through all partitions that this instance owns, one after the other.
 */
import type { Windowed } from '../core/windowed.js';
import type { SessionBounds, SessionEntry } from './session-store.js';
import type { StoreKind } from './store-base.js';
import type { VersionedRecord } from './versioned-store.js';
import type { WindowEntry } from './window-store.js';

export interface Queryable {
  /** Partitions of the store that this instance owns and has restored. */
  partitions(): readonly number[];
}

export interface QueryableStore<K, V> extends Queryable {
  get(key: K): Promise<V | undefined>;
  /** The value with the timestamp of the record that wrote it, in milliseconds since the epoch. */
  getWithTimestamp(key: K): Promise<{ readonly value: V; readonly timestampMs: number } | undefined>;
  all(): AsyncIterable<readonly [K, V]>;
  range(from: K, to: K): AsyncIterable<readonly [K, V]>;
}

/** @see ReadOnlyWindowStore */
export interface QueryableWindowStore<K, V> extends Queryable {
  get(key: K, startMs: number): Promise<V | undefined>;
  fetch(key: K, fromMs: number, toMs: number): Promise<readonly WindowEntry<V>[]>;
  all(): AsyncIterable<readonly [Windowed<K>, V]>;
  fetchAll(fromMs: number, toMs: number): AsyncIterable<readonly [Windowed<K>, V]>;
}

/** @see ReadOnlySessionStore */
export interface QueryableSessionStore<K, V> extends Queryable {
  get(key: K, session: SessionBounds): Promise<V | undefined>;
  fetch(key: K): Promise<readonly SessionEntry<V>[]>;
  findSessions(key: K, earliestEndMs: number, latestStartMs: number): Promise<readonly SessionEntry<V>[]>;
  all(): AsyncIterable<readonly [Windowed<K>, V]>;
}

/** @see ReadOnlyVersionedStore */
export interface QueryableVersionedStore<K, V> extends Queryable {
  get(key: K): Promise<VersionedRecord<V> | undefined>;
  getAsOf(key: K, timestampMs: number): Promise<VersionedRecord<V> | undefined>;
  history(key: K): Promise<readonly VersionedRecord<V>[]>;
  all(): AsyncIterable<readonly [K, VersionedRecord<V>]>;
}

/** Its keys do not tell partitions: the records that wrote them had others. */
export interface QueryableSortedStore<K, V> extends Queryable {
  all(): AsyncIterable<readonly [K, V]>;
}

/** Handle of something that is queried as `Q`. */
export interface QueryHandle<Q> {
  readonly kind: StoreKind;
  readonly name: string;
  /** Never set: it carries the type. */
  readonly answers?: Q;
}

interface QueryMethods {
  /** Their first argument is a key. */
  readonly keyed: readonly string[];
  readonly listing: readonly string[];
}

/** The methods of each kind's queries, for those who make or wrap them; stores have them by the same names. */
export const queryMethods: Readonly<Record<StoreKind, QueryMethods>> = {
  keyValue: { keyed: ['get', 'getWithTimestamp'], listing: ['all', 'range'] },
  window: { keyed: ['get', 'fetch'], listing: ['all', 'fetchAll'] },
  session: { keyed: ['get', 'fetch', 'findSessions'], listing: ['all'] },
  versioned: { keyed: ['get', 'getAsOf', 'history'], listing: ['all'] },
  sorted: { keyed: [], listing: ['all'] },
};

/** Makes queries of the kind out of three functions. */
export function makeQueries<Q>(
  handle: QueryHandle<Q>,
  by: {
    readonly keyed: (method: string, key: unknown, args: readonly unknown[]) => Promise<unknown>;
    readonly listing: (method: string, args: readonly unknown[]) => AsyncIterable<unknown>;
    readonly partitions: () => readonly number[];
  },
): Q {
  const { keyed, listing } = queryMethods[handle.kind];
  const queries: Record<string, unknown> = { partitions: by.partitions };
  for (const method of keyed) queries[method] = (key: unknown, ...args: readonly unknown[]) => by.keyed(method, key, args);
  for (const method of listing) queries[method] = (...args: readonly unknown[]) => by.listing(method, args);
  return queries as Q;
}
