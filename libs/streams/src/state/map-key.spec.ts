import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { latin1Of } from '../core/bytes.js';
import { dataKind, indexKind, reservedKind } from './layout.js';
import {
  afterDataMapKey,
  dataMapKeyOf,
  dataMapKeyOfText,
  extendMapKey,
  firstDataMapKey,
  KeyScratch,
  mapKeyOf,
  physicalKeyBytes,
  physicalKeyOf,
  reservedMapKey,
  writePhysicalKey,
} from './map-key.js';

const kinds = [reservedKind, dataKind, indexKind];
/** The bytes that mean something in a map key, and others. */
const someByte = fc.oneof(fc.constantFrom(0, 1, 2), fc.integer({ min: 0, max: 255 }));
const keyBytes = fc.array(someByte, { maxLength: 60 }).map((bytes) => Buffer.from(bytes));
const physicalKey = fc.tuple(fc.constantFrom(...kinds), keyBytes).map(([kind, bytes]) => Buffer.concat([Uint8Array.of(kind), bytes]));

describe('a map key', () => {
  it('stands for one physical key, whose bytes are made of it', () => {
    fc.assert(
      fc.property(physicalKey, fc.nat({ max: 3 }), (key, at) => {
        const mapKey = mapKeyOf(key);
        expect(Buffer.from(physicalKeyOf(mapKey))).toEqual(key);
        expect(physicalKeyBytes(mapKey)).toBe(key.length);
        const target = Buffer.alloc(key.length + at + 1, 0xee);
        writePhysicalKey(mapKey, target, at);
        expect(target).toEqual(Buffer.concat([Buffer.alloc(at, 0xee), key, Buffer.alloc(1, 0xee)]));
      }),
    );
  });

  it('sorts as the bytes among those of its kind, and data lies between its bounds', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), keyBytes, keyBytes, (kind, one, other) => {
        const [left, right] = [one, other].map((bytes) => mapKeyOf(Buffer.concat([Uint8Array.of(kind), bytes]))) as [string, string];
        expect(left < right ? -1 : left > right ? 1 : 0).toBe(Buffer.compare(one, other));
        expect(left >= firstDataMapKey && left < afterDataMapKey).toBe(kind === dataKind);
      }),
    );
  });

  it('of data is the same from its bytes, its text and its physical key', () => {
    fc.assert(
      fc.property(keyBytes, (bytes) => {
        const mapKey = mapKeyOf(Buffer.concat([Uint8Array.of(dataKind), bytes]));
        expect(dataMapKeyOf(bytes)).toBe(mapKey);
        expect(dataMapKeyOfText(latin1Of(bytes))).toBe(mapKey);
      }),
    );
  });

  it('is extended as its bytes are', () => {
    fc.assert(
      fc.property(physicalKey, keyBytes, (key, more) => {
        expect(extendMapKey(mapKeyOf(key), latin1Of(more))).toBe(mapKeyOf(Buffer.concat([key, more])));
      }),
    );
  });

  it('of text is the text itself', () => {
    expect(dataMapKeyOfText('account-1')).toBe('account-1');
    expect(reservedMapKey('owner')).toBe('\u0000\u0000owner');
  });
});

describe('a scratch of keys', () => {
  it('makes each key behind its prefix, however long both are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.array(fc.nat({ max: 2_000 }), { maxLength: 20 }), (prefix, lengths) => {
        const scratch = new KeyScratch(prefix);
        for (const [index, length] of lengths.entries()) {
          const key = Buffer.concat([Uint8Array.of(dataKind), Buffer.alloc(length, 0x61 + index)]);
          const expected = Buffer.concat([prefix, key]);
          expect(scratch.ofMapKey(mapKeyOf(key)).equals(expected)).toBe(true);
          expect(scratch.ofBytes(key).equals(expected)).toBe(true);
        }
      }),
    );
  });
});
