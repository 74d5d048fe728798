import { type ProcessorContext, TopologyBuilder, int64, keyValueStore, sleep, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { setting } from './setting.suite.js';

const calls = topic('calls', { key: string(), value: string() });
const counts = keyValueStore('counts', { key: string(), value: int64() });
const record = (key: string, timestampMs: number) => ({ key, value: 'x', timestampMs });

describe('concurrent handlers', () => {
  it('do not turn stream time back when older records join after newer ones', async () => {
    const test = setting({ calls: 1 });
    const seen: number[] = [];
    const builder = new TopologyBuilder({ name: 'times' });
    const called = builder.processor(builder.source(calls), {
      name: 'call',
      concurrency: { perTask: 8, orderedBy: 'key' },
      async process(each, context: ProcessorContext<string, string>) {
        await sleep(test.clock, 10);
        context.forward(each);
      },
    });
    builder.processor(called, { name: 'behind', process: (_each, context) => void seen.push(context.streamTimeMs) });
    test.cluster.append('calls', 0, [record('a', 1_000), record('b', 500), record('c', 700)]);
    const worker = await test.start(builder.build());
    await test.until(() => worker.health().counters.records === 3);
    expect(seen).toEqual([1_000, 1_000, 1_000]);
    expect(test.cluster.committedOffset('app', { topic: 'calls', partition: 0 }).metadata).toContain('"s":1000');
  });

  it('may not read ranges, which hold the state of keys that others in flight may be changing', async () => {
    const test = setting({ calls: 1 });
    const codes: unknown[] = [];
    const builder = new TopologyBuilder({ name: 'ranges' });
    builder.processor(builder.source(calls), {
      name: 'count',
      stores: [counts],
      concurrency: { perTask: 8, orderedBy: 'key' },
      async process({ key }, context: ProcessorContext) {
        const store = context.store(counts);
        let sum = 0n;
        for await (const [, count] of key === 'a' ? store.all() : store.range('a', 'z')) sum += count;
        store.put(key, sum + 1n);
      },
    });
    test.cluster.append('calls', 0, [record('a', 1), record('b', 2)]);
    const errors = { production: (error: Error) => (codes.push((error as { code?: string }).code), { action: 'skip' as const }) };
    const worker = await test.start(builder.build(), { errors });
    await test.until(() => worker.health().counters.records === 2);
    expect(codes).toEqual(['FOREIGN_KEY_STATE', 'FOREIGN_KEY_STATE']);
  });
});
