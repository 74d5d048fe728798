import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ScopeWrites } from './scope-writes.js';

describe('ScopeWrites', () => {
  it('is a map, whether it holds one key or several', () => {
    const writes = fc.array(fc.tuple(fc.constantFrom('', 'a', 'b', 'c'), fc.nat()), { maxLength: 8 });
    fc.assert(
      fc.property(writes, (sequence) => {
        const actual = new ScopeWrites<number>();
        const expected = new Map<string, number>();
        for (const [key, write] of sequence) {
          actual.set(key, write);
          expected.set(key, write);
        }
        const listed: [string, number][] = [];
        actual.forEach((write, key) => listed.push([key, write]));
        expect(listed).toEqual([...expected]);
        expect(['', 'a', 'b', 'c'].map((key) => actual.get(key))).toEqual(['', 'a', 'b', 'c'].map((key) => expected.get(key)));
      }),
    );
  });
});
