import { type ProcessorContext, TopologyBuilder, json, sleep, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { type Setting, setting } from './setting.suite.js';

const sizes = topic('sizes', { key: string(), value: json<{ n: number }>() });
const texts = topic('texts', { key: string(), value: string() });
const tooLarge = 9_000;

/** `texts` takes less than the application believes, so that only the broker refuses. */
function refusing(partitions: number): Setting {
  const test = setting({ sizes: partitions, dead: partitions });
  test.cluster.createTopic('texts', 1, { 'max.message.bytes': '5000' });
  return test;
}

const record = (key: string, n: number, timestampMs = 1_000) => ({ key, value: JSON.stringify({ n }), timestampMs });
const lengths = (test: Setting): number[] => test.texts('texts').map(([, value]) => value?.length ?? -1);
const toDeadLetters = { errors: { production: { action: 'deadLetter', topic: 'dead' } } } as const;

describe('the search for a refused record', () => {
  it('ends although concurrent handlers end, and would join, together', async () => {
    const test = refusing(1);
    const builder = new TopologyBuilder({ name: 'together' });
    builder.processor(builder.source(sizes), {
      name: 'write',
      concurrency: { perTask: 8, orderedBy: 'key' },
      async process({ key, value }, context: ProcessorContext) {
        await sleep(test.clock, 10);
        context.send(texts, key, 'x'.repeat(value.n));
      },
    });
    test.cluster.append(
      'sizes',
      0,
      Array.from({ length: 8 }, (_, index) => record(`k${index}`, index === 5 ? tooLarge : index)),
    );
    const worker = await test.start(builder.build(), toDeadLetters);
    await test.until(() => worker.health().counters.records === 8);
    expect(test.texts('dead')).toEqual([['k5', `{"n":${tooLarge}}`]]);
    expect(lengths(test)).toEqual([0, 1, 2, 3, 4, 6, 7]);
  });

  for (const culprit of ['record', 'punctuation'] as const) {
    it(`finds a ${culprit} where each record makes a punctuation due`, async () => {
      const test = refusing(1);
      const builder = new TopologyBuilder({ name: 'punctuated' });
      builder.processor(builder.source(sizes), {
        name: 'write',
        create: () => ({
          init(context) {
            context.schedule(10, 'streamTime', (atMs, scope) =>
              scope.send(texts, 'p', 'x'.repeat(atMs === 6_000 && culprit === 'punctuation' ? tooLarge : 100)),
            );
          },
          process: ({ key, value }, context) => context.send(texts, key, 'x'.repeat(value.n)),
        }),
      });
      const records = Array.from({ length: 20 }, (_, index) =>
        record('k', index === 5 && culprit === 'record' ? tooLarge : index, 1_000 * (index + 1)),
      );
      test.cluster.append('sizes', 0, records);
      const worker = await test.start(builder.build(), { errors: { production: { action: 'skip' } } });
      await test.until(() => worker.health().counters.records === 20 && lengths(test).length >= (culprit === 'record' ? 38 : 39));
      expect(worker.health().counters.recordsSkipped).toBe(culprit === 'record' ? 1 : 0);
      // A record that is skipped moves no stream time, so it makes nothing due.
      expect(lengths(test).filter((length) => length === 100)).toHaveLength(19);
    });
  }

  it('ends beside another task that writes to the same partition and always has something to do', async () => {
    const test = refusing(2);
    const builder = new TopologyBuilder({ name: 'busy' });
    builder.processor(builder.source(sizes), {
      name: 'write',
      process: ({ key, value }, context) => context.send(texts, key, 'x'.repeat(value.n)),
    });
    const worker = await test.start(builder.build(), toDeadLetters);
    await test.until(() => worker.health().tasks.length === 2 && worker.health().ready);
    test.cluster.append(
      'sizes',
      1,
      Array.from({ length: 300 }, (_, index) => record(`k${index}`, index === 137 ? tooLarge : 3)),
    );
    for (let round = 0; round < 2_000 && test.texts('dead').length === 0; round++) {
      test.cluster.append('sizes', 0, [record('b', 1), record('b', 2)]);
      await test.clock.advance(5);
    }
    expect(test.texts('dead')).toEqual([['k137', `{"n":${tooLarge}}`]]);
  });
});
