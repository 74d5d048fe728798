import { Injectable } from '@nestjs/common';
import type { Payment, Posting, Rejection } from './payment.js';

export type Outcome =
  | { readonly kind: 'accepted'; readonly balance: bigint; readonly postings: readonly [Posting, Posting] }
  | { readonly kind: 'rejected'; readonly rejection: Rejection };

/** The rules of the ledger. It knows nothing of topics and stores, and is tested without them. */
@Injectable()
export class LedgerService {
  /** @param balance of the payment's account before it, in minor units */
  decide(payment: Payment, balance: bigint): Outcome {
    const { eventId, account, counterparty, amount, kind } = payment;
    const change = kind === 'deposit' ? amount : -amount;
    const newBalance = balance + BigInt(change);
    if (newBalance < 0n) {
      return { kind: 'rejected', rejection: { eventId, account, reason: 'overdraft', balance: balance.toString() } };
    }
    return {
      kind: 'accepted',
      balance: newBalance,
      postings: [
        { eventId, account, amount: change },
        { eventId, account: counterparty, amount: -change },
      ],
    };
  }
}
