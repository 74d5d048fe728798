/**
 * Layout of a task's database, format 1. All integers are big-endian.
 *
 *   entry          := meta | stored
 *   meta           := 0x00 metaKind ...
 *     format       := 0x00 0x01                   -> u8 format of the database
 *     topology     := 0x00 0x02                   -> UTF-8 text, opaque here
 *     position     := 0x00 0x03 positionName      -> offset:i64 dateMs:i64 topicId:UTF-8
 *   stored         := 0x01 storeName 0x00 physicalKey -> stored value
 *   storeName      := UTF-8 without 0x00
 *   positionName   := storeName | storeName "/" partition      of a store that is made of one changelog partition, or of several
 *   physicalKey    := kind keyBytes
 *   kind           := 0x00 reserved: what Tally itself keeps for the store; keyBytes are a UTF-8 name, the value is opaque here
 *                   | 0x01 data: of a key-value store the serialized key, the value is described in key-value-codec.ts; of other kinds
 *                     see their files in stores/
 *                   | 0x02 index: when which keys have something to expire, see stores/expiry.ts
 *
 * The physical key and the stored value are also key and value of the store's changelog record, byte for byte.
 */
import { CorruptDataError, InvalidConfigurationError } from '../core/errors.js';
import { readInt64, writeInt64 } from './int64.js';

export const databaseFormat = 1;

export const reservedKind = 0x00;
export const dataKind = 0x01;
export const indexKind = 0x02;

const metaPrefix = 0x00;
const storedPrefix = 0x01;
const formatMeta = 0x01;
const topologyMeta = 0x02;
const positionMeta = 0x03;

export const formatKey: Uint8Array = Uint8Array.of(metaPrefix, formatMeta);
export const topologyKey: Uint8Array = Uint8Array.of(metaPrefix, topologyMeta);

/** Everything but the format: empty in a database that holds nothing yet. */
export const contentRange = { gte: Uint8Array.of(metaPrefix, topologyMeta), lt: Uint8Array.of(storedPrefix + 1) };
export const positionRange = { gte: Uint8Array.of(metaPrefix, positionMeta), lt: Uint8Array.of(metaPrefix, positionMeta + 1) };

/** Where a store's changelog was when the database was last written. */
export interface ChangelogPosition {
  /** Offset in the changelog partition up to which the database holds everything. */
  readonly offset: number;
  /** When the offset was read, or when the replay that ended there began; milliseconds since the epoch. */
  readonly dateMs: number;
  /** Id of the changelog topic. */
  readonly topicId: string;
}

export function checkStoreName(name: string): void {
  if (name.length === 0 || name.includes('\u0000')) {
    throw new InvalidConfigurationError(
      'STORE_NAME_INVALID',
      `'${name}' is no name for a store: it must not be empty nor hold a zero byte.`,
      {
        store: name,
      },
    );
  }
}

/** Prefix of all entries of a store. */
export function storePrefix(storeName: string): Buffer {
  return Buffer.from(`\u0001${storeName}\u0000`, 'utf8');
}

/** Range of all entries of a store, the reserved ones included. */
export function storeRange(storeName: string): { readonly gte: Uint8Array; readonly lt: Uint8Array } {
  return { gte: storePrefix(storeName), lt: Buffer.from(`\u0001${storeName}\u0001`, 'utf8') };
}

export function positionKey(storeName: string): Uint8Array {
  return Buffer.from(`\u0000\u0003${storeName}`, 'utf8');
}

export function storeNameOfPositionKey(key: Uint8Array): string {
  return Buffer.from(key).toString('utf8', 2);
}

export function encodePosition(position: ChangelogPosition): Uint8Array {
  const topicId = Buffer.from(position.topicId, 'utf8');
  const bytes = Buffer.alloc(16 + topicId.byteLength);
  writeInt64(bytes, 0, position.offset);
  writeInt64(bytes, 8, position.dateMs);
  bytes.set(topicId, 16);
  return bytes;
}

export function decodePosition(storeName: string, bytes: Uint8Array): ChangelogPosition {
  if (bytes.byteLength < 16) {
    throw new CorruptDataError(
      'STATE_CORRUPT',
      `The changelog position of store ${storeName} holds ${bytes.byteLength} bytes, not 16 or more.`,
      {
        store: storeName,
      },
    );
  }
  return { offset: readInt64(bytes, 0), dateMs: readInt64(bytes, 8), topicId: Buffer.from(bytes).toString('utf8', 16) };
}
