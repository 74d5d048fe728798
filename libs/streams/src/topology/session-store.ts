/** Session stores: values by key and session, kept for a while. */
import type { Windowed } from '../core/windowed.js';
import type { QueryableSessionStore } from './queries.js';
import { baseDefinition, checkDuration, type StoreOptions, type TypedDefinition } from './store-base.js';

/** Handle of a session store. */
export interface SessionStoreDefinition<K, V> extends TypedDefinition<'session', K, V, SessionStore<K, V>, QueryableSessionStore<K, V>> {
  readonly retentionMs: number;
}

export interface SessionStoreOptions<K, V> extends StoreOptions<K, V> {
  /** How far behind the largest session end that the store has seen a session can still be read, in milliseconds. */
  readonly retentionMs: number;
}

/**
 * Declares a session store.
 * @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION`
 * @example const visits = sessionStore('visits', { key: string(), value: int64(), retentionMs: 1_800_000 });
 */
export function sessionStore<K, V>(name: string, options: SessionStoreOptions<K, V>): SessionStoreDefinition<K, V> {
  const base = baseDefinition('session', name, options);
  checkDuration(name, 'retentionMs', options.retentionMs);
  return Object.freeze({ ...base, retentionMs: options.retentionMs });
}

/** Both ends belong to the session; milliseconds since the epoch. */
export interface SessionBounds {
  readonly startMs: number;
  readonly endMs: number;
}

export interface SessionEntry<V> extends SessionBounds {
  readonly value: V;
}

/** What ends further than the retention behind `observedTimeMs` is not seen by any read, as if it were gone; it is removed little by little. */
export interface ReadOnlySessionStore<K, V> {
  /** Largest session end that was put or removed; -1 before any. */
  readonly observedTimeMs: number;
  get(key: K, session: SessionBounds): V | undefined;
  /** All sessions of the key, by end, then by start. */
  fetch(key: K): readonly SessionEntry<V>[];
  /** Sessions of the key that end at `earliestEndMs` or later and start at `latestStartMs` or earlier, by end, then by start. */
  findSessions(key: K, earliestEndMs: number, latestStartMs: number): readonly SessionEntry<V>[];
  /** All sessions by key, in the byte order of the serialized keys, then by end and start. For queries and punctuators. */
  all(): AsyncIterable<readonly [Windowed<K>, V]>;
}

export interface SessionStore<K, V> extends ReadOnlySessionStore<K, V> {
  /**
   * @returns false when the session is too old and nothing was written: the whole segment of its end, half the retention and at least a
   * minute long, has expired. A session that is only just behind the retention counts as written, although no read shows it.
   */
  put(key: K, session: SessionBounds, value: V): boolean;
  /** Whether `put` would write a session with this end. */
  takes(endMs: number): boolean;
  /** @returns false when the session is too old, as `put` */
  remove(key: K, session: SessionBounds): boolean;
}
