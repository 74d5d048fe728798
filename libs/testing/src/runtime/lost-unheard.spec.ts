import { type StreamsWorker, TopologyBuilder, int64, keyValueStore, MemoryEngine, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { SimulatedBroker, type SimulatedRequest } from '../index.js';
import { type Setting, setting } from './setting.suite.js';

const amounts = topic('amounts', { key: string(), value: int64() });
const sums = keyValueStore('sums', { key: string(), value: int64() });

function summing() {
  const builder = new TopologyBuilder({ name: 'summing' });
  builder.processor(builder.source(amounts), {
    name: 'sum',
    stores: [sums],
    process: ({ key, value }, context) => context.store(sums).put(key, (context.store(sums).get(key) ?? 0n) + value),
  });
  return builder.build();
}

/** Delays the nth request of the name that the first worker sends, counted from now. */
function delay(test: Setting, name: SimulatedRequest['name'], nth: number, delayMs: number): void {
  let seen = 0;
  const remove = test.cluster.faults.add((request) => {
    if (request.process !== 'p0' || request.name !== name) return undefined;
    seen += 1;
    if (seen < nth) return undefined;
    remove();
    return { delayMs };
  });
}

function taskPhases(worker: StreamsWorker): string[] {
  return worker.health().tasks.map(({ phase }) => phase);
}

describe('a worker that has lost its partition without having heard of it', () => {
  it('does not take what its successor has committed while it opened its task for state whose offsets have expired', async () => {
    const test = setting({ amounts: 1 });
    const first = test.worker(summing(), {}, {}, new MemoryEngine());
    // The stable offsets have been read by then: there are none.
    delay(test, 'listOffsets', 2, 9_000);
    await test.clock.run(first.start());
    await test.until(() => taskPhases(first).includes('restoring'));
    const reunite = test.cluster.faults.add(({ process, name }) =>
      process === 'p0' && name === 'heartbeat' ? { lose: 'request' } : undefined,
    );
    const second = await test.start(summing(), {}, {}, new MemoryEngine());
    await test.until(() => taskPhases(second).includes('running'));
    test.cluster.append('amounts', 0, [{ key: 'k', value: Buffer.from(int64().serialize(5n) ?? []) }]);
    await test.clock.advance(6_000);
    expect(first.health().error).toBeUndefined();
    reunite();
    await test.clock.advance(3_000);
    expect([first.health().phase, taskPhases(first), taskPhases(second)]).toEqual(['running', [], ['running']]);
    expect(await test.clock.run(second.query(sums).get('k'))).toBe(5n);
  });

  it('does not take records that its successor has processed, and retention has deleted, for records lost', async () => {
    const test = setting({ amounts: 1 });
    const add = (...values: readonly bigint[]): void =>
      test.cluster.append(
        'amounts',
        0,
        values.map((value) => ({ key: 'k', value: Buffer.from(int64().serialize(value) ?? []) })),
      );
    const first = await test.start(summing(), {}, {}, new MemoryEngine());
    await test.until(() => taskPhases(first).includes('running'));
    const lose = (name: SimulatedRequest['name']): (() => void) =>
      test.cluster.faults.add((request) => (request.process === 'p0' && request.name === name ? { lose: 'request' } : undefined));
    add(1n, 2n);
    await test.until(() => first.health().counters.records === 2);
    const reunite = lose('heartbeat');
    const fetchAgain = lose('fetch');
    const second = await test.start(summing(), {}, {}, new MemoryEngine());
    await test.until(() => taskPhases(second).includes('running'));
    add(3n, 4n);
    await test.until(() => second.health().counters.records === 2);
    await test.clock.run(new SimulatedBroker(test.cluster).admin.deleteRecords([{ topic: 'amounts', partition: 0, offset: 4 }]));
    fetchAgain();
    await test.clock.advance(15_000);
    expect([first.health().phase, first.health().error]).toEqual(['running', undefined]);
    reunite();
    await test.clock.advance(3_000);
    expect([first.health().phase, taskPhases(first), taskPhases(second)]).toEqual(['running', [], ['running']]);
    expect(await test.clock.run(second.query(sums).get('k'))).toBe(10n);
  });
});
