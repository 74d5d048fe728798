import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Decimal } from './decimal.js';

const decimals = fc
  .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.integer({ min: 0, max: 30 }))
  .map(([unscaled, scale]) => Decimal.of(unscaled, scale));

describe('Decimal', () => {
  it('reads and writes plain text', () => {
    for (const text of ['0', '1', '-1', '0.5', '-0.05', '12.345', '100', '123456789012345678901234567890.123']) {
      expect(Decimal.parse(text).toString()).toBe(text);
    }
  });

  it('has one form for one number', () => {
    for (const text of ['1.50', '01.5', '1.5e0', '15E-1', '0.15e+1', '1.500000']) {
      expect(Decimal.parse(text)).toEqual(Decimal.of(15n, 1));
    }
    expect(Decimal.parse('-0.00')).toBe(Decimal.zero);
    expect(Decimal.parse('1e3').toString()).toBe('1000');
  });

  it('refuses what is not a decimal number', () => {
    for (const text of ['', '-', '.5', '5.', '1,5', ' 1', '1 ', '+1', 'NaN', 'Infinity', '1e', '0x10', '1e999999', '1.5\n']) {
      expect(() => Decimal.parse(text)).toThrow(RangeError);
    }
  });

  it('bounds its digits', () => {
    expect(Decimal.parse('9'.repeat(1000)).scale).toBe(0);
    expect(() => Decimal.parse('9'.repeat(1001))).toThrow('at most 1000 digits');
    expect(() => Decimal.parse('1e1000')).toThrow('at most 1000 digits');
    expect(() => Decimal.parse('1e-1001')).toThrow('at most 1000 digits');
    const large = Decimal.parse('1e600');
    expect(() => large.multiply(large)).toThrow('at most 1000 digits');
  });

  it('refuses parts that are not whole', () => {
    expect(() => Decimal.of(2 ** 53)).toThrow('safe integer');
    expect(() => Decimal.of(1, -1)).toThrow('scale');
    expect(() => Decimal.of(1, 0.5)).toThrow('scale');
  });

  it('computes exactly', () => {
    expect(Decimal.parse('0.1').add(Decimal.parse('0.2')).equals(Decimal.parse('0.3'))).toBe(true);
    expect(Decimal.parse('1.5').multiply(Decimal.parse('-0.02')).toString()).toBe('-0.03');
  });

  it('obeys the laws of arithmetic', () => {
    fc.assert(
      fc.property(decimals, decimals, decimals, (a, b, c) => {
        expect(a.add(b)).toEqual(b.add(a));
        expect(a.add(b).subtract(b)).toEqual(a);
        expect(a.multiply(b.add(c))).toEqual(a.multiply(b).add(a.multiply(c)));
        expect(a.negate().negate()).toEqual(a);
        expect(Math.sign(a.compare(b))).toBe(Math.sign(Number(a.subtract(b).unscaled)));
        expect(a.equals(b)).toBe(a.compare(b) === 0);
        expect(Decimal.parse(a.toString())).toEqual(a);
      }),
    );
  });

  it('shows a number of digits, but drops none', () => {
    expect(Decimal.parse('12.3').toFixed(2)).toBe('12.30');
    expect(Decimal.parse('-7').toFixed(2)).toBe('-7.00');
    expect(() => Decimal.parse('0.125').toFixed(2)).toThrow('0.125 has more than 2 digits');
  });

  it('is a text in JSON', () => {
    expect(JSON.stringify({ amount: Decimal.parse('12.30') })).toBe('{"amount":"12.3"}');
  });
});
