import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes } from './bytes.js';
import { escapedKey, escapedKeyBytes, readTime, readWord, sortableTime, unescapedKey, writeWord } from './sortable.js';

const times = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(2 ** 32 - 1, 2 ** 32, -(2 ** 32), -(2 ** 32) - 1),
);
const keys = fc.uint8Array({ maxLength: 6, max: 2 });

describe('sortable bytes', () => {
  it('give back the time, and sort as times do', () => {
    fc.assert(
      fc.property(times, times, (left, right) => {
        expect([readTime(sortableTime(left), 0), readTime(sortableTime(right), 0)]).toEqual([left, right]);
        expect(Math.sign(compareBytes(sortableTime(left), sortableTime(right)))).toBe(Math.sign(left - right));
      }),
    );
  });

  it('give back the unsigned word', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (value) => {
        const bytes = Buffer.alloc(6);
        writeWord(bytes, 1, value);
        expect(bytes.readUInt32BE(1)).toBe(value);
        expect(readWord(bytes, 1)).toBe(value);
      }),
    );
  });

  it('give back the key, wherever it lies, and tell where it ends', () => {
    fc.assert(
      fc.property(keys, keys, (key, behind) => {
        const escaped = escapedKey(7, key);
        const entry = Buffer.concat([escaped, behind]);
        expect(entry[0]).toBe(7);
        const length = escapedKeyBytes(entry, 1);
        expect(length).toBe(escaped.length - 1);
        expect([...unescapedKey(entry, 1, length)]).toEqual([...key]);
      }),
    );
  });

  it('sort by key first, whatever lies behind the keys', () => {
    fc.assert(
      fc.property(keys, keys, keys, keys, (left, right, behindLeft, behindRight) => {
        fc.pre(compareBytes(left, right) !== 0);
        const [one, other] = [Buffer.concat([escapedKey(1, left), behindLeft]), Buffer.concat([escapedKey(1, right), behindRight])];
        expect(Math.sign(compareBytes(one, other))).toBe(Math.sign(compareBytes(left, right)));
      }),
    );
  });
});
