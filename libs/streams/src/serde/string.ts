/**
 * Grammar: `string = *UTF8-char`; the layout of Kafka's `StringSerializer`, without its silent replacement of what is no text.
 */
import { refusedValue } from './refusal.js';
import type { Serde } from './serde.js';
import { decodeUtf8, encodeUtf8 } from './utf8.js';

const serde: Serde<string> = Object.freeze({
  name: 'string',
  isExact: true,
  serialize(value: string) {
    if (typeof value !== 'string') throw refusedValue('string', value, 'a string is needed');
    return encodeUtf8('string', value);
  },
  deserialize: (bytes: Uint8Array) => decodeUtf8('string', bytes),
});

/** Text in UTF-8; the empty string is not null. */
export function string(): Serde<string> {
  return serde;
}
