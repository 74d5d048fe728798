/** What the compiler accepts and refuses of the test driver. Compiled, never run. */
import { bytes, int64, json, keyValueStore, nullable, string, topic, windowStore } from '@tally/streams';
import { type OutputRecord, TopologyTestDriver } from '@tally/testing';

interface Payment {
  readonly id: string;
  readonly amount: bigint;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const totals = topic('totals', { key: string(), value: nullable(int64()) });
const raw = topic('payments', { key: bytes(), value: bytes() });
const sums = keyValueStore('sums', { key: string(), value: int64() });
const recent = windowStore('recent', { key: string(), value: int64(), retentionMs: 60_000 });

export async function inputs(driver: TopologyTestDriver): Promise<void> {
  const input = driver.input(payments);
  await input.pipe('alice', { id: 'a', amount: 1n }, { timestampMs: 1, partition: 0 });
  await input.pipe('alice', null);
  await input.pipeBytes('alice', '{');
  await driver.input(raw).pipe(new Uint8Array(), Buffer.from('x'));
  await input.pipeAll([{ key: 'alice', value: { id: 'a', amount: 1n } }]);
  // @ts-expect-error the value is a payment
  await input.pipe('alice', 5n);
  // @ts-expect-error the key is a string
  await input.pipe(5n, { id: 'a', amount: 1n });
  // @ts-expect-error a payment has an amount
  await input.pipeAll([{ key: 'alice', value: { id: 'a' } }]);
  // @ts-expect-error the time is given as timestampMs
  await input.pipe('alice', null, { timestamp: 1 });
}

export function outputs(driver: TopologyTestDriver): OutputRecord<string, bigint | null>[] {
  const record = driver.output(totals).read();
  // @ts-expect-error there may be none
  void record.value;
  // @ts-expect-error the value may be null
  const value: bigint | undefined = record?.value;
  void value;
  return driver.output(totals).readAll();
}

export async function stores(driver: TopologyTestDriver): Promise<bigint | undefined> {
  await driver.store(sums).put('alice', 1n, { timestampMs: 1 });
  const entries: (readonly [string, bigint])[] = await driver.store(sums).entries();
  void entries;
  // @ts-expect-error the store holds bigints
  await driver.store(sums).put('alice', 1);
  // @ts-expect-error windows are used by editStore
  driver.store(recent);
  const fetched: bigint | undefined = await driver.editStore(recent, 0, (store) => store.get('alice', 0));
  void fetched;
  return driver.store(sums).get('alice');
}

export function starts(): void {
  void new TopologyTestDriver({ partitions: 2, startMs: 0, seed: 1, callTimeoutMs: 1 });
  // @ts-expect-error the worker's options belong to start
  void new TopologyTestDriver({ worker: {} });
}
