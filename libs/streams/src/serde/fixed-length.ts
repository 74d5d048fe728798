/** Serdes whose values all have the same number of bytes. */
import { corruptLength } from './refusal.js';
import type { FixedForm, Serde } from './serde.js';

export function fixedLengthSerde<T>(name: string, fixed: FixedForm<T>, options: Pick<Serde<T>, 'isExact'> = {}): Serde<T> {
  const { byteLength } = fixed;
  return Object.freeze({
    name,
    ...options,
    fixed,
    serialize(value: T) {
      const bytes = Buffer.allocUnsafe(byteLength);
      fixed.write(value, bytes, 0);
      return bytes;
    },
    deserialize(bytes: Uint8Array) {
      if (bytes.length !== byteLength) throw corruptLength(name, `${byteLength} bytes`, bytes);
      return fixed.read(bytes, 0);
    },
  });
}
