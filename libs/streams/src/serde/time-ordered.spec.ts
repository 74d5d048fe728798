import { describe, expect, it } from 'vitest';
import { compareBytes } from '../core/bytes.js';
import { nullable } from './nullable.js';
import { string } from './string.js';
import { timeOrdered } from './time-ordered.js';

describe('timeOrdered', () => {
  const serde = timeOrdered(string());

  it('sorts by time, then by the bytes of the key', () => {
    const keys = [
      { timeMs: -1, key: 'z' },
      { timeMs: 0, key: '' },
      { timeMs: 0, key: 'a' },
      { timeMs: 0, key: 'ab' },
      { timeMs: 2 ** 40, key: 'a' },
    ];
    const bytes = keys.map((key) => serde.serialize(key)!);
    expect(bytes.toReversed().toSorted(compareBytes)).toEqual(bytes);
    expect(bytes.map((each) => serde.deserialize(each))).toEqual(keys);
    expect(serde.name).toBe('timeOrdered(string)');
  });

  it('refuses what has no time or no key', () => {
    expect(() => serde.serialize({ timeMs: 0.5, key: 'a' })).toThrow('whole milliseconds are needed');
    expect(() => timeOrdered(nullable(string())).serialize({ timeMs: 1, key: null })).toThrow('a key is needed');
    expect(() => serde.deserialize(Buffer.alloc(7))).toThrow(expect.objectContaining({ code: 'BYTES_NOT_DESERIALIZABLE' }));
  });
});
