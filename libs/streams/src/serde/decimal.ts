/**
 * Grammar, in ASCII:
 *
 *     decimal = [ "-" ] whole [ "." fraction ]
 *     whole   = "0" / %x31-39 *DIGIT
 *     fraction = *DIGIT %x31-39
 *
 * The one text form of the number, so that one number is one key; there is no "-0". Leading and trailing zeros and exponents, as other
 * programs write them, are read too.
 */
import { latin1Of } from '../core/bytes.js';
import { Decimal } from '../core/decimal.js';
import { corruptBytes, refusedValue } from './refusal.js';
import type { Serde } from './serde.js';

const serde: Serde<Decimal> = Object.freeze({
  name: 'decimal',
  serialize(value: Decimal) {
    if (!(value instanceof Decimal)) throw refusedValue('decimal', value, 'a Decimal is needed');
    return Buffer.from(value.toString(), 'latin1');
  },
  deserialize(bytes: Uint8Array) {
    try {
      return Decimal.parse(latin1Of(bytes));
    } catch (cause) {
      throw corruptBytes('decimal', cause instanceof Error ? cause.message : String(cause), cause);
    }
  },
});

/** An exact decimal number, for money. */
export function decimal(): Serde<Decimal> {
  return serde;
}
