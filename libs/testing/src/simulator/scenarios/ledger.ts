/**
 * A ledger as services have it: payments with copies that must count once, overdrafts that are rejected, two postings for each payment
 * that is accepted, and a memory of event ids that a punctuator keeps bounded.
 */
import {
  int64,
  type InitContext,
  json,
  keyValueStore,
  type Processor,
  type ProcessorContext,
  string,
  topic,
  TopologyBuilder,
} from '@tally/streams';
import { exactly, Lanes, originOf, type Result, type Scenario, textOf } from './scenario.js';

interface Payment {
  readonly id: number;
  readonly event: string;
  readonly counterparty: string;
  /** Negative where money goes out. */
  readonly change: number;
}

interface Posting {
  readonly id: number;
  readonly payer: string;
  readonly change: number;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const balanceUpdates = topic('balance-updates', { key: string(), value: int64() });
const postings = topic('postings', { key: string(), value: json<Posting>() });
const rejections = topic('rejections', { key: string(), value: json<Payment>() });
const balances = keyValueStore('balances', { key: string(), value: int64() });
const seen = keyValueStore('seen', { key: string(), value: int64() });

const outputs = [{ name: balanceUpdates.name }, { name: postings.name }, { name: rejections.name }];
const windowMs = 1_000;
const parse = <T>(bytes: Uint8Array | null): T => JSON.parse(textOf(bytes)) as T;

function createLedger(): Processor<string, Payment> {
  return {
    init(task: InitContext) {
      task.schedule(windowMs, 'streamTime', async (atMs, context) => {
        const store = context.store(seen);
        for await (const [event, seenMs] of store.all()) if (atMs - Number(seenMs) > windowMs) store.delete(event);
      });
    },
    process({ key: account, value: payment }, context) {
      const seenMs = context.store(seen).get(payment.event);
      if (seenMs !== undefined && context.streamTimeMs - Number(seenMs) <= windowMs) return;
      context.store(seen).put(payment.event, BigInt(context.streamTimeMs));
      const balance = (context.store(balances).get(account) ?? 0n) + BigInt(payment.change);
      if (balance < 0n) {
        context.send(rejections, account, payment);
        return;
      }
      context.store(balances).put(account, balance);
      context.send(balanceUpdates, account, balance);
      sendPostings(account, payment, context);
    },
  };
}

function sendPostings(payer: string, { id, counterparty, change }: Payment, context: ProcessorContext): void {
  context.send(postings, payer, { id, payer, change });
  context.send(postings, counterparty, { id, payer, change: -change });
}

export const ledgerScenario: Scenario = {
  name: 'ledger',
  weight: 3,
  guarantees: exactly,
  inputs: [{ name: payments.name }],
  outputs,
  stores: [balances, seen],
  isStateful: true,
  isAsynchronous: true,
  // A punctuator that passes its deadline is tried again: it does nothing wrong, it is only slow.
  errors: { processing: { action: 'retry', retriesMax: 1_000, backoffMs: 5, backoffMaxMs: 50, then: { action: 'stop' } } },
  topology() {
    const builder = new TopologyBuilder({ name: 'ledger' });
    builder.processor(builder.source(payments), { name: 'book', stores: [balances, seen], create: createLedger });
    return builder.build();
  },
  record(draw, id, partition) {
    const account = `account-${partition}-${draw.below(6)}`;
    // A copy bears the event of a payment that came a little earlier, whoever sent it.
    const event = draw.chance(0.15) ? id - 16 * draw.between(1, 40) : id;
    const payment: Payment = {
      id,
      event: `event-${partition}-${Math.max(0, event >> 4)}`,
      counterparty: `shop-${draw.below(3)}`,
      change: draw.chance(0.6) ? draw.between(1, 500) : -draw.between(1, 500),
    };
    return { topic: payments.name, key: account, value: Buffer.from(JSON.stringify(payment)) };
  },
  lane({ topic: name, key, value }) {
    if (name === balanceUpdates.name) return [textOf(key), String(int64().deserialize(value ?? Buffer.alloc(8)))];
    const { id, change } = parse<Posting>(value);
    return name === rejections.name ? [textOf(key), String(id)] : [postingLane(textOf(key), id), `${id}:${change}`];
  },
  storeText: (_store, value) => String(value),
  expect(inputs) {
    const lanes = new Lanes(outputs);
    const balanceOf = new Map<string, number>();
    const seenAt = new Map<string, number>();
    const streamTimes = new Map<number, number>();
    for (const { key: account, value, timestampMs, partition } of inputs) {
      const { id, event, counterparty, change } = parse<Payment>(value);
      const streamTimeMs = Math.max(streamTimes.get(partition) ?? -1, timestampMs);
      streamTimes.set(partition, streamTimeMs);
      const before = seenAt.get(event);
      if (before !== undefined && streamTimeMs - before <= windowMs) continue;
      seenAt.set(event, streamTimeMs);
      const balance = (balanceOf.get(account) ?? 0) + change;
      if (balance < 0) {
        lanes.add(rejections.name, account, String(id));
        continue;
      }
      balanceOf.set(account, balance);
      lanes.add(balanceUpdates.name, account, String(balance));
      lanes.add(postings.name, postingLane(account, id), `${id}:${change}`);
      lanes.add(postings.name, postingLane(counterparty, id), `${id}:${-change}`);
    }
    const held = new Map([...balanceOf].map(([account, balance]) => [account, String(balance)]));
    return { outputs: lanes.byTopic, stores: new Map([[balances.name, held]]) };
  },
  conserved,
};

const postingLane = (account: string, id: number): string => `${account} from partition ${originOf(id).partition}`;

/** No money comes into being: all postings together are zero, and those of an account are its balance. */
function conserved({ outputs: written, stores, complete }: Result): string[] {
  const sums = new Map<string, number>();
  for (const { key, value } of written.get(postings.name) ?? []) {
    const name = textOf(key);
    sums.set(name, (sums.get(name) ?? 0) + parse<Posting>(value).change);
  }
  // Markers of one transaction become visible one after another: only when all are there do both sides of each payment lie in the log.
  if (!complete) return [];
  const total = [...sums.values()].reduce((sum, each) => sum + each, 0);
  const problems = total === 0 ? [] : [`all postings together are ${total}`];
  for (const [account, balance] of stores.get(balances.name) ?? []) {
    if (sums.get(account) !== Number(balance))
      problems.push(`the balance of ${account} is ${balance}, its postings are ${sums.get(account)}`);
  }
  return problems;
}
