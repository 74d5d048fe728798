/**
 * Grammar: `boolean = %x00 / %x01`, false and true; the layout of Kafka's `BooleanSerializer`.
 */
import { corruptBytes, corruptLength, refusedValue } from './refusal.js';
import type { Serde } from './serde.js';

const serde: Serde<boolean> = Object.freeze({
  name: 'boolean',
  serialize(value: boolean) {
    if (typeof value !== 'boolean') throw refusedValue('boolean', value, 'true or false is needed');
    return Buffer.of(value ? 1 : 0);
  },
  deserialize(bytes: Uint8Array) {
    if (bytes.length !== 1) throw corruptLength('boolean', '1 byte', bytes);
    if (bytes[0] !== 0 && bytes[0] !== 1) throw corruptBytes('boolean', `the byte is ${bytes[0]}, neither 0 nor 1`);
    return bytes[0] === 1;
  },
});

export function boolean(): Serde<boolean> {
  return serde;
}
