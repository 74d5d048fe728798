import { TopologyBuilder, deadLetterHeaders, json, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { type Setting, setting } from './setting.suite.js';

const orders = topic('orders', { key: string(), value: json<{ n: number; padding?: string }>() });
const texts = topic('texts', { key: string(), value: string() });
const deadLetters = { errors: { processing: { action: 'deadLetter', topic: 'dead' } } } as const;

/** Sends each number, and throws at 13. */
function topology() {
  const builder = new TopologyBuilder({ name: 'letters' });
  builder.processor(builder.source(orders), {
    name: 'work',
    process({ key, value }, context) {
      context.send(texts, key, String(value.n));
      if (value.n === 13) throw new Error('unlucky');
    },
  });
  return builder.build();
}

function load(test: Setting, padding: string): void {
  const records = Array.from({ length: 40 }, (_, n) => ({ key: 'k', value: JSON.stringify(n === 13 ? { n, padding } : { n }) }));
  test.cluster.append('orders', 0, records);
}

const headerOf = (test: Setting, name: string): string =>
  String(test.cluster.allRecords('dead')[0]?.headers.find((header) => header.name === name)?.value ?? '');
const expected = Array.from({ length: 40 }, (_, n) => String(n)).filter((n) => n !== '13');

describe('a dead letter that the broker refuses', () => {
  it('is written without its value, under the policy that wrote it and no other', async () => {
    const test = setting({ orders: 1, texts: 1 });
    test.cluster.createTopic('dead', 1, { 'max.message.bytes': '20000' });
    load(test, 'x'.repeat(30_000));
    const outcomes = new Set<string>();
    const worker = await test.start(topology(), deadLetters, {
      recordFailed: (_place, error, outcome) => void outcomes.add(`${outcome}: ${error.message}`),
    });
    await test.until(() => worker.health().counters.records === 40);
    expect(test.texts('dead')).toEqual([['k', null]]);
    expect(headerOf(test, deadLetterHeaders.truncated)).toBe('value');
    expect(headerOf(test, deadLetterHeaders.errorMessage)).toBe('unlucky');
    expect([...outcomes]).toEqual(['deadLettered: unlucky']);
    expect(test.texts('texts').map(([, value]) => value)).toEqual(expected);
  });

  it('stops the worker when not even its headers are taken, and says which record it was', async () => {
    const test = setting({ orders: 1, texts: 1 });
    test.cluster.createTopic('dead', 1, { 'max.message.bytes': '80' });
    load(test, '');
    const worker = await test.start(topology(), deadLetters);
    const error = await test.clock.run(
      worker.finished.then(
        () => undefined,
        (reason: Error & { code?: string }) => reason,
      ),
    );
    expect(error?.code).toBe('DEAD_LETTER_REFUSED');
    expect(error?.message).toMatch(/dead letter of record orders-0 offset 13 was refused, even without its key and value/);
    expect(test.cluster.committedOffset('app', { topic: 'orders', partition: 0 }).offset).toBe(13);
  });
});
