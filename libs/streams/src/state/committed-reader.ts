import type { KeyValueCodec, TimestampedValue } from './key-value-codec.js';
import type { LayeredStore } from './layered-store.js';

/** Decoded committed state of one store of one task, for queries. Throws `STATE_CLOSED` once the task is closed. */
export interface CommittedReader<K, V> {
  get(key: K): V | undefined;
  getWithTimestamp(key: K): TimestampedValue<V> | undefined;
  /** Entries with `from <= key <= to` in the byte order of the serialized keys, as they are at the call; all without bounds. */
  range(from?: K, to?: K): AsyncIterable<readonly [K, V]>;
  all(): AsyncIterable<readonly [K, V]>;
}

export function committedReader<K, V>(store: LayeredStore, codec: KeyValueCodec<K, V>): CommittedReader<K, V> {
  const storedValue = (key: K): Uint8Array | undefined => store.getCommitted(codec.mapKey(key));
  return {
    all() {
      return this.range();
    },
    get(key) {
      const stored = storedValue(key);
      return stored === undefined ? undefined : codec.readValue(stored);
    },
    getWithTimestamp(key) {
      const stored = storedValue(key);
      return stored === undefined ? undefined : codec.decodeValue(stored);
    },
    range(from, to) {
      const entries = store.range({
        from: from === undefined ? undefined : codec.encodeKey(from),
        to: to === undefined ? undefined : codec.encodeKey(to),
        view: 'committed',
      });
      return decoded(entries, codec);
    },
  };
}

async function* decoded<K, V>(
  entries: AsyncIterable<readonly [Uint8Array, Uint8Array]>,
  codec: KeyValueCodec<K, V>,
): AsyncGenerator<readonly [K, V], void> {
  for await (const [key, stored] of entries) yield [codec.decodeKey(key), codec.readValue(stored)];
}
