/**
 * Grammar: `int32 = 4OCTET`, big-endian two's complement; the layout of Kafka's `IntegerSerializer`.
 */
import { fixedLengthSerde } from './fixed-length.js';
import { refusedValue } from './refusal.js';
import type { Serde } from './serde.js';

const serde: Serde<number> = fixedLengthSerde(
  'int32',
  {
    byteLength: 4,
    write(value, target, at) {
      if (typeof value !== 'number' || (value | 0) !== value) {
        throw refusedValue('int32', value, 'a whole number from -2^31 to 2^31 - 1 is needed');
      }
      target[at] = value >>> 24;
      target[at + 1] = value >>> 16;
      target[at + 2] = value >>> 8;
      target[at + 3] = value;
    },
    read: (source, at) => (source[at]! << 24) | (source[at + 1]! << 16) | (source[at + 2]! << 8) | source[at + 3]!,
  },
  { isExact: true },
);

/** A 32-bit integer, as number. Negative numbers sort after positive ones. */
export function int32(): Serde<number> {
  return serde;
}
