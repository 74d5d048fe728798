import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytes, string } from './index.js';
import { changeSerde } from './change.js';
import { isSameKey } from './same-key.js';

describe('changeSerde', () => {
  const serde = changeSerde(string());

  it('reads what it wrote, absent rows and empty ones apart', () => {
    const row = fc.option(fc.string({ unit: 'grapheme' }), { nil: null });
    fc.assert(
      fc.property(row, row, (oldValue, newValue) => {
        const change = { oldValue, newValue, isLatest: true };
        expect(serde.deserialize(serde.serialize(change)!)).toEqual(change);
      }),
    );
  });

  it('refuses bytes that it did not write', () => {
    for (const wrong of [[], [4], [1, 0, 0], [1, 0, 0, 0, 9, 65], [0, 65]]) {
      expect(() => serde.deserialize(Uint8Array.from(wrong))).toThrow(/are no table's change/);
    }
  });
});

describe('isSameKey', () => {
  it('compares what is serialized', () => {
    expect(isSameKey(string(), 'a', 'a')).toBe(true);
    expect(isSameKey(string(), 'a', 'b')).toBe(false);
    expect(isSameKey(bytes(), Uint8Array.of(1), Uint8Array.of(1))).toBe(true);
    expect(isSameKey(bytes(), Uint8Array.of(1), Uint8Array.of(2))).toBe(false);
  });
});
