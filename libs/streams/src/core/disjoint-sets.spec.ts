import { describe, expect, it } from 'vitest';
import { DisjointSets } from './disjoint-sets.js';

describe('DisjointSets', () => {
  it('joins what is joined, directly or by way of others', () => {
    const sets = new DisjointSets();
    sets.union('a', 'b');
    sets.unionAll(['c', 'd', 'e']);
    sets.union('e', 'b');
    sets.unionAll([]);
    expect(sets.groups(['a', 'b', 'c', 'd', 'e', 'f'])).toEqual([['a', 'b', 'c', 'd', 'e'], ['f']]);
    expect(sets.find('a')).toBe(sets.find('d'));
    expect(sets.find('f')).toBe('f');
  });
});
