/**
 * Compares what the ledger put out with what its input demands, record by record and account by account.
 *
 * Feed it the whole input first, then the committed output and the answers of the instances, then ask for the proof. Nothing is
 * tolerated: each lost, doubled, altered or foreign record is one mismatch.
 */
import { type DroppedCopy, LedgerModel, type ModelPayment, parseObject, type RawRecord } from './model.js';

export interface Proof {
  /** Sum of all balances in minor units, as the input demands it. */
  readonly expectedTotal: bigint;
  /** Sum of all balances in minor units, as the instances answered. */
  readonly actualTotal: bigint;
  readonly accounts: number;
  readonly mismatches: number;
  /** The first few mismatches in words. */
  readonly examples: readonly string[];
  readonly accepted: number;
  readonly rejected: number;
  readonly malformed: number;
  /** Payments in the input for which nothing came out, since their event id had been counted already. */
  readonly duplicatesDropped: number;
}

const examplesMax = 20;

/** Counts how often each record is still expected. */
class Expected {
  private readonly counts = new Map<string, number>();

  add(identity: string): void {
    this.counts.set(identity, (this.counts.get(identity) ?? 0) + 1);
  }

  /** @returns false when the record was not expected, or not once more. */
  take(identity: string): boolean {
    const count = this.counts.get(identity);
    if (count === undefined) return false;
    if (count === 1) this.counts.delete(identity);
    else this.counts.set(identity, count - 1);
    return true;
  }

  remaining(): Iterable<readonly [identity: string, times: number]> {
    return this.counts;
  }
}

export class LedgerChecker {
  private readonly model: LedgerModel;
  private readonly postings = new Expected();
  private readonly rejections = new Expected();
  private readonly malformed = new Expected();
  /** Balances that each account must have had, in order, and how many of them came out. */
  private readonly histories = new Map<string, { readonly balances: bigint[]; read: number }>();
  private readonly answers = new Map<string, { readonly instance: string; readonly balance: bigint }>();
  private readonly examples: string[] = [];
  private mismatches = 0;
  private wellFormedInputs = 0;
  private readonly read = { postings: 0, rejections: 0, malformed: 0 };

  constructor(windowMs: number) {
    this.model = new LedgerModel(windowMs);
  }

  get droppedCopies(): readonly DroppedCopy[] {
    return this.model.droppedCopies;
  }

  addInput(record: RawRecord): void {
    const verdict = this.model.judge(record);
    if (verdict.kind === 'malformed') return this.malformed.add(bytesOf(record));
    this.wellFormedInputs++;
    if (verdict.kind === 'rejected') this.rejections.add(rejectionOf(verdict.payment));
    if (verdict.kind === 'accepted') this.expectPayment(verdict.payment, verdict.balance);
  }

  addPosting(record: RawRecord): void {
    this.read.postings++;
    const { eventId, account, amount } = parseObject(record.value) ?? {};
    const wellKeyed = typeof account === 'string' && record.key?.toString('utf8') === account;
    if (!wellKeyed || !this.postings.take(postingOf(String(eventId), account, String(amount)))) {
      this.mismatch(`posting that must not be there, or not twice: ${describe(record)}`);
    }
  }

  addBalance(record: RawRecord): void {
    const account = record.key?.toString('utf8') ?? '';
    const history = this.histories.get(account);
    const balance = record.value?.length === 8 ? record.value.readBigInt64BE() : undefined;
    const expected = history?.balances[history.read];
    if (history !== undefined) history.read++;
    if (balance === undefined || balance !== expected) {
      this.mismatch(`balance update of ${account} is ${balance ?? 'unreadable'}, must be ${expected ?? 'absent'}: ${placeOf(record)}`);
    }
  }

