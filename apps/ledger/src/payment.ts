import { z } from 'zod';

const name = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/);

/** A payment as it comes in, under its account as the record's key. */
export const Payment = z.object({
  /** The same for every copy of this payment. */
  eventId: name,
  account: name,
  /** The other side of the payment, outside of this ledger. */
  counterparty: name,
  kind: z.enum(['deposit', 'withdrawal']),
  /** In minor units, cents of a euro. */
  amount: z.int().positive(),
  currency: z.literal('EUR'),
});
export type Payment = z.infer<typeof Payment>;

/** One side of an accepted payment. The two sides of a payment add up to zero. */
export interface Posting {
  readonly eventId: string;
  readonly account: string;
  /** In minor units; negative where money goes out. */
  readonly amount: number;
}

/** A payment that was understood and refused. */
export interface Rejection {
  readonly eventId: string;
  readonly account: string;
  readonly reason: 'overdraft';
  /** What was there, in minor units, as a decimal string. */
  readonly balance: string;
}
