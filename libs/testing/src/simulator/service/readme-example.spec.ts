import { int64, json, keyValueStore, StreamsBuilder, string, topic } from '@tally/streams';
import { simulate, type Workload } from '@tally/testing';
import { expect, it } from 'vitest';

interface Payment {
  readonly amount: number;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const totals = topic('totals', { key: string(), value: int64() });
const sums = keyValueStore('sums', { key: string(), value: int64() });

function topology() {
  const streams = new StreamsBuilder();
  streams
    .stream(payments)
    .groupByKey()
    .aggregate(sums, { initial: () => 0n, add: (sum, payment) => sum + BigInt(payment.amount) })
    .toStream()
    .filter((sum) => sum !== null)
    .to(totals);
  return streams.build();
}

const workload: Workload = (load) => {
  for (let number = 0; number < 300; number += 1) {
    load.add(payments, load.random.oneOf(['anna', 'bert', 'cleo']), { amount: load.random.between(1, 500) });
  }
};

it('loses and repeats no payment, whatever happens to its workers', async () => {
  const report = await simulate(topology(), workload, {
    seeds: 10,
    invariants: {
      'every payment is in the sums'(result) {
        const paid = result.recordsOf(payments).reduce((sum, { value }) => sum + BigInt(value.amount), 0n);
        const counted = [...result.contentsOf(sums).values()].reduce((sum, each) => sum + each, 0n);
        expect(counted).toBe(paid);
      },
    },
  });
  expect(report.histories).toBe(10);
});
