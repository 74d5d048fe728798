/**
 * Grammar: `bytes = *OCTET`, as they are; empty is not null. The layout of Kafka's `ByteArraySerializer`.
 */
import { refusedValue } from './refusal.js';
import type { Serde } from './serde.js';

const serde: Serde<Uint8Array> = Object.freeze({
  name: 'bytes',
  serialize(value: Uint8Array) {
    if (!(value instanceof Uint8Array)) throw refusedValue('bytes', value, 'a Uint8Array is needed');
    return value;
  },
  deserialize: (value: Uint8Array) => value,
});

/** Bytes as they are. They are not copied: whoever hands them over must not change them afterwards. */
export function bytes(): Serde<Uint8Array> {
  return serde;
}
