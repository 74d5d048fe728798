import { describe, expect, it } from 'vitest';
import { accountName, expectedSums, paymentJson, paymentSource } from './payments.mjs';

const taken = (/** @type {number} */ seed) => {
  const source = paymentSource(seed, 100);
  return Array.from({ length: 50 }, () => source.next());
};

describe('payments', () => {
  it('are the same for the same seed, and others for another one', () => {
    expect(taken(1)).toEqual(taken(1));
    expect(taken(1)).not.toEqual(taken(2));
  });

  it('are JSON of about 90 bytes', () => {
    const source = paymentSource(42, 100_000);
    for (let count = 0; count < 1_000; count++) {
      const payment = source.next();
      const json = paymentJson(payment);
      expect(JSON.parse(json)).toMatchObject({ account: accountName(payment.account), amount: payment.amount, currency: 'EUR' });
      expect(Math.abs(json.length - 90)).toBeLessThanOrEqual(10);
    }
  });

  it('add up to the expected sums', () => {
    const source = paymentSource(7, 10);
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (let count = 0; count < 500; count++) {
      const { account, amount } = source.next();
      sums.set(accountName(account), (sums.get(accountName(account)) ?? 0) + amount);
    }
    expect(expectedSums(7, 10, 500)).toEqual(new Map([...sums].toSorted(([left], [right]) => (left < right ? -1 : 1))));
  });

  it('leave accounts without a payment out of the sums', () => {
    expect(expectedSums(7, 1_000, 3).size).toBe(3);
  });
});
