import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LedgerService } from './ledger.service.js';
import { Payment } from './payment.js';

const payment: Payment = { eventId: 'e1', account: 'anna', counterparty: 'shop', kind: 'withdrawal', amount: 250, currency: 'EUR' };

describe('LedgerService', () => {
  const ledger = new LedgerService();

  it('moves the amount of a deposit from the counterparty to the account', () => {
    expect(ledger.decide({ ...payment, kind: 'deposit' }, 100n)).toEqual({
      kind: 'accepted',
      balance: 350n,
      postings: [
        { eventId: 'e1', account: 'anna', amount: 250 },
        { eventId: 'e1', account: 'shop', amount: -250 },
      ],
    });
  });

  it('lets an account be emptied, and not be overdrawn', () => {
    expect(ledger.decide(payment, 250n)).toMatchObject({ kind: 'accepted', balance: 0n });
    expect(ledger.decide(payment, 249n)).toEqual({
      kind: 'rejected',
      rejection: { eventId: 'e1', account: 'anna', reason: 'overdraft', balance: '249' },
    });
  });

  it('neither makes nor loses money, also beyond what a number holds', () => {
    const amounts = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    const balances = fc.bigInt({ min: 0n, max: 2n ** 62n });
    fc.assert(
      fc.property(amounts, balances, fc.constantFrom('deposit', 'withdrawal'), (amount, balance, kind) => {
        const outcome = ledger.decide({ ...payment, amount, kind }, balance);
        if (outcome.kind === 'rejected') return balance < BigInt(amount) && kind === 'withdrawal';
        const [own, other] = outcome.postings;
        return own.amount + other.amount === 0 && outcome.balance === balance + BigInt(own.amount) && outcome.balance >= 0n;
      }),
    );
  });
});

describe('Payment', () => {
  it.each([
    ['an empty event id', { eventId: '' }],
    ['an amount of nothing', { amount: 0 }],
    ['a negative amount', { amount: -1 }],
    ['a part of a cent', { amount: 0.5 }],
    ['an amount that a number cannot hold exactly', { amount: 2 ** 53 }],
    ['an amount as text', { amount: '5' }],
    ['another currency', { currency: 'XTS' }],
    ['an unknown kind', { kind: 'gift' }],
    ['a slash in the account', { account: 'a/b' }],
    ['no counterparty', { counterparty: undefined }],
  ])('refuses %s', (_, change) => {
    expect(Payment.safeParse(payment).success).toBe(true);
    expect(Payment.safeParse({ ...payment, ...change }).success).toBe(false);
  });
});
