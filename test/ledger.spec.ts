/** The built ledger as its users meet it: payments over Kafka, questions over HTTP. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../apps/ledger/demo/instance.js';
import type { RawRecord } from '../apps/ledger/demo/model.js';
import { Progress } from '../apps/ledger/demo/progress.js';
import { Stage } from '../apps/ledger/demo/stage.js';
import type { LoadRecord } from '../apps/ledger/load/payments.js';
import { sendLoad } from '../apps/ledger/load/sender.js';
import { kafkaAddresses } from './kafka-setting.js';

const entryFile = fileURLToPath(new URL('../dist/apps/ledger/main.js', import.meta.url));
const abort = new AbortController();
const startMs = 1_700_000_000_000;
let stage: Stage;
let sent = 0;

function payment(eventId: string, account: string, kind: string, amount: number): LoadRecord {
  const value = JSON.stringify({ eventId, account, kind, amount, currency: 'EUR', counterparty: 'shop' });
  return { kind: 'payment', key: account, value, timestampMs: startMs };
}

/** Sends, and waits until all of it has been processed. */
async function send(...records: readonly LoadRecord[]): Promise<void> {
  sent += await sendLoad(records, {
    brokers: kafkaAddresses(),
    topic: stage.topics.payments,
    ratePerSecond: () => 10_000,
    signal: abort.signal,
  });
  await waitFor(
    'the payments are processed',
    60_000,
    abort.signal,
    async () => (await stage.readProcessedOffsets()).reduce((sum, offset) => sum + offset, 0) >= sent,
  );
}

async function read(topic: string): Promise<RawRecord[]> {
  const records: RawRecord[] = [];
  const starts = stage.inputs.map(({ partition }) => ({ topic, partition, offset: 0 }));
  await stage.cluster.read(starts, true, (record) => records.push(record));
  return records;
}

beforeAll(async () => {
  const progress = new Progress({ write: () => {} });
  stage = await Stage.open({ brokers: kafkaAddresses(), entryFile, instances: 2, windowMs: 3_600_000, progress, signal: abort.signal });
  for (const instance of stage.instances) instance.start();
  await waitFor('both instances have partitions', 60_000, abort.signal, async () => {
    await stage.refresh();
    return stage.instances.every(({ stats }) => stats?.ready === true && stats.partitions.length === 2);
  });
});

afterAll(async () => {
  abort.abort();
  await stage?.close(false);
});

describe('the ledger', () => {
  it('answers for an account on the instance that owns it, and says on others that it does not', async () => {
    await send(payment('e1', 'anna', 'deposit', 500), payment('e2', 'anna', 'withdrawal', 200), payment('e1', 'anna', 'deposit', 500));
    const answers = await Promise.all(stage.instances.map((instance) => instance.balance('anna')));
    expect(answers).toContainEqual({ account: 'anna', balance: 300n });
    expect(answers).toContain(421);
    const lists = await Promise.all(stage.instances.map((instance) => instance.balances()));
    expect(lists.flat().filter(({ account }) => account === 'anna')).toEqual([{ account: 'anna', balance: 300n }]);
    const unknown = await Promise.all(stage.instances.map((instance) => instance.balance('nobody')));
    expect(unknown.sort()).toEqual([404, 421]);
  });

  it('writes two postings for an accepted payment, and a rejection for an overdraft', async () => {
    await send(payment('e3', 'bert', 'deposit', 70), payment('e4', 'bert', 'withdrawal', 71));
    const postings = (await read(stage.topics.postings)).map(
      ({ value }) => JSON.parse(String(value)) as { eventId: string; account: string; amount: number },
    );
    expect(postings.filter(({ eventId }) => eventId === 'e3').sort((left, right) => right.amount - left.amount)).toEqual([
      { eventId: 'e3', account: 'bert', amount: 70 },
      { eventId: 'e3', account: 'shop', amount: -70 },
    ]);
    const rejections = (await read(stage.topics.rejected)).map(({ value }) => JSON.parse(String(value)) as unknown);
    expect(rejections).toEqual([{ eventId: 'e4', account: 'bert', reason: 'overdraft', balance: '70' }]);
  });

  it('puts malformed payments aside with their own bytes, and goes on', async () => {
    const broken: LoadRecord = { ...payment('e5', 'carl', 'deposit', 5), value: '{"eventId":' };
    const foreign: LoadRecord = { ...payment('e6', 'dora', 'deposit', 5), key: 'carl' };
    await send(broken, foreign, payment('e7', 'carl', 'deposit', 5));
    const deadLetters = await read(stage.topics.malformed);
    expect(deadLetters.map(({ key, value }) => [String(key), String(value)]).sort()).toEqual(
      [
        ['carl', broken.value],
        ['carl', foreign.value],
      ].sort(),
    );
    const answers = await Promise.all(stage.instances.map((instance) => instance.balance('carl')));
    expect(answers).toContainEqual({ account: 'carl', balance: 5n });
  });

  it('reports its health', async () => {
    for (const instance of stage.instances) {
      expect(await instance.status('/health/live')).toBe(200);
      expect(await instance.status('/health/ready')).toBe(200);
    }
  });

  it('ends gracefully on SIGTERM, and its partitions move', async () => {
    const [first, second] = stage.instances;
    await first?.stop();
    await waitFor('the other instance owns everything', 60_000, abort.signal, async () => {
      await second?.refresh();
      return second?.stats?.partitions.length === stage.inputs.length;
    });
    expect(await second?.balance('anna')).toEqual({ account: 'anna', balance: 300n });
  });
});
