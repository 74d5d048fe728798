/** Window stores: values by key and time, kept for a while. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { Windowed } from '../core/windowed.js';
import type { QueryableWindowStore } from './queries.js';
import { baseDefinition, checkDuration, type StoreOptions, type TypedDefinition } from './store-base.js';

/** Handle of a window store. */
export interface WindowStoreDefinition<K, V> extends TypedDefinition<'window', K, V, WindowStore<K, V>, QueryableWindowStore<K, V>> {
  readonly retentionMs: number;
  readonly windowSizeMs: number;
  readonly retainDuplicates: boolean;
}

export interface WindowStoreOptions<K, V> extends StoreOptions<K, V> {
  /** How far behind the largest window start that the store has seen a window can still be read, in milliseconds. */
  readonly retentionMs: number;
  /** From the start of a window to its end, in milliseconds. Default: `retentionMs`. */
  readonly windowSizeMs?: number;
  /** Keeps all values of one key and time, in the order in which they were put, instead of the last one. Default false. */
  readonly retainDuplicates?: boolean;
}

/**
 * Declares a window store.
 * @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION`
 * @example const visits = windowStore('visits', { key: string(), value: int64(), retentionMs: 3_600_000, windowSizeMs: 60_000 });
 */
export function windowStore<K, V>(name: string, options: WindowStoreOptions<K, V>): WindowStoreDefinition<K, V> {
  const base = baseDefinition('window', name, options);
  const { retentionMs, windowSizeMs = retentionMs, retainDuplicates = false } = options;
  checkDuration(name, 'retentionMs', retentionMs);
  checkDuration(name, 'windowSizeMs', windowSizeMs);
  if (windowSizeMs > retentionMs) {
    throw new InvalidConfigurationError(
      'INVALID_OPTION',
      `The option "retentionMs" of store "${name}" is ${retentionMs} ms, shorter than its windows of ${windowSizeMs} ms: keep them for at least their length and the grace period.`,
      { store: name, option: 'retentionMs' },
    );
  }
  return Object.freeze({ ...base, retentionMs, windowSizeMs, retainDuplicates });
}

export interface WindowEntry<V> {
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly value: V;
  /** Timestamp of the record that wrote the value, in milliseconds since the epoch. */
  readonly timestampMs: number;
}

/**
 * What lies further than the retention behind `observedTimeMs` is not seen by any read, as if it were gone; it is removed little by little.
 */
export interface ReadOnlyWindowStore<K, V> {
  /** Largest window start that was put or deleted; -1 before any. */
  readonly observedTimeMs: number;
  /** The value of the window that starts then; of duplicates the last one. `undefined` when there is none. */
  get(key: K, startMs: number): V | undefined;
  getWithTimestamp(key: K, startMs: number): WindowEntry<V> | undefined;
  /** Windows of the key that start from `fromMs` to `toMs`, both included, by their start; duplicates in the order of their puts. */
  fetch(key: K, fromMs: number, toMs: number): readonly WindowEntry<V>[];
  /** All windows by key, in the byte order of the serialized keys, then by start. For queries and punctuators. */
  all(): AsyncIterable<readonly [Windowed<K>, V]>;
  /** As `all`, those that start from `fromMs` to `toMs`, both included. */
  fetchAll(fromMs: number, toMs: number): AsyncIterable<readonly [Windowed<K>, V]>;
}

export interface WindowStore<K, V> extends ReadOnlyWindowStore<K, V> {
  /**
   * @returns false when the window is too old and nothing was written: its whole segment, half the retention and at least a minute long,
   * has expired. A window that is only just behind the retention counts as written, although no read shows it.
   */
  put(key: K, value: V, startMs: number): boolean;
  /** As `put`, with an explicit timestamp instead of the current record's. */
  putWithTimestamp(key: K, value: V, startMs: number, timestampMs: number): boolean;
  /** Removes the window's value, duplicates all together. @returns false when the window is too old, as `put` */
  delete(key: K, startMs: number): boolean;
}
