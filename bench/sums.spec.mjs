import { describe, expect, it } from 'vitest';
import { addPayment, differences, newSum } from './sums.mjs';

describe('differences', () => {
  const expected = new Map([
    ['anna', 5],
    ['bert', 7],
  ]);

  it('are none between equal sums', () => {
    expect(differences(expected, new Map([...expected].toReversed()))).toEqual([]);
  });

  it('name what is wrong, missing or too much', () => {
    const actual = new Map([
      ['anna', 6],
      ['carl', 1],
    ]);
    expect(differences(expected, actual)).toEqual(['anna: 6 instead of 5', 'bert: nothing instead of 7', 'carl: 1 instead of nothing']);
  });

  it('are told by a few examples', () => {
    const many = new Map(Array.from({ length: 20 }, (_, index) => [`account-${index}`, index]));
    expect(differences(many, new Map())).toHaveLength(6);
    expect(differences(many, new Map()).at(-1)).toBe('and 15 more');
  });
});

it('reads new sums and passed-on payments', () => {
  const sum = Buffer.alloc(8);
  sum.writeBigInt64BE(1_234n);
  expect(newSum(5, sum)).toBe(1_234);
  expect(addPayment(5, Buffer.from('{"amount":37}'))).toBe(42);
});
