/**
 * Grammar: `int64 = 8OCTET`, big-endian two's complement; the layout of Kafka's `LongSerializer`.
 */
import { fixedLengthSerde } from './fixed-length.js';
import { refusedValue } from './refusal.js';
import type { Serde } from './serde.js';

const least = -(2n ** 63n);
const most = 2n ** 63n - 1n;
const twoTo32 = 0x1_0000_0000;

const serde: Serde<bigint> = fixedLengthSerde(
  'int64',
  {
    byteLength: 8,
    write(value, target, at) {
      if (typeof value !== 'bigint' || value < least || value > most) {
        throw refusedValue('int64', value, 'a bigint from -2^63 to 2^63 - 1 is needed');
      }
      const number = Number(value);
      if (Number.isSafeInteger(number)) {
        writeInt32(target, at, Math.floor(number / twoTo32));
        writeInt32(target, at + 4, number | 0);
      } else {
        writeInt32(target, at, Number(value >> 32n));
        writeInt32(target, at + 4, Number(BigInt.asIntN(32, value)));
      }
    },
    read(source, at) {
      const high = (source[at]! << 24) | (source[at + 1]! << 16) | (source[at + 2]! << 8) | source[at + 3]! | 0;
      const low = ((source[at + 4]! << 24) | (source[at + 5]! << 16) | (source[at + 6]! << 8) | source[at + 7]!) >>> 0;
      // Most values are small, and numbers are quicker than bigints.
      if (high >= -0x200000 && high < 0x200000) return BigInt(high * twoTo32 + low);
      return (BigInt(high) << 32n) | BigInt(low);
    },
  },
  { isExact: true },
);

function writeInt32(target: Uint8Array, at: number, value: number): void {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
}

/** A 64-bit integer, as bigint. Negative numbers sort after positive ones. */
export function int64(): Serde<bigint> {
  return serde;
}
