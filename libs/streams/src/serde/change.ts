/**
 * A table's change on its way through a repartition topic; old and new row in one record. Integers are big-endian.
 *
 *   change := flags:u8 [oldLength:u32 old] [new]
 *   flags  := bit 0: the old row follows, bit 1: the new row follows
 */
import { CorruptDataError } from '../core/errors.js';
import type { Change } from '../core/record.js';
import type { Serde } from './serde.js';

const hasOld = 1;
const hasNew = 2;
const lengthBytes = 4;

/** Changes that came out of order never get as far, so that what is read is always the latest. */
export function changeSerde<V>(value: Serde<V>): Serde<Change<V>> {
  const rowBytes = (row: V | null): Uint8Array | null => (row === null ? null : value.serialize(row));
  return Object.freeze({
    name: `change(${value.name})`,
    ...(value.schema === undefined ? {} : { schema: value.schema }),
    serialize({ oldValue, newValue }: Change<V>): Uint8Array {
      const old = rowBytes(oldValue);
      const next = rowBytes(newValue);
      const oldBytes = old === null ? 0 : lengthBytes + old.byteLength;
      const bytes = Buffer.allocUnsafe(1 + oldBytes + (next?.byteLength ?? 0));
      bytes[0] = (old === null ? 0 : hasOld) | (next === null ? 0 : hasNew);
      if (old !== null) {
        bytes.writeUInt32BE(old.byteLength, 1);
        bytes.set(old, 1 + lengthBytes);
      }
      if (next !== null) bytes.set(next, 1 + oldBytes);
      return bytes;
    },
    deserialize(bytes: Uint8Array): Change<V> {
      const flags = bytes[0];
      if (flags === undefined || flags > (hasOld | hasNew)) throw corrupt(bytes);
      let at = 1;
      let oldValue: V | null = null;
      if ((flags & hasOld) !== 0) {
        if (bytes.byteLength < at + lengthBytes) throw corrupt(bytes);
        const from = at + lengthBytes;
        at = from + new DataView(bytes.buffer, bytes.byteOffset).getUint32(at);
        if (bytes.byteLength < at) throw corrupt(bytes);
        oldValue = value.deserialize(bytes.subarray(from, at));
      }
      if ((flags & hasNew) === 0 && at < bytes.byteLength) throw corrupt(bytes);
      const newValue = (flags & hasNew) === 0 ? null : value.deserialize(bytes.subarray(at));
      return { oldValue, newValue, isLatest: true };
    },
  });
}

function corrupt(bytes: Uint8Array): CorruptDataError {
  return new CorruptDataError(
    'DESERIALIZATION_FAILED',
    `These ${bytes.byteLength} bytes are no table's change: only Tally writes the topic, so another application did.`,
  );
}
