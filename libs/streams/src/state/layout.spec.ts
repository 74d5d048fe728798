import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkStoreName,
  decodePosition,
  encodePosition,
  positionKey,
  reservedMapKey,
  storeNameOfPositionKey,
  storePrefix,
  storeRange,
} from './layout.js';
import { mapKeyOf } from './map-key.js';

const storeName = fc.string({ minLength: 1, maxLength: 6 }).filter((name) => !name.includes('\u0000'));

describe('the layout of a task\u2019s database', () => {
  it('keeps the bytes of its grammar', () => {
    expect(mapKeyOf(positionKey('s'))).toBe('\u0000\u0003s');
    expect(mapKeyOf(storePrefix('s'))).toBe('\u0001s\u0000');
    expect(reservedMapKey('owner')).toBe('\u0000owner');
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
        const entry = mapKeyOf(Buffer.concat([storePrefix(one), key]));
        const range = storeRange(other);
        expect(entry >= mapKeyOf(range.gte) && entry < mapKeyOf(range.lt)).toBe(one === other);
      }),
    );
  });

  it('orders map keys as the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4 }), fc.uint8Array({ maxLength: 4 }), (left, right) => {
        const order = mapKeyOf(left) < mapKeyOf(right) ? -1 : mapKeyOf(left) > mapKeyOf(right) ? 1 : 0;
        expect(order).toBe(Buffer.compare(left, right));
      }),
    );
  });

  it.each(['', 'a\u0000b'])('refuses the store name %j', (name) => {
    expect(() => checkStoreName(name)).toThrow(expect.objectContaining({ code: 'STORE_NAME_INVALID', kind: 'invalid' }));
  });
});
