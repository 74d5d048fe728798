import {
  BrokerError,
  MemoryEngine,
  StreamsWorker,
  TopologyBuilder,
  int64,
  keyValueStore,
  seededRandom,
  string,
  topic,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { SimulatedBroker } from '../index.js';
import { type Setting, setting } from './setting.suite.js';

const amounts = topic('amounts', { key: string(), value: int64() });
const totals = topic('totals', { key: string(), value: int64() });
const sums = keyValueStore('sums', { key: string(), value: int64() });

function summing() {
  const builder = new TopologyBuilder({ name: 'summing' });
  builder.processor(builder.source(amounts), {
    name: 'sum',
    stores: [sums],
    process({ key, value }, context) {
      const store = context.store(sums);
      const sum = (store.get(key) ?? 0n) + value;
      store.put(key, sum);
      context.send(totals, key, sum);
    },
  });
  return builder.build();
}

const one = { key: 'k', value: Buffer.from(int64().serialize(1n) ?? []) };
const sent = (test: Setting): bigint[] =>
  test.cluster.allRecords('totals').map(({ value }) => int64().deserialize(value ?? new Uint8Array()));

describe('a producer that is fenced', () => {
  it('again and again, by a worker on a copy of the state directory, stops its worker, which names the id', async () => {
    const test = setting({ amounts: 2, totals: 1 });
    // An identity is drawn at random: the same seed stands for a copied directory.
    const worker = (process: string) =>
      new StreamsWorker(
        {
          topology: summing(),
          broker: new SimulatedBroker(test.cluster, { process }),
          storeEngine: new MemoryEngine(),
          clock: test.clock,
          random: seededRandom(7),
        },
        { applicationId: 'app', stateDirectory: '/state' },
      );
    const workers = [worker('a'), worker('b')];
    for (const each of workers) await test.clock.run(each.start());
    const failed = (): readonly string[] =>
      workers.flatMap((each) => {
        const { error } = each.health();
        return error === undefined ? [] : [error.message];
      });
    await test.until(() => {
      for (const partition of [0, 1]) test.cluster.append('amounts', partition, [one]);
      return failed().length > 0;
    });
    expect(failed()[0]).toMatch(/uses the transactional id 'app-\w+-0'.*copied state directory/);
    for (const each of workers) await test.clock.run(each.stop());
  });

  it('or broken for another reason is replaced, however often: there need not be a rival', async () => {
    const test = setting({ amounts: 1, totals: 1 });
    const worker = await test.start(summing());
    await test.until(() => worker.health().counters.transactionsCommitted > 0);
    const broken = new BrokerError({
      code: 'TRANSACTION_INVALID',
      kind: 'fenced',
      brokerCode: 48,
      message: 'The coordinator does not know the transaction any more.',
    });
    for (let round = 1; round <= 4; round++) {
      let isArmed = true;
      const heal = test.cluster.faults.add(({ name }) => {
        if (name !== 'endTransaction' || !isArmed) return undefined;
        isArmed = false;
        return { error: broken };
      });
      test.cluster.append('amounts', 0, [one]);
      await test.until(() => worker.health().counters.producersReplaced === round && sent(test).length === round);
      heal();
    }
    expect(worker.health()).toMatchObject({ phase: 'running', counters: { producersReplaced: 4 } });
    expect(sent(test)).toEqual([1n, 2n, 3n, 4n]);
  });
});
