/**
 * What the ledger must have done, computed from the payments alone.
 *
 * Written from the ledger's rules, not from its code, and importing nothing of it or of the libraries: a mistake there must not be
 * repeated here.
 *
 * 1. Malformed is: no JSON object, a field that breaks its rule, or an account other than the record's key.
 * 2. A payment under an event id that its account has seen within the window is dropped, whether the first was accepted or rejected.
 * 3. A withdrawal larger than the balance is rejected; everything else is accepted and moves its amount between account and counterparty.
 */

/** A record as it lies in a topic. */
export interface RawRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

export interface ModelPayment {
  readonly eventId: string;
  readonly account: string;
  readonly counterparty: string;
  /** In minor units; negative for a withdrawal. */
  readonly change: bigint;
}

/** A payment that came again: where both copies lie in the input. */
export interface DroppedCopy {
  readonly partition: number;
  readonly firstOffset: number;
  readonly copyOffset: number;
}

export type Verdict =
  | { readonly kind: 'malformed' }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'rejected'; readonly payment: ModelPayment }
  | { readonly kind: 'accepted'; readonly payment: ModelPayment; readonly balance: bigint };

const namePattern = /^[A-Za-z0-9._-]{1,64}$/;

export class LedgerModel {
  readonly balances = new Map<string, bigint>();
  readonly droppedCopies: DroppedCopy[] = [];
  private readonly seen = new Map<string, { timestampMs: number; offset: number }>();

  constructor(private readonly windowMs: number) {}

  /** Takes the records of each partition in the order of their offsets. */
  judge(record: RawRecord): Verdict {
    const payment = parsePayment(record);
    if (payment === undefined) return { kind: 'malformed' };
    const identity = `${payment.account}/${payment.eventId}`;
    const first = this.seen.get(identity);
    if (first !== undefined && record.timestampMs - first.timestampMs <= this.windowMs) {
      this.droppedCopies.push({ partition: record.partition, firstOffset: first.offset, copyOffset: record.offset });
      return { kind: 'duplicate' };
    }
    this.seen.set(identity, { timestampMs: record.timestampMs, offset: record.offset });
    const balance = (this.balances.get(payment.account) ?? 0n) + payment.change;
    if (balance < 0n) return { kind: 'rejected', payment };
    this.balances.set(payment.account, balance);
    return { kind: 'accepted', payment, balance };
  }
}

function parsePayment(record: RawRecord): ModelPayment | undefined {
  const fields = parseObject(record.value);
  if (fields === undefined || record.key === null) return undefined;
  const { eventId, account, counterparty, kind, amount, currency } = fields;
  if (!isName(eventId) || !isName(account) || !isName(counterparty)) return undefined;
  if (account !== record.key.toString('utf8') || currency !== 'EUR') return undefined;
  if (typeof amount !== 'number' || !Number.isSafeInteger(amount) || amount <= 0) return undefined;
  if (kind !== 'deposit' && kind !== 'withdrawal') return undefined;
  return { eventId, account, counterparty, change: kind === 'deposit' ? BigInt(amount) : -BigInt(amount) };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && namePattern.test(value);
}

export function parseObject(bytes: Buffer | null): Partial<Record<string, unknown>> | undefined {
  if (bytes === null) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
