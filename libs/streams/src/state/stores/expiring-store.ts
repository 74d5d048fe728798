/**
 * Key-value stores with a time-to-live: values are stored as in those without one (key-value-codec.ts), and each key that has an entry is once in
 * the index of expiry. So a deleted key keeps an entry until it is due:
 *
 *   deleted := 0x00     (shorter than any value)
 */
import { mapKeyOf } from '../map-key.js';
import type { KeyValueStore, KeyValueStoreDefinition } from '../../topology/store-definition.js';
import type { KeyValueCodec, TimestampedValue } from '../key-value-codec.js';
import { expectExpiry, expireDue } from './expiry.js';
import type { ReadableEntries, ScopedEntries } from './store-entries.js';
import { readObservedMs, StoreTime } from './store-time.js';

const deleted = Uint8Array.of(0x00);

/** What all scopes of a task share. */
export class ExpiringStoreShape<K, V> {
  /** When a key is looked at again. */
  readonly nextLookMs: number;

  constructor(
    readonly definition: Pick<KeyValueStoreDefinition<K, V>, 'name'>,
    readonly codec: KeyValueCodec<K, V>,
    readonly ttlMs: number,
  ) {
    this.nextLookMs = Math.ceil(ttlMs / 4);
  }

  /** When a new key is looked at: what was written by now has expired then. */
  get firstLookMs(): number {
    return this.ttlMs + this.nextLookMs;
  }

  isVisible(stored: Uint8Array, observedMs: number): boolean {
    return stored.length > deleted.length && this.codec.readTimestampMs(stored) >= observedMs - this.ttlMs;
  }
}

export class ExpiringStoreReader<K, V> {
  constructor(
    protected readonly shape: ExpiringStoreShape<K, V>,
    private readonly reader: ReadableEntries,
  ) {}

  get(key: K): V | undefined {
    return this.getWithTimestamp(key)?.value;
  }

  getWithTimestamp(key: K): TimestampedValue<V> | undefined {
    const { codec } = this.shape;
    const stored = this.reader.getEntry(codec.mapKey(key));
    if (stored === undefined || !this.isVisible(stored)) return undefined;
    return codec.decodeValue(stored);
  }

  range(from?: K, to?: K): AsyncIterable<readonly [K, V]> {
    const { codec } = this.shape;
    const bounds = [from, to].map((bound) => (bound === undefined ? undefined : codec.encodeKey(bound)));
    return this.visible(this.reader.entriesBetween(bounds[0], bounds[1]));
  }

  all(): AsyncIterable<readonly [K, V]> {
    return this.range();
  }

  private isVisible(stored: Uint8Array): boolean {
    return this.shape.isVisible(stored, readObservedMs(this.reader));
  }

  private async *visible(entries: AsyncIterable<readonly [Uint8Array, Uint8Array]>): AsyncGenerator<readonly [K, V], void> {
    const { codec } = this.shape;
    for await (const [key, stored] of entries) {
      if (this.isVisible(stored)) yield [codec.decodeKey(key), codec.readValue(stored)];
    }
  }
}

export class ScopedExpiringStore<K, V> extends ExpiringStoreReader<K, V> implements KeyValueStore<K, V> {
  constructor(
    shape: ExpiringStoreShape<K, V>,
    private readonly entries: ScopedEntries,
  ) {
    super(shape, entries);
  }

  put(key: K, value: V): void {
    this.putWithTimestamp(key, value, this.entries.timestampMs);
  }

  putWithTimestamp(key: K, value: V, timestampMs: number): void {
    const stored = this.shape.codec.encodeValue(value, timestampMs);
    if (stored === null) this.delete(key);
    else this.write(this.shape.codec.encodeKey(key), stored, timestampMs);
  }

  delete(key: K): void {
    const { entries } = this;
    const mapKey = this.shape.codec.mapKey(key);
    entries.change(() => {
      if (entries.getEntry(mapKey) !== undefined) entries.putEntry(mapKey, deleted);
    });
  }

  private write(physicalKey: Uint8Array, stored: Uint8Array, timestampMs: number): void {
    const { entries, shape } = this;
    entries.change(() => {
      const time = new StoreTime(entries);
      time.observe(timestampMs);
      const mapKey = mapKeyOf(physicalKey);
      const isNew = entries.getEntry(mapKey) === undefined;
      entries.putEntry(mapKey, stored);
      if (isNew) expectExpiry(entries, time, shape.firstLookMs, physicalKey);
      expireDue(entries, time, (key) => this.expire(key, time.observedMs));
      time.save(entries);
    });
  }

  /** @returns how much later the key is due again. */
  private expire(physicalKey: Uint8Array, observedMs: number): number | undefined {
    const { entries, shape } = this;
    const mapKey = mapKeyOf(physicalKey);
    const stored = entries.getEntry(mapKey);
    if (stored === undefined) return undefined;
    if (shape.isVisible(stored, observedMs)) return shape.nextLookMs;
    entries.putEntry(mapKey, null);
    return undefined;
  }
}
