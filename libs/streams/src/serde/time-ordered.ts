/**
 * Grammar: `time key`, with the time as a big-endian i64 whose sign bit is inverted: serialized keys sort by time, those of one time by the
 * bytes of the key.
 */
import { readTime, sortableTime, timeBytes } from '../core/sortable.js';
import { corruptLength, refusedValue } from './refusal.js';
import type { Serde } from './serde.js';

/** A key at a time. */
export interface TimeOrdered<K> {
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  readonly key: K;
}

/**
 * Keys that sort by time first, for sorted stores.
 * @param key its null is refused: use a serde that is not `nullable()`
 */
export function timeOrdered<K>(key: Serde<K>): Serde<TimeOrdered<K>> {
  const name = `timeOrdered(${key.name})`;
  return Object.freeze({
    name,
    ...(key.schema === undefined ? {} : { schema: key.schema }),
    serialize(value: TimeOrdered<K>) {
      if (!Number.isSafeInteger(value.timeMs)) throw refusedValue(name, value.timeMs, 'whole milliseconds are needed');
      const keyBytes = key.serialize(value.key);
      if (keyBytes === null) throw refusedValue(name, value.key, 'a key is needed');
      const bytes = sortableTime(value.timeMs, keyBytes.length);
      bytes.set(keyBytes, timeBytes);
      return bytes;
    },
    deserialize(bytes: Uint8Array) {
      if (bytes.length < timeBytes) throw corruptLength(name, 'a time of 8 bytes and a key', bytes);
      return { timeMs: readTime(bytes, 0), key: key.deserialize(bytes.subarray(timeBytes)) };
    },
  });
}
