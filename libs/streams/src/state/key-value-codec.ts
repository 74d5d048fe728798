/**
 * Keys and values of a key-value store as bytes; they are the same in the database and in the changelog. Integers are big-endian.
 *
 *   physicalKey  := 0x01 serializedKey
 *   storedValue  := schemaVersion:u8 timestampMs:i64 serializedValue
 *   bareValue    := schemaVersion:u8 serializedValue
 *
 * Stores of other kinds have physical keys of their own, and bare values where their keys say the time. The schema version is the one that the store's definition had when the value was written.
 */
import { CorruptDataError, InvalidConfigurationError, RecordRefusedError, TallyError, errorOf } from '../core/errors.js';
import type { Serde } from '../serde/serde.js';
import { string } from '../serde/string.js';
import { concatBytes } from '../core/bytes.js';
import { readInt64, writeInt64 } from './int64.js';
import type { DirtyEntry } from './key-versions.js';
import { dataKind } from './layout.js';
import { dataMapKeyOfText, mapKeyOf } from './map-key.js';

const valueHeaderBytes = 9;
const bareHeaderBytes = 1;

/** What the codec has to know of a store of any kind. */
export interface CodecDefinition<K, V> {
  readonly name: string;
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  readonly version: number;
  readonly migrate?: (stored: Uint8Array, version: number) => V;
}

export interface TimestampedValue<V> {
  readonly value: V;
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
}

export interface KeyValueCodec<K, V> {
  /** `encodeKey` as a map key: in this form the layers look it up. Throws as `encodeKey`. */
  mapKey(key: K): string;
  /**
   * The physical key: a new array on each call.
   * @throws RecordRefusedError `STORE_KEY_NULL` when the key is null or serializes to null, `STORE_KEY_REFUSED` when its serde throws.
   */
  encodeKey(key: K): Uint8Array;
  decodeKey(physicalKey: Uint8Array): K;
  /** The key alone, without its kind. Throws as `encodeKey`. */
  serializeKey(key: K): Uint8Array;
  deserializeKey(serialized: Uint8Array): K;
  /**
   * The stored value; null when the value serializes to null, which deletes the entry as a tombstone does.
   * @throws RecordRefusedError `STORE_VALUE_REFUSED`, `STORE_TIMESTAMP_INVALID`.
   */
  encodeValue(value: V, timestampMs: number): Uint8Array | null;
  /**
   * The value and its timestamp.
   * @throws CorruptDataError `STORE_VALUE_CORRUPT`; InvalidConfigurationError `STORE_VERSION_NEWER`, `STORE_MIGRATION_MISSING`.
   */
  decodeValue(stored: Uint8Array): TimestampedValue<V>;
  /** The value alone, without the allocation of a pair. Throws as `decodeValue`. */
  readValue(stored: Uint8Array): V;
  /** The timestamp alone. */
  readTimestampMs(stored: Uint8Array): number;
  /** As `encodeValue`, without a timestamp; the value is behind `before` bytes that the caller fills. */
  encodeBareValue(value: V, before?: number): Uint8Array | null;
  readBareValue(stored: Uint8Array): V;
}

export function keyValueCodec<K, V>(definition: CodecDefinition<K, V>): KeyValueCodec<K, V> {
  const { version } = definition;
  if (!Number.isInteger(version) || version < 0 || version > 255) {
    throw new InvalidConfigurationError(
      'STORE_VERSION_INVALID',
      `Store ${definition.name} has version ${version}: use an integer from 0 to 255.`,
      {
        store: definition.name,
      },
    );
  }
  return new DefinitionCodec(definition);
}

/** An entry made of a topic's record as it is: without a schema version of its own. A null value deletes. */
export function entryOfRecord(key: Uint8Array, value: Uint8Array | null, timestampMs: number): DirtyEntry {
  const physical = concatBytes(Uint8Array.of(dataKind), key);
  if (value === null) return { key: physical, value: null };
  const stored = Buffer.allocUnsafe(valueHeaderBytes + value.length);
  stored[0] = 0;
  writeInt64(stored, 1, timestampMs);
  stored.set(value, valueHeaderBytes);
  return { key: physical, value: stored };
}

