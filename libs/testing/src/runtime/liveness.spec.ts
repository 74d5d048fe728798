import { BrokerError, TopologyBuilder, json, keyValueStore, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { type Setting, setting } from './setting.suite.js';

const sizes = topic('sizes', { key: string(), value: json<{ n: number }>() });
const texts = topic('texts', { key: string(), value: string() });
const held = keyValueStore('held', { key: string(), value: string() });

const record = (key: string, n: number, timestampMs = 1_000) => ({ key, value: JSON.stringify({ n }), timestampMs });
const unreachable = new BrokerError({ code: 'TIMED_OUT', kind: 'retriable', message: 'No answer.' });

/** Lets every request of the name fail until the returned function is called. */
function failing(test: Setting, name: 'describeTopics' | 'listOffsets'): () => void {
  return test.cluster.faults.add((request) => (request.name === name ? { error: unreachable } : undefined));
}

describe('a worker goes on', () => {
  for (const use of ['output', 'dead letter'] as const) {
    it(`when the topic of an ${use} could not be looked up for a while: that is not the record's fault`, async () => {
      const test = setting({ sizes: 1, texts: 1 });
      const builder = new TopologyBuilder({ name: 'late' });
      builder.processor(builder.source(sizes), {
        name: 'write',
        process({ key }, context) {
          if (use === 'dead letter') throw new Error('unlucky');
          context.send(texts, key, 'x');
        },
      });
      const worker = await test.start(builder.build(), {
        // A policy that is a function names its topic only when it is asked.
        errors: { production: { action: 'skip' }, processing: () => ({ action: 'deadLetter', topic: 'texts' }) },
      });
      await test.until(() => worker.health().tasks[0]?.phase === 'running');
      const heal = failing(test, 'describeTopics');
      test.cluster.append('sizes', 0, [record('a', 1)]);
      await test.clock.advance(20_000);
      expect(test.cluster.faults.fired.length).toBeGreaterThan(1);
      expect(worker.health()).toMatchObject({ phase: 'running', counters: { records: 0 } });
      heal();
      await test.until(() => worker.health().counters.records === 1);
      expect(worker.health().counters.recordsSkipped).toBe(0);
      expect(test.texts('texts')).toHaveLength(1);
    });
  }

  it('with a punctuation whose epoch was aborted after the epoch of the record that made it due', async () => {
    const test = setting({ sizes: 1, texts: 1 });
    const builder = new TopologyBuilder({ name: 'ticks' });
    builder.processor(builder.source(sizes), {
      name: 'tick',
      create: () => ({
        init: (context) => void context.schedule(10, 'streamTime', (atMs, scope) => scope.send(texts, 'p', String(atMs))),
        process() {},
      }),
    });
    const worker = await test.start(builder.build(), { commitIntervalMs: 0 });
    test.cluster.append('sizes', 0, [record('k', 0, 100)]);
    await test.until(() => test.texts('texts').length === 1);
    await test.clock.advance(5_000);
    let commits = 0;
    test.cluster.faults.add((request) => {
      if (request.name !== 'commitTransactionOffsets' || ++commits !== 2) return undefined;
      return { error: new BrokerError({ code: 'STALE_MEMBER', kind: 'staleMember', message: 'Another epoch.' }) };
    });
    // They fill a slice of the loop: the last one makes the punctuation due, which runs in the next epoch.
    test.cluster.append(
      'sizes',
      0,
      Array.from({ length: 500 }, (_, index) => record('k', index, index === 499 ? 1_100 : 100)),
    );
    await test.clock.advance(20_000);
    expect(worker.health().counters.transactionsAborted).toBe(1);
    expect(test.texts('texts')).toEqual([
      ['p', '100'],
      ['p', '1100'],
    ]);
  });

  it('when memory is at its bound and what fills it belongs to tasks that have nothing more to do', async () => {
    const test = setting({ sizes: 2 });
    const builder = new TopologyBuilder({ name: 'full' });
    builder.processor(builder.source(sizes), {
      name: 'hold',
      stores: [held],
      process: ({ key, value }, context) => context.store(held).put(key, 'x'.repeat(value.n)),
    });
    const worker = await test.start(builder.build(), { bufferBytesMax: 1024 * 1024, stateFlushIntervalMs: 3_600_000 });
    await test.until(() => worker.health().tasks.length === 2 && worker.health().ready);
    // Without an answer the flush has to wait for a later commit.
    const heal = failing(test, 'listOffsets');
    test.cluster.append(
      'sizes',
      0,
      Array.from({ length: 30 }, (_, index) => record(`k${index}`, 50_000)),
    );
    await test.clock.advance(2_000);
    heal();
    test.cluster.append('sizes', 1, [record('a', 1)]);
    await test.clock.advance(10_000);
    expect(test.cluster.faults.fired.length).toBeGreaterThan(0);
    expect(worker.health().counters.records).toBe(31);
  });
});
