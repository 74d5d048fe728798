import type { ExecutionContext } from '@nestjs/common';
import type { StreamContext } from '@tally/nestjs';
import { describe, expect, it } from 'vitest';
import { balanceUpdates, postings, rejections } from './ledger.topics.js';
import { LedgerService } from './ledger.service.js';
import { MemoryStore } from './memory-store.fixture.js';
import { OwnAccountGuard } from './own-account.guard.js';
import type { Payment } from './payment.js';
import { PaymentsController } from './payments.controller.js';
import { SeenEvents } from './seen-events.js';

const payment: Payment = { eventId: 'e1', account: 'anna', counterparty: 'shop', kind: 'deposit', amount: 500, currency: 'EUR' };

function setUp() {
  const controller = new PaymentsController(new LedgerService(), new SeenEvents({ deduplicationWindowMs: 1_000 }));
  const [balanceStore, seenStore] = [new MemoryStore(), new MemoryStore()];
  const sent: unknown[][] = [];
  const apply = (next: Payment, streamTimeMs: number): unknown[][] => {
    sent.length = 0;
    const context = { key: next.account, streamTimeMs, send: (...output: unknown[]) => void sent.push(output) };
    controller.apply(next, context as unknown as StreamContext<string>, balanceStore, seenStore);
    return [...sent];
  };
  return { apply, balanceStore };
}

describe('PaymentsController', () => {
  it('writes the new balance and both postings of an accepted payment', () => {
    const { apply, balanceStore } = setUp();
    expect(apply(payment, 0)).toEqual([
      [balanceUpdates, 'anna', 500n],
      [postings, 'anna', { eventId: 'e1', account: 'anna', amount: 500 }],
      [postings, 'shop', { eventId: 'e1', account: 'shop', amount: -500 }],
    ]);
    expect(balanceStore.entries).toEqual(new Map([['anna', 500n]]));
  });

  it('does nothing for a copy within the window', () => {
    const { apply, balanceStore } = setUp();
    apply(payment, 0);
    expect(apply(payment, 1_000)).toEqual([]);
    expect(balanceStore.get('anna')).toBe(500n);
    expect(apply(payment, 1_001)).toHaveLength(3);
  });

  it('rejects an overdraft once, and leaves the balance', () => {
    const { apply, balanceStore } = setUp();
    const overdraft: Payment = { ...payment, kind: 'withdrawal' };
    expect(apply(overdraft, 0)).toEqual([[rejections, 'anna', { eventId: 'e1', account: 'anna', reason: 'overdraft', balance: '0' }]]);
    expect(apply(overdraft, 1)).toEqual([]);
    expect(balanceStore.entries.size).toBe(0);
  });
});

describe('OwnAccountGuard', () => {
  const ask = (key: string): boolean => {
    const rpc = { getData: () => payment, getContext: () => ({ key }) };
    return new OwnAccountGuard().canActivate({ switchToRpc: () => rpc } as unknown as ExecutionContext);
  };

  it('refuses a payment under the key of another account, and says which', () => {
    expect(ask('anna')).toBe(true);
    expect(() => ask('bert')).toThrow("The payment is for account 'anna', but lies under the key 'bert'.");
  });
});
