import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkStoreName, decodePosition, encodePosition, positionKey, storeNameOfPositionKey, storePrefix, storeRange } from './layout.js';
import { latin1Of } from '../core/bytes.js';

const storeName = fc.string({ minLength: 1, maxLength: 6 }).filter((name) => !name.includes('\u0000'));

describe('the layout of a task\u2019s database', () => {
  it('keeps the bytes of its grammar', () => {
    expect(latin1Of(positionKey('s'))).toBe('\u0000\u0003s');
    expect(latin1Of(storePrefix('s'))).toBe('\u0001s\u0000');
    expect([...encodePosition({ offset: 258, dateMs: 1, topicId: 'id' })]).toEqual([
      0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0x69, 0x64,
    ]);
  });

  it('gives back positions and the names of their stores', () => {
    fc.assert(
      fc.property(storeName, fc.maxSafeNat(), fc.maxSafeInteger(), fc.string({ unit: 'binary' }), (name, offset, dateMs, topicId) => {
        const position = { offset, dateMs, topicId };
        expect(decodePosition(name, encodePosition(position))).toEqual(position);
        expect(storeNameOfPositionKey(positionKey(name))).toBe(name);
      }),
    );
    expect(() => decodePosition('s', Buffer.alloc(15))).toThrow(expect.objectContaining({ code: 'STATE_CORRUPT', kind: 'corrupt' }));
  });

  it('never lets the entries of one store fall into the range of another', () => {
    fc.assert(
      fc.property(storeName, storeName, fc.uint8Array({ maxLength: 4 }), (one, other, key) => {
        const entry = latin1Of(Buffer.concat([storePrefix(one), key]));
        const range = storeRange(other);
        expect(entry >= latin1Of(range.gte) && entry < latin1Of(range.lt)).toBe(one === other);
      }),
    );
  });

  it.each(['', 'a\u0000b'])('refuses the store name %j', (name) => {
    expect(() => checkStoreName(name)).toThrow(expect.objectContaining({ code: 'STORE_NAME_INVALID', kind: 'invalid' }));
  });
});
