import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { median, mediansOf, percentile } from './statistics.mjs';

describe('percentile', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1);

  it.each([
    [0.5, 50],
    [0.99, 99],
    [0.999, 100],
    [1, 100],
    [0, 1],
  ])('at %d of one to a hundred is %d', (share, value) => {
    expect(percentile(hundred, share)).toBe(value);
  });

  it('is the smallest sample that the share does not exceed', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1 }), fc.double({ min: 0, max: 1, noNaN: true }), (samples, share) => {
        const sorted = samples.toSorted((a, b) => a - b);
        const value = percentile(sorted, share);
        const covered = sorted.filter((sample) => sample <= value).length;
        const below = sorted.filter((sample) => sample < value).length;
        expect(covered).toBeGreaterThanOrEqual(share * sorted.length);
        expect(below === 0 || below < share * sorted.length).toBe(true);
      }),
    );
  });

  it('of nothing is refused', () => {
    expect(() => percentile([], 0.5)).toThrow(RangeError);
  });
});

describe('median', () => {
  it('is the middle value, or the mean of the two', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([7])).toBe(7);
  });

  it('of nothing is refused', () => {
    expect(() => median([])).toThrow(RangeError);
  });

  it('is taken for each field by itself', () => {
    const rows = [
      { speed: 1, memory: 30 },
      { speed: 2, memory: 10 },
      { speed: 3, memory: 20 },
    ];
    expect(mediansOf(rows)).toEqual({ speed: 2, memory: 20 });
  });
});
