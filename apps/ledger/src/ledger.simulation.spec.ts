/** The whole service under seeded crashes, pauses, lost answers and rebalances: money is conserved, and each payment counts once. */
import { Test } from '@nestjs/testing';
import { connectStreams, workerFactoryToken } from '@tally/nestjs';
import { simulate, SimulatedService, type SimulationResult, type Workload } from '@tally/testing';
import { afterEach, expect, it } from 'vitest';
import { LedgerModule } from './ledger.module.js';
import { balances, payments, postings, rejections } from './ledger.topics.js';
import type { Payment } from './payment.js';
import { readSettings, SETTINGS } from './settings.js';

const deduplicationWindowMs = 60_000;
const running: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const app of running.splice(0)) await app.close();
});

async function startLedger(): Promise<SimulatedService> {
  const service = new SimulatedService();
  const module = await Test.createTestingModule({ imports: [LedgerModule] })
    .overrideProvider(workerFactoryToken)
    .useValue(service.createWorker)
    .overrideProvider(SETTINGS)
    .useValue(readSettings({ DEDUPLICATION_WINDOW_MS: String(deduplicationWindowMs) }))
    .compile();
  const app = module.createNestApplication({ logger: false });
  running.push(app);
  connectStreams(app);
  await app.init();
  await app.startAllMicroservices();
  return service;
}

/** Deposits and withdrawals, copies of some of them, and now and then a record that is no payment. */
const workload: Workload = (load) => {
  const { random } = load;
  const sent: Payment[] = [];
  for (let number = 1; number <= 300; number += 1) {
    const isCopy = sent.length > 0 && random.chance(0.15);
    const payment = isCopy ? random.oneOf(sent) : drawPayment(number, load);
    if (random.chance(0.03)) load.addBytes(payments, payment.account, '{"amount":');
    if (random.chance(0.03)) load.add(payments, 'somebody-else', payment);
    load.add(payments, payment.account, payment);
    if (!isCopy) sent.push(payment);
  }
};

function drawPayment(number: number, { random }: Parameters<Workload>[0]): Payment {
  return {
    eventId: `e${number}`,
    account: `account-${random.between(1, 12)}`,
    counterparty: `shop-${random.between(1, 3)}`,
    kind: random.chance(0.6) ? 'deposit' : 'withdrawal',
    amount: random.between(1, 10_000),
    currency: 'EUR',
  };
}

function sumsOf(result: SimulationResult): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { key, value } of result.recordsOf(postings)) sums.set(key, (sums.get(key) ?? 0n) + BigInt(value.amount));
  return sums;
}

it('conserves money and counts each payment once, whatever happens to its workers', async () => {
  const report = await simulate(await startLedger(), workload, {
    seeds: 10,
    // Payments of several partitions' accounts go to one counterparty.
    unordered: [postings],
    invariants: {
      'all postings together are zero': (result) => expect([...sumsOf(result).values()].reduce((sum, each) => sum + each, 0n)).toBe(0n),
      'a balance is the sum of its postings': (result) => {
        const sums = sumsOf(result);
        for (const [account, balance] of result.contentsOf(balances)) expect(balance, account).toBe(sums.get(account));
      },
      'each payment is booked or rejected, once': (result) => {
        const booked = result.recordsOf(postings).filter(({ key, value }) => key === value.account && key.startsWith('account-'));
        const decided = [...booked, ...result.recordsOf(rejections)].map(({ value }) => value.eventId);
        expect(new Set(decided).size).toBe(decided.length);
      },
    },
  });
  expect(report).toMatchObject({ histories: 10 });
  expect(report.crashes).toBeGreaterThanOrEqual(10);
});
