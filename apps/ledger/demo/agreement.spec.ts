/** The ledger's own code and the checker, which shares none of it, must agree about every record of a load: here without any Kafka between. */
import type { StreamContext } from '@tally/nestjs';
import type { Topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { generateLoad } from '../load/payments.js';
import { LedgerService } from '../src/ledger.service.js';
import { balanceUpdates, malformedPayments, payments, postings, rejections } from '../src/ledger.topics.js';
import { MemoryStore } from '../src/memory-store.fixture.js';
import { Payment } from '../src/payment.js';
import { PaymentsController } from '../src/payments.controller.js';
import { SeenEvents } from '../src/seen-events.js';
import { LedgerChecker } from './checker.js';
import type { RawRecord } from './model.js';

/** The event ids leave the window more than once in the load's 1,000 s. */
const windowMs = 300_000;

type Handle = Topic<string, never>;

class LedgerInMemory {
  readonly balances = new MemoryStore();
  readonly outputs = new Map<string, RawRecord[]>();
  private readonly seen = new SeenEvents({ deduplicationWindowMs: windowMs });
  private readonly seenStore = new MemoryStore();
  private forgotten = '';
  private readonly controller = new PaymentsController(new LedgerService(), this.seen);

  async take(input: RawRecord): Promise<void> {
    const payment = this.parse(input);
    if (payment === undefined) return this.emit(malformedPayments, input.key, input.value);
    const send = (topic: Handle, key: string, value: never): void =>
      this.emit(topic.name, bytes(topic.key.serialize(key)), bytes(topic.value.serialize(value)));
    const context = { key: payment.account, streamTimeMs: input.timestampMs, send } as unknown as StreamContext<string>;
    this.controller.apply(payment, context, this.balances, this.seenStore);
    if (input.offset % 1_000 === 0) this.forgotten = await this.seen.forget(this.seenStore, input.timestampMs, this.forgotten, 10_000);
  }

  private parse(input: RawRecord): Payment | undefined {
    try {
      const payment = payments.value.deserialize(input.value ?? Buffer.alloc(0));
      return payment.account === input.key?.toString() ? payment : undefined;
    } catch {
      return undefined;
    }
  }

  private emit(topic: string, key: Buffer | null, value: Buffer | null): void {
    const records = this.outputs.get(topic) ?? [];
    this.outputs.set(topic, records);
    records.push({ topic, partition: 0, offset: records.length, timestampMs: 0, key, value });
  }
}

function bytes(value: Uint8Array | null): Buffer | null {
  return value === null ? null : Buffer.from(value);
}

describe('the ledger and its checker', () => {
  it('agree about a load of 20,000 payments', async () => {
    const load = generateLoad({ payments: 20_000, accounts: 300, seed: 42, startMs: 1_700_000_000_000, stepMs: 50, windowMs });
    const ledger = new LedgerInMemory();
    const checker = new LedgerChecker(windowMs);
    let offset = 0;
    for (const { key, value, timestampMs } of load) {
      const input: RawRecord = {
        topic: payments.name,
        partition: 0,
        offset: offset++,
        timestampMs,
        key: Buffer.from(key),
        value: Buffer.from(value),
      };
      checker.addInput(input);
      await ledger.take(input);
    }
    for (const record of ledger.outputs.get(postings.name) ?? []) checker.addPosting(record);
    for (const record of ledger.outputs.get(balanceUpdates.name) ?? []) checker.addBalance(record);
    for (const record of ledger.outputs.get(rejections.name) ?? []) checker.addRejection(record);
    for (const record of ledger.outputs.get(malformedPayments) ?? []) checker.addMalformed(record);
    for (const [account, balance] of ledger.balances.entries) checker.addAnswer('in memory', account, balance);
    const proof = checker.prove();
    expect(proof.examples).toEqual([]);
    expect(proof).toMatchObject({ mismatches: 0, accounts: 300, malformed: 20, duplicatesDropped: 1_250 });
    expect(proof.accepted + proof.rejected).toBe(20_000);
    expect(proof.rejected).toBeGreaterThan(1_000);
    expect(proof.actualTotal).toBe(proof.expectedTotal);
  });
});