class DefinitionCodec<K, V> implements KeyValueCodec<K, V> {
  readonly #definition: CodecDefinition<K, V>;
  readonly #version: number;
  readonly #hasTextKeys: boolean;
  #lastKey: K | undefined;
  #lastMapKey: string | undefined;

  constructor(definition: CodecDefinition<K, V>) {
    this.#definition = definition;
    this.#version = definition.version;
    this.#hasTextKeys = definition.key.serialize === string().serialize;
  }

  mapKey(key: K): string {
    // Most keys are read and then written. Objects are the caller's: the same one may hold something else by now.
    if (this.#lastMapKey !== undefined && Object.is(key, this.#lastKey) && typeof key !== 'object') return this.#lastMapKey;
    const mapKey = this.#hasTextKeys && typeof key === 'string' && isAscii(key) ? dataMapKeyOfText(key) : mapKeyOf(this.encodeKey(key));
    this.#lastKey = key;
    this.#lastMapKey = mapKey;
    return mapKey;
  }

  encodeKey(key: K): Uint8Array {
    const serialized = this.serializeKey(key);
    const physical = Buffer.allocUnsafe(serialized.length + 1);
    physical[0] = dataKind;
    physical.set(serialized, 1);
    return physical;
  }

  decodeKey(physicalKey: Uint8Array): K {
    if (physicalKey[0] !== dataKind)
      throw this.#corrupt('STORE_KEY_CORRUPT', `a key of kind ${physicalKey[0]} is no key of the application`);
    return this.deserializeKey(physicalKey.subarray(1));
  }

  serializeKey(key: K): Uint8Array {
    // A nullish key is refused here, whatever its serde would make of it: no changelog can hold it.
    const serialized = key === null || key === undefined ? null : this.#serializeKey(key);
    if (serialized !== null) return serialized;
    throw this.#refused('STORE_KEY_NULL', 'A null key cannot be stored. Filter such records out, or give them a key with selectKey().');
  }

  deserializeKey(serialized: Uint8Array): K {
    try {
      return ownedByCaller(this.#definition.key.deserialize(serialized), serialized);
    } catch (thrown) {
      throw this.#corrupt(
        'STORE_KEY_CORRUPT',
        `a key does not decode with serde ${this.#definition.key.name}: ${errorOf(thrown).message}`,
        thrown,
      );
    }
  }

  encodeValue(value: V, timestampMs: number): Uint8Array | null {
    const { fixed } = this.#definition.value;
    const serialized = fixed === undefined ? this.#serializeValue(value) : undefined;
    if (serialized === null) return null;
    if (!Number.isSafeInteger(timestampMs)) {
      throw this.#refused('STORE_TIMESTAMP_INVALID', `${timestampMs} is no timestamp: use whole milliseconds since the epoch.`);
    }
    const stored = Buffer.allocUnsafe(valueHeaderBytes + (serialized === undefined ? fixed!.byteLength : serialized.length));
    stored[0] = this.#version;
    writeInt64(stored, 1, timestampMs);
    if (serialized === undefined) this.#writeFixed(value, stored);
    else stored.set(serialized, valueHeaderBytes);
    return stored;
  }

  decodeValue(stored: Uint8Array): TimestampedValue<V> {
    return { value: this.readValue(stored), timestampMs: this.readTimestampMs(stored) };
  }

  readValue(stored: Uint8Array): V {
    const { fixed } = this.#definition.value;
    if (fixed !== undefined && stored[0] === this.#version && stored.length === valueHeaderBytes + fixed.byteLength)
      return fixed.read(stored, valueHeaderBytes);
    return this.#read(stored, valueHeaderBytes);
  }

  encodeBareValue(value: V, before = 0): Uint8Array | null {
    const serialized = this.#serializeValue(value);
    if (serialized === null) return null;
    const stored = Buffer.allocUnsafe(before + bareHeaderBytes + serialized.length);
    stored[before] = this.#version;
    stored.set(serialized, before + bareHeaderBytes);
    return stored;
  }

  readBareValue(stored: Uint8Array): V {
    return this.#read(stored, bareHeaderBytes);
  }

  #read(stored: Uint8Array, headerBytes: number): V {
    this.#checkLength(stored, headerBytes);
    const payload = stored.subarray(headerBytes);
    if (stored[0] !== this.#version) return this.#migrate(payload, stored[0]!);
    try {
      return ownedByCaller(this.#definition.value.deserialize(payload), stored);
    } catch (thrown) {
      const detail = `a value does not decode with serde ${this.#definition.value.name}: ${errorOf(thrown).message}`;
      throw this.#corrupt('STORE_VALUE_CORRUPT', detail, thrown);
    }
  }

  readTimestampMs(stored: Uint8Array): number {
    this.#checkLength(stored, valueHeaderBytes);
    return readInt64(stored, 1);
  }

  #checkLength(stored: Uint8Array, headerBytes: number): void {
    if (stored.length < headerBytes) {
      throw this.#corrupt('STORE_VALUE_CORRUPT', `a value has ${stored.length} bytes, fewer than its header`);
    }
  }

  #serializeKey(key: K): Uint8Array | null {
    try {
      return bytesOrNull(this.#definition.key.serialize(key));
    } catch (thrown) {
      throw this.#serdeRefused('STORE_KEY_REFUSED', 'key', this.#definition.key.name, thrown);
    }
  }

  #writeFixed(value: V, stored: Uint8Array): void {
    try {
      this.#definition.value.fixed?.write(value, stored, valueHeaderBytes);
    } catch (thrown) {
      throw this.#serdeRefused('STORE_VALUE_REFUSED', 'value', this.#definition.value.name, thrown);
    }
  }

  #serializeValue(value: V): Uint8Array | null {
    try {
      return bytesOrNull(this.#definition.value.serialize(value));
    } catch (thrown) {
      throw this.#serdeRefused('STORE_VALUE_REFUSED', 'value', this.#definition.value.name, thrown);
    }
  }

  #migrate(payload: Uint8Array, storedVersion: number): V {
    const { name, migrate } = this.#definition;
    if (storedVersion > this.#version) {
      const message = `Store ${name} holds values of schema version ${storedVersion}, written by a newer application; this one declares version ${this.#version}. Deploy the newer application again, or raise the version and teach migrate() to read them.`;
      throw new InvalidConfigurationError('STORE_VERSION_NEWER', message, { store: name });
    }
    if (migrate === undefined) {
      const message = `Store ${name} holds values of schema version ${storedVersion}; the definition declares version ${this.#version} without migrate(). Add migrate(stored, version) to the definition.`;
      throw new InvalidConfigurationError('STORE_MIGRATION_MISSING', message, { store: name });
    }
    try {
      return ownedByCaller(migrate(payload, storedVersion), payload);
    } catch (thrown) {
      throw this.#corrupt(
        'STORE_VALUE_CORRUPT',
        `migrate() cannot read a value of version ${storedVersion}: ${errorOf(thrown).message}`,
        thrown,
      );
    }
  }

  #serdeRefused(code: string, what: string, serde: string, thrown: unknown): TallyError {
    if (thrown instanceof TallyError && thrown.kind === 'recordRefused') return thrown;
    return this.#refused(code, `The ${what} cannot be serialized with serde ${serde}: ${errorOf(thrown).message}`, thrown);
  }

  #refused(code: string, message: string, cause?: unknown): TallyError {
    const { name } = this.#definition;
    return new RecordRefusedError(code, `Store ${name}: ${message}`, { store: name }, cause);
  }

  #corrupt(code: string, detail: string, cause?: unknown): TallyError {
    const { name } = this.#definition;
    return new CorruptDataError(
      code,
      `Store ${name}: ${detail}. Did its serde or the meaning of its version change?`,
      { store: name },
      cause,
    );
  }
}

/** A serde that was written without types may return anything: its length is not to be taken at its word. */
function bytesOrNull(serialized: Uint8Array | null): Uint8Array | null {
  if (serialized === null || serialized instanceof Uint8Array) return serialized;
  throw new TypeError(
    `serialize() returned ${typeof serialized === 'object' ? 'an object' : `a ${typeof serialized}`}; it must return a Uint8Array or null`,
  );
}

/** Its UTF-8 form has a byte for each character, the same. */
function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7f) return false;
  return true;
}

/** A serde may hand out the very bytes that it was given (bytes() does): the caller may modify what it gets, the store's bytes must stay. */
function ownedByCaller<T>(decoded: T, stored: Uint8Array): T {
  if (decoded instanceof Uint8Array && decoded.buffer === stored.buffer) return Buffer.from(decoded) as Uint8Array as T;
  return decoded;
}
