import {
  int64,
  json,
  keyValueStore,
  type ProcessorContext,
  StreamsBuilder,
  string,
  topic,
  type Topology,
  TopologyBuilder,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { type SimulateOptions, SimulatedService, SimulationError, simulate, type Workload } from '../index.js';

interface Payment {
  readonly id: number;
  readonly to: string;
  readonly amount: number;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const balanceUpdates = topic('balance-updates', { key: string(), value: int64() });
const receipts = topic('receipts', { key: string(), value: int64() });
const balances = keyValueStore('balances', { key: string(), value: int64() });

/** Keeps the payer's balance, and sends a receipt to whoever is paid. */
function bank(mutate: (payment: Payment) => number = ({ amount }) => amount): Topology {
  const builder = new TopologyBuilder({ name: 'bank' });
  builder.processor(builder.source(payments), {
    name: 'pay',
    stores: [balances],
    process({ key, value }, context: ProcessorContext<never, never>) {
      const balance = (context.store(balances).get(key) ?? 0n) - BigInt(mutate(value));
      context.store(balances).put(key, balance);
      context.send(balanceUpdates, key, balance);
      context.send(receipts, value.to, BigInt(value.amount));
    },
  });
  return builder.build();
}

const workload: Workload = (load) => {
  const names = ['anna', 'bert', 'cleo', 'dora'];
  for (let id = 1; id <= 120; id += 1) {
    load.add(payments, load.random.oneOf(names), { id, to: load.random.oneOf(['shop', 'landlord']), amount: load.random.between(1, 90) });
  }
};

const options: SimulateOptions = {
  seeds: 6,
  unordered: [receipts],
  invariants: {
    'what is paid is received'(result) {
      const paid = -[...result.contentsOf(balances).values()].reduce((sum, each) => sum + each, 0n);
      const received = result.recordsOf(receipts).reduce((sum, { value }) => sum + value, 0n);
      expect(received).toBe(paid);
    },
  },
};

describe('simulating a service', () => {
  it('finds nothing in one that is right', async () => {
    const report = await simulate(bank(), workload, options);
    expect(report.histories).toBe(6);
    expect(report.records).toBe(6 * 120);
    expect(report.crashes).toBeGreaterThan(5);
    expect(Object.keys(report.faultsFired).length).toBeGreaterThan(5);
  });

  it('finds memory that a crash takes away, and tells the seed and what it takes', async () => {
    // A service that counts in a variable: it is right as long as nothing goes wrong.
    const forgetful = (): Topology => {
      let paid = 0;
      return bank(() => (paid += 1));
    };
    const failure = await simulate(forgetful, workload, { unordered: [receipts], partitions: 1, seeds: 20 }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(SimulationError);
    const { seed, violations, plan, message } = failure as SimulationError;
    expect(violations.map(({ checker }) => checker)).toContain('output');
    expect(plan.faults.length).toBeLessThan(4);
    expect(message).toContain(`{ seeds: [${seed}] }`);
    await expect(simulate(forgetful, workload, { unordered: [receipts], partitions: 1, seeds: [seed] })).rejects.toThrow(
      `seed ${seed} is wrong`,
    );
  });

  it('tells of an invariant that does not hold, and of what is wrong without any fault', async () => {
    const impossible = { 'nobody pays': (): void => expect(1).toBe(2) };
    await expect(simulate(bank(), workload, { ...options, invariants: impossible })).rejects.toThrow(
      /invariant: without any fault: 'nobody pays' does not hold/,
    );
  });

  it('gives each history what the seed draws, the same each time', async () => {
    const seen: string[] = [];
    const noting: Workload = (load) => {
      load.add(payments, 'anna', { id: 1, to: 'shop', amount: load.random.between(1, 1_000_000) });
      seen.push(JSON.stringify(load.records));
    };
    const report = await simulate(bank(), noting, { seeds: [4, 5, 4] });
    expect(report.histories).toBe(3);
    expect(seen[0]).toBe(seen[2]);
    expect(seen[0]).not.toBe(seen[1]);
  });

  it('refuses records for a topic that is not read', async () => {
    await expect(simulate(bank(), (load) => load.add(receipts, 'anna', 1n), { seeds: 1 })).rejects.toThrow(
      "The topology does not read the topic 'receipts'. It reads: 'payments'.",
    );
  });

  it('takes a service with the options that it has, and its DSL', async () => {
    const streams = new StreamsBuilder();
    const totals = keyValueStore('totals', { key: string(), value: int64() });
    streams
      .stream(payments)
      .selectKey((payment) => payment.to)
      .groupByKey()
      .aggregate(totals, { initial: () => 0n, add: (sum, { amount }) => sum + BigInt(amount) });
    const service = new SimulatedService();
    expect(() => service.program).toThrow('has not made its worker yet');
    const worker = service.createWorker(
      { topology: streams.build() },
      { applicationId: 'paid', stateDirectory: './state', commitIntervalMs: 20 },
    );
    await worker.start();
    expect(worker.health().ready).toBe(true);
    const report = await simulate(service, workload, { seeds: 3, without: ['disk', 'slowDisk'] });
    expect(report.faultsFired).not.toHaveProperty('slow disk');
    await worker.stop();
    await worker.finished;
  });
});