  addRejection(record: RawRecord): void {
    this.read.rejections++;
    const { eventId, account, reason } = parseObject(record.value) ?? {};
    if (!this.rejections.take(`${String(eventId)} ${String(account)} ${String(reason)}`)) {
      this.mismatch(`rejection that must not be there, or not twice: ${describe(record)}`);
    }
  }

  addMalformed(record: RawRecord): void {
    this.read.malformed++;
    if (!this.malformed.take(bytesOf(record))) this.mismatch(`dead letter that must not be there, or not twice: ${describe(record)}`);
  }

  /** The balance that an instance answered with for an account of its own. */
  addAnswer(instance: string, account: string, balance: bigint): void {
    const other = this.answers.get(account);
    if (other !== undefined) this.mismatch(`${account} is answered for by ${other.instance} and by ${instance}`);
    else this.answers.set(account, { instance, balance });
  }

  prove(): Proof {
    this.reportLost('posting', this.postings);
    this.reportLost('rejection', this.rejections);
    this.reportLost('dead letter', this.malformed);
    this.compareHistories();
    const { expectedTotal, actualTotal } = this.compareAnswers();
    return {
      expectedTotal,
      actualTotal,
      accounts: this.model.balances.size,
      mismatches: this.mismatches,
      examples: this.examples,
      accepted: this.read.postings / 2,
      rejected: this.read.rejections,
      malformed: this.read.malformed,
      duplicatesDropped: this.wellFormedInputs - this.read.postings / 2 - this.read.rejections,
    };
  }

  private expectPayment(payment: ModelPayment, balance: bigint): void {
    this.postings.add(postingOf(payment.eventId, payment.account, payment.change.toString()));
    this.postings.add(postingOf(payment.eventId, payment.counterparty, (-payment.change).toString()));
    const history = this.histories.get(payment.account);
    if (history === undefined) this.histories.set(payment.account, { balances: [balance], read: 0 });
    else history.balances.push(balance);
  }

  private reportLost(what: string, expected: Expected): void {
    for (const [identity, times] of expected.remaining()) {
      for (let time = 0; time < times; time++) this.mismatch(`${what} lost: ${identity}`);
    }
  }

  private compareHistories(): void {
    for (const [account, { balances, read }] of this.histories) {
      for (let lost = read; lost < balances.length; lost++) this.mismatch(`balance update of ${account} lost: ${balances[lost]}`);
    }
  }

  private compareAnswers(): { readonly expectedTotal: bigint; readonly actualTotal: bigint } {
    let expectedTotal = 0n;
    let actualTotal = 0n;
    for (const [account, balance] of this.model.balances) {
      expectedTotal += balance;
      const answer = this.answers.get(account);
      if (answer === undefined) this.mismatch(`no instance answers for ${account}`);
      else if (answer.balance !== balance) this.mismatch(`${answer.instance} says ${answer.balance} for ${account}, must be ${balance}`);
    }
    for (const [account, { instance, balance }] of this.answers) {
      actualTotal += balance;
      if (!this.model.balances.has(account)) this.mismatch(`${instance} answers for ${account}, which has no payment`);
    }
    return { expectedTotal, actualTotal };
  }

  private mismatch(example: string): void {
    this.mismatches++;
    if (this.examples.length < examplesMax) this.examples.push(example);
  }
}

function postingOf(eventId: string, account: string, amount: string): string {
  return `${eventId} ${account} ${amount}`;
}

function rejectionOf(payment: ModelPayment): string {
  return `${payment.eventId} ${payment.account} overdraft`;
}

/** Tells null from empty, and keeps bytes that are no text. */
function bytesOf(record: RawRecord): string {
  return `${record.key?.toString('base64') ?? 'null'} ${record.value?.toString('base64') ?? 'null'}`;
}

function placeOf(record: RawRecord): string {
  return `${record.topic}, partition ${record.partition}, offset ${record.offset}`;
}

function describe(record: RawRecord): string {
  return `${placeOf(record)}, ${record.value?.toString('utf8') ?? 'null'}`;
}
