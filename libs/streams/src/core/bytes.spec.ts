import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asBuffer, compareBytes, concatBytes, equalBytes } from './bytes.js';

describe('bytes', () => {
  it('orders unsigned, a prefix first', () => {
    expect(compareBytes(Uint8Array.of(0x7f), Uint8Array.of(0x80))).toBe(-1);
    expect(compareBytes(Uint8Array.of(1), Uint8Array.of(1, 0))).toBe(-1);
    expect(compareBytes(Uint8Array.of(), Uint8Array.of())).toBe(0);
  });

  it('is equal exactly where the order says so', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3, max: 2 }), fc.uint8Array({ maxLength: 3, max: 2 }), (left, right) => {
        expect(equalBytes(left, right)).toBe(compareBytes(left, right) === 0);
      }),
    );
  });

  it('concatenates into new memory', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (parts) => {
        expect([...concatBytes(...parts)]).toEqual(parts.flatMap((part) => [...part]));
      }),
    );
  });

  it('shows a part of an array as a Buffer over the same memory', () => {
    const whole = Uint8Array.of(1, 2, 3, 4);
    const buffer = asBuffer(whole.subarray(1, 3));
    whole[1] = 9;
    expect([...buffer]).toEqual([9, 3]);
    expect(asBuffer(buffer)).toBe(buffer);
  });
});
