/**
 * Grammar: `double = 8OCTET`, IEEE 754 binary64, big-endian; the layout of Kafka's `DoubleSerializer`. NaN is written in its canonical
 * form, for two forms of one key would be two keys; 0 and -0 stay different.
 */
import { corruptLength, refusedValue } from './refusal.js';
import type { Serde } from './serde.js';

const canonicalNaN = Buffer.from([0x7f, 0xf8, 0, 0, 0, 0, 0, 0]);

const serde: Serde<number> = Object.freeze({
  name: 'double',
  serialize(value: number) {
    if (typeof value !== 'number') throw refusedValue('double', value, 'a number is needed');
    const bytes = Buffer.allocUnsafe(8);
    if (Number.isNaN(value)) canonicalNaN.copy(bytes);
    else bytes.writeDoubleBE(value, 0);
    return bytes;
  },
  deserialize(bytes: Uint8Array) {
    if (bytes.length !== 8) throw corruptLength('double', '8 bytes', bytes);
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0);
  },
});

/** A floating-point number. For money use `decimal()` or `int64()`. */
export function double(): Serde<number> {
  return serde;
}
