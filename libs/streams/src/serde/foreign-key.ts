/**
 * What the two sides of a foreign-key join tell each other through their topics. Integers are big-endian.
 *
 *   subscription := flags:u8 partition:u32 [hash:16] primaryKey
 *   response     := flags:u8 partition:u32 [hash:16] [row]
 *   flags        := bit 0: the hash follows, bit 1 of a subscription: it is kept, bit 2: it is answered in any case,
 *                   bit 1 of a response: the row follows
 */
import { CorruptDataError } from '../core/errors.js';
import { readWord, writeWord } from '../core/sortable.js';
import { refusedValue } from './refusal.js';
import type { AnySerde, Serde } from './serde.js';

export const rowHashBytes = 16;

/** A row of the left table refers to a row of the right one, or no more. */
export interface Subscription<K> {
  readonly primaryKey: K;
  /** Of the left row as it is now; null where it is gone. An answer to an older one is of no use. */
  readonly rowHash: Uint8Array | null;
  /** Of the left table, to which the answer goes. */
  readonly partition: number;
  /** From now on it is told of each change of the right row; else it ends here. */
  readonly isKept: boolean;
  /** It is answered though there is no right row, or though it ends. */
  readonly isAnswered: boolean;
}

/** What the right side has for a subscription. */
export interface ForeignRow<V> {
  readonly row: V | null;
  /** As in the subscription. */
  readonly rowHash: Uint8Array | null;
  readonly partition: number;
}

const hasHash = 1;
const isKeptFlag = 2;
const isAnsweredFlag = 4;
const hasRow = 2;

const hashAt = 5;

export function subscriptionSerde<K>(primaryKey: Serde<K>): Serde<Subscription<K>> {
  const name = `subscription(${primaryKey.name})`;
  return Object.freeze({
    ...described(name, primaryKey),
    serialize(subscription: Subscription<K>): Uint8Array {
      const { isKept, isAnswered } = subscription;
      const keyBytes = primaryKey.serialize(subscription.primaryKey);
      if (keyBytes === null) throw refusedValue(name, subscription.primaryKey, 'a key is needed');
      return encode((isKept ? isKeptFlag : 0) | (isAnswered ? isAnsweredFlag : 0), subscription, keyBytes);
    },
    deserialize(bytes: Uint8Array): Subscription<K> {
      const { flags, rest, ...common } = decode(bytes, hasHash | isKeptFlag | isAnsweredFlag);
      const isKept = (flags & isKeptFlag) !== 0;
      const isAnswered = (flags & isAnsweredFlag) !== 0;
      return { ...common, isKept, isAnswered, primaryKey: primaryKey.deserialize(rest) };
    },
  });
}

export function foreignRowSerde<V>(row: Serde<V>): Serde<ForeignRow<V>> {
  return Object.freeze({
    ...described(`foreignRow(${row.name})`, row),
    serialize(response: ForeignRow<V>): Uint8Array {
      const rowBytes = response.row === null ? null : row.serialize(response.row);
      return encode(rowBytes === null ? 0 : hasRow, response, rowBytes ?? new Uint8Array());
    },
    deserialize(bytes: Uint8Array): ForeignRow<V> {
      const { flags, rest, ...common } = decode(bytes, hasHash | hasRow);
      if ((flags & hasRow) === 0 && rest.byteLength > 0) throw corrupt(bytes);
      return { ...common, row: (flags & hasRow) === 0 ? null : row.deserialize(rest) };
    },
  });
}

function described(name: string, { schema }: AnySerde): Pick<AnySerde, 'name' | 'schema'> {
  return schema === undefined ? { name } : { name, schema };
}

interface Common {
  readonly rowHash: Uint8Array | null;
  readonly partition: number;
}

function encode(flags: number, { rowHash, partition }: Common, rest: Uint8Array): Uint8Array {
  const hash = rowHash ?? new Uint8Array();
  const bytes = Buffer.allocUnsafe(hashAt + hash.byteLength + rest.byteLength);
  bytes[0] = flags | (rowHash === null ? 0 : hasHash);
  writeWord(bytes, 1, partition);
  bytes.set(hash, hashAt);
  bytes.set(rest, hashAt + hash.byteLength);
  return bytes;
}

function decode(bytes: Uint8Array, flagsMax: number): Common & { readonly flags: number; readonly rest: Uint8Array } {
  const flags = bytes[0];
  if (flags === undefined || flags > flagsMax) throw corrupt(bytes);
  const restAt = hashAt + ((flags & hasHash) === 0 ? 0 : rowHashBytes);
  if (bytes.byteLength < restAt) throw corrupt(bytes);
  const rowHash = restAt === hashAt ? null : bytes.subarray(hashAt, restAt);
  return { flags, rowHash, partition: readWord(bytes, 1), rest: bytes.subarray(restAt) };
}

function corrupt(bytes: Uint8Array): CorruptDataError {
  return new CorruptDataError(
    'DESERIALIZATION_FAILED',
    `These ${bytes.byteLength} bytes are no record of a foreign-key join: only Tally writes the topic, so another application did.`,
  );
}
