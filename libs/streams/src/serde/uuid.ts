/**
 * Grammar: `uuid = 8HEX "-" 4HEX "-" 4HEX "-" 4HEX "-" 12HEX`, 36 bytes of ASCII, lower case; what Kafka's `UUIDSerializer` writes, not
 * 16 bytes of binary. Upper case is read too, and read as lower case, so that one id is one key.
 */
import { latin1Of } from '../core/bytes.js';
import { corruptBytes, corruptLength, refusedValue } from './refusal.js';
import type { Serde } from './serde.js';

const form = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const serde: Serde<string> = Object.freeze({
  name: 'uuid',
  serialize(value: string) {
    if (typeof value !== 'string' || !form.test(value)) throw refusedValue('uuid', value, 'a UUID in its text form is needed');
    return Buffer.from(value.toLowerCase(), 'latin1');
  },
  deserialize(bytes: Uint8Array) {
    if (bytes.length !== 36) throw corruptLength('uuid', '36 bytes of text', bytes);
    const text = latin1Of(bytes);
    if (!form.test(text)) throw corruptBytes('uuid', 'they are not the text form of a UUID');
    return text.toLowerCase();
  },
});

/** A UUID in its text form, in lower case. */
export function uuid(): Serde<string> {
  return serde;
}
