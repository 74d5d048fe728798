/**
 * What the load generator sends, as a pure function of its options.
 *
 * 1. The same options give the same records, byte for byte.
 * 2. One payment of each block of `blockLength` is sent a second time under its event id: 1 in 16, so 6.25%.
 * 3. A copy follows its original after a distance that is uniform over the deduplication window, cut at the end of the load: never later.
 * 4. Timestamps never fall, so the order of a partition is also the order of time.
 */
import { type SeededRandom, seededRandom } from './random.js';

export interface LoadOptions {
  /** Payments with an event id of their own; copies and malformed records come on top. */
  readonly payments: number;
  readonly accounts: number;
  readonly seed: number;
  /** Timestamp of the first payment, in milliseconds since the epoch. */
  readonly startMs: number;
  /** Time that passes from one payment to the next, in milliseconds. */
  readonly stepMs: number;
  /** The ledger's deduplication window in milliseconds. */
  readonly windowMs: number;
}

export type LoadKind = 'payment' | 'copy' | 'malformed';

export interface LoadRecord {
  readonly kind: LoadKind;
  readonly key: string;
  readonly value: string;
  readonly timestampMs: number;
}

/** One payment of each block is sent again. */
export const blockLength = 16;
/** One malformed record follows each so many payments. */
export const malformedEvery = 1000;

const counterparties = 500;

export function* generateLoad(options: LoadOptions): Generator<LoadRecord, void, undefined> {
  const random = seededRandom(options.seed);
  const distanceMax = Math.max(1, Math.floor(options.windowMs / options.stepMs) - 1);
  const copiesDue = new Map<number, LoadRecord[]>();
  let copiedInBlock = 0;
  for (let index = 0; index < options.payments; index++) {
    const timestampMs = options.startMs + index * options.stepMs;
    if (index % blockLength === 0) copiedInBlock = index + random.below(Math.min(blockLength, options.payments - index));
    const payment = makePayment(options, random, index, timestampMs);
    yield payment;
    if (index === copiedInBlock) {
      const distance = 1 + random.below(Math.min(distanceMax, options.payments - index));
      const due = index + distance;
      copiesDue.set(due, [...(copiesDue.get(due) ?? []), payment]);
    }
    if (index % malformedEvery === malformedEvery - 1) yield makeMalformed(random, payment);
    for (const copy of takeDue(copiesDue, index + 1)) yield { ...copy, kind: 'copy', timestampMs };
  }
}

/** How many records of each kind `generateLoad` yields, without making them. */
export function countLoad(payments: number): { readonly copies: number; readonly malformed: number; readonly records: number } {
  const copies = Math.ceil(payments / blockLength);
  const malformed = Math.floor(payments / malformedEvery);
  return { copies, malformed, records: payments + copies + malformed };
}

function takeDue(copiesDue: Map<number, LoadRecord[]>, index: number): readonly LoadRecord[] {
  const due = copiesDue.get(index) ?? [];
  copiesDue.delete(index);
  return due;
}

function makePayment(options: LoadOptions, random: SeededRandom, index: number, timestampMs: number): LoadRecord {
  const account = `account-${random.below(options.accounts)}`;
  // Withdrawals are rarer than deposits but may be larger than what is there, so that some are rejected all through the run.
  const kind = random.chance(0.4) ? 'withdrawal' : 'deposit';
  const amount = 1 + random.below(kind === 'deposit' ? 50_000 : 60_000);
  const counterparty = `external-${random.below(counterparties)}`;
  const eventId = `${options.seed.toString(36)}-${index.toString(36).padStart(6, '0')}`;
  const value = JSON.stringify({ eventId, account, kind, amount, currency: 'EUR', counterparty });
  return { kind: 'payment', key: account, value, timestampMs };
}

/** Every way in which a payment can be wrong by itself; each has to end in the topic of malformed payments. */
const corruptions: readonly ((value: string) => string)[] = [
  (value) => value.slice(0, -1),
  (value) => value.replace(/"amount":\d+/, '"amount":-5'),
  (value) => value.replace(/"amount":\d+/, '"amount":0.5'),
  (value) => value.replace('"currency":"EUR"', '"currency":"XTS"'),
  (value) => value.replace(/"eventId":"[^"]*"/, '"eventId":""'),
  (value) => value.replace(/"account":"[^"]*"/, '"account":"someone-else"'),
];

function makeMalformed(random: SeededRandom, like: LoadRecord): LoadRecord {
  const corrupt = corruptions[random.below(corruptions.length)] ?? String;
  return { ...like, kind: 'malformed', value: corrupt(like.value.replace('"eventId":"', '"eventId":"malformed-')) };
}
