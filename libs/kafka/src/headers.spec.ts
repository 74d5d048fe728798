import { describe, expect, it } from 'vitest';
import { noHeaders } from '@tally/streams';
import { emptyBytes, toNativeBytes } from './bytes.js';
import { fromNativeHeaders, toNativeHeaders } from './headers.js';

const one = Uint8Array.of(1);

describe('headers for the client', () => {
  it('makes one object of one property each, in order', () => {
    const native =
      toNativeHeaders(
        [
          { name: 'a', value: one },
          { name: '__proto__', value: one },
          { name: 'a', value: one },
        ],
        't',
      ) ?? [];
    expect(native.map((header) => Object.getOwnPropertyNames(header))).toEqual([['a'], ['__proto__'], ['a']]);
    expect(toNativeHeaders([], 't')).toBeUndefined();
  });

  it('reads a header that the client has made a prototype', () => {
    const assigned: Record<string, unknown> = {};
    assigned['__proto__'] = one;
    expect(fromNativeHeaders([{ b: one }, assigned])).toEqual([
      { name: 'b', value: one },
      { name: '__proto__', value: one },
    ]);
    expect(fromNativeHeaders(undefined)).toBe(noHeaders);
    expect(fromNativeHeaders([])).toBe(noHeaders);
  });

  it.each<[what: string, header: unknown]>([
    ['a NUL in its name', { name: 'a\0b', value: one }],
    ['half a surrogate pair', { name: 'a\udc00', value: one }],
    ['a name that is no string', { name: 7, value: one }],
    ['a null value', { name: 'a', value: null }],
    ['a number as value', { name: 'a', value: 7 }],
    ['a string as value', { name: 'a', value: 'x' }],
    ['no value', { name: 'a' }],
  ])('refuses a header with %s', (_, header) => {
    expect(() => toNativeHeaders([header as never], 't')).toThrow(
      expect.objectContaining({ kind: 'recordRefused', code: 'HEADER_INVALID' }),
    );
  });
});

describe('bytes for the client', () => {
  it('replaces empty bytes by an empty slice that has an address', () => {
    expect(toNativeBytes(new Uint8Array(0))).toBe(emptyBytes);
    expect(emptyBytes.byteOffset).toBeGreaterThan(0);
    expect(toNativeBytes(null)).toBeNull();
    expect(toNativeBytes(one)).toBe(one);
  });
});
