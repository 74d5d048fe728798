import { describe, expect, it } from 'vitest';
import { keep, keptBytes } from './kept-bytes.js';

describe('kept bytes', () => {
  it('share no byte with one another, whatever their lengths', () => {
    const kept = Array.from({ length: 2_000 }, (_none, index) => keptBytes(index % 300).fill(index % 251));
    expect(kept.findIndex((bytes, index) => bytes.length !== index % 300 || bytes.some((byte) => byte !== index % 251))).toBe(-1);
  });

  it('keep alive about as much as they are', () => {
    for (const length of [1, 17, 256, 257, 5_000]) expect(keptBytes(length).buffer.byteLength).toBeLessThanOrEqual(Math.max(1_024, length));
  });

  it('are copies of what is small or a slice of much more, and large arrays themselves', () => {
    const small = Buffer.from('small');
    expect(keep(small)).toEqual(small);
    expect(keep(small).buffer).not.toBe(small.buffer);
    const large = Buffer.alloc(5_000, 7);
    expect(keep(large)).toBe(large);
    const slice = Buffer.alloc(100_000, 7).subarray(10, 5_010);
    expect(keep(slice)).toEqual(large);
    expect(keep(slice).buffer.byteLength).toBe(5_000);
  });
});
