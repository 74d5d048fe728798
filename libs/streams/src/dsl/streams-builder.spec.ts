import { describe, expect, it } from 'vitest';
import { noHeaders, type StreamRecord } from '../core/record.js';
import { int64, json, nullable, string } from '../serde/index.js';
import { keyValueStore, topic } from '../topology/index.js';
import { StreamsBuilder } from './index.js';
import { runner } from './topology-runner.suite.js';

interface Payment {
  readonly id: string;
  readonly account: string;
  readonly amount: bigint;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const audited = topic('audited', { key: string(), value: json<Payment>() });
const amounts = topic('amounts', { key: nullable(string()), value: nullable(int64()) });
const words = topic('words', { key: string(), value: string() });
const balances = keyValueStore('balances', { key: string(), value: int64() });

const record = (key: string | null, value: unknown, timestampMs = 5): StreamRecord<unknown, unknown> => ({
  key,
  value,
  timestampMs,
  headers: noHeaders,
});
const payment = (id: string, account: string, amount: bigint): Payment => ({ id, account, amount });

describe('StreamsBuilder', () => {
  it('runs a chain of stateless operators', () => {
    const streams = new StreamsBuilder();
    const seen: unknown[] = [];
    streams
      .stream(payments)
      .filter((value) => value.amount > 0n)
      .peek((value, key) => seen.push([key, value.id]))
      .flatMap((value) => [value.id, value.account])
      .mapRecord((value, key) => [`${key}!`, value] as const)
      .to(words);
    const { pipe, sent } = runner(streams.build());
    pipe('payments', record('k', payment('p1', 'a', 1n)));
    pipe('payments', record('k', payment('p2', 'a', 0n)));
    expect(sent).toEqual([
      ['words', 'k!', 'p1', 5],
      ['words', 'k!', 'a', 5],
    ]);
    expect(seen).toEqual([['k', 'p1']]);
  });

  it("aggregates per key without a repartition topic where the key is the topic's", () => {
    const streams = new StreamsBuilder();
    streams
      .stream(payments)
      .map((value) => value.amount)
      .groupByKey()
      .aggregate(balances, { initial: () => 0n, add: (sum, amount) => sum + amount })
      .toStream()
      .to(amounts);
    const topology = streams.build();
    expect(topology.repartitionTopics).toEqual([]);
    const { pipe, sent } = runner(topology);
    pipe('payments', record('a', payment('1', 'x', 2n), 9));
    pipe('payments', record('a', payment('2', 'x', 3n), 4));
    pipe('payments', record('b', payment('3', 'x', 1n), 4));
    expect(sent).toEqual([
      ['amounts', 'a', 2n, 9],
      ['amounts', 'a', 5n, 9],
      ['amounts', 'b', 1n, 4],
    ]);
  });

  it('sends records through a repartition topic after their key was replaced, without those that have none', () => {
    const streams = new StreamsBuilder();
    const byAccount = streams
      .stream(payments)
      .selectKey((value) => (value.account === '' ? null : value.account), { key: nullable(string()) });
    const grouped = byAccount.groupByKey();
    grouped
      .aggregate(balances, { initial: () => 0n, add: (sum, value) => sum + value.amount })
      .toStream()
      .to(amounts);
    grouped.count();
    const topology = streams.build();
    expect(topology.repartitionTopics.map(({ name }) => name)).toEqual(['balances-repartition']);
    expect(topology.subTopologies).toMatchObject([
      { id: 'balances-repartition', sourceTopics: ['balances-repartition'], stores: ['balances', 'payments-count'] },
      { id: 'payments', sourceTopics: ['payments'], stores: [] },
    ]);
    const { pipe, sent, entries } = runner(topology);
    pipe('payments', record('k', payment('1', 'x', 2n)));
    pipe('payments', record('l', payment('2', 'x', 3n)));
    pipe('payments', record('l', payment('3', '', 3n)));
    expect(sent).toEqual([
      ['amounts', 'x', 2n, 5],
      ['amounts', 'x', 5n, 5],
    ]);
    expect(entries.get('payments-count')).toEqual(new Map([['x', { value: 2n, timestampMs: 5 }]]));
  });

  it('counts and reduces', () => {
    const streams = new StreamsBuilder();
    const grouped = streams.stream(words).groupByKey();
    const counts = keyValueStore('counts', { key: string(), value: int64() });
    grouped.count(counts).toStream().to(amounts);
    grouped.reduce(keyValueStore('longest', { key: string(), value: string() }), (left, right) =>
      left.length >= right.length ? left : right,
    );
    grouped.count({ name: 'named' });
    const { pipe, sent, entries } = runner(streams.build());
    for (const word of ['a', 'abc', 'ab']) pipe('words', record('k', word));
    expect(sent.map(([, , count]) => count)).toEqual([1n, 2n, 3n]);
    expect(entries.get('longest')?.get('k')?.value).toBe('abc');
    expect(entries.get('named')?.get('k')?.value).toBe(3n);
  });

  it('reads several topics as one stream', () => {
    const streams = new StreamsBuilder();
    streams
      .stream([payments, audited])
      .map((value) => value.id)
      .to(words);
    const { pipe, sent } = runner(streams.build());
    pipe('payments', record('k', payment('1', '', 0n)));
    pipe('audited', record('k', payment('2', '', 0n)));
    expect(sent.map(([, , id]) => id)).toEqual(['1', '2']);
  });

  it('gives a handler its stores and outputs by name', () => {
    const streams = new StreamsBuilder();
    const seen = keyValueStore('seen', { key: string(), value: int64() });
    const facts: unknown[] = [];
    streams.stream(payments).process(
      {
        stores: { seen, context: balances },
        outputs: { words, later: words },
        process(given, context) {
          if (context.stores.seen.get(given.value.id) !== undefined) return;
          context.stores.seen.put(given.value.id, 1n);
          context.stores.context.put(given.key, given.value.amount);
          context.send('words', { key: given.key, value: given.value.id });
          context.send('later', { key: given.key, value: 'later', timestampMs: 99 });
          facts.push(
            context.taskId,
            context.record.offset,
            context.streamTimeMs,
            context.nowMs,
            context.signal.aborted,
            Object.keys(context.stores),
          );
          context.rollback();
        },
      },
      { name: 'deduplicate' },
    );
    const topology = streams.build();
    expect(topology.nodes.get('deduplicate')).toMatchObject({ stores: ['seen', 'balances'], children: [], concurrency: 1 });
    const { pipe, sent, entries } = runner(topology);
    pipe('payments', record('k', payment('p', 'a', 7n)));
    pipe('payments', record('k', payment('p', 'a', 7n)));
    expect(sent).toEqual([
      ['words', 'k', 'p', 5],
      ['words', 'k', 'later', 99],
      ['rolled back', null, null, 0],
    ]);
    expect(entries.get('balances')?.get('k')?.value).toBe(7n);
    expect(facts.slice(0, 5)).toEqual(['task/1', 2, 11, 12, false]);
  });

  it('hands on what an asynchronous handler returns, and its settings', async () => {
    const streams = new StreamsBuilder();
    streams.stream(words).process({
      outputs: { words },
      concurrency: { perTask: 16, orderedBy: 'key' },
      deadlineMs: 100,
      errors: { processing: { action: 'skip' } },
      async process(given, context) {
        await Promise.resolve();
        context.send('words', { key: given.key, value: 'done' });
        context.send('nowhere' as never, undefined as never);
      },
    });
    const topology = streams.build();
    expect(topology.nodes.get('words-process')).toMatchObject({
      concurrency: 16,
      deadlineMs: 100,
      errors: { processing: { action: 'skip' } },
    });
    const { pipe, sent } = runner(topology);
    await expect(Promise.all(pipe('words', record('k', 'a')) as Promise<void>[])).rejects.toThrow(
      'There is no output "nowhere"; declared are words.',
    );
    expect(sent).toEqual([['words', 'k', 'done', 5]]);
  });

  it('refuses concurrent handlers with stores behind a new key', () => {
    const streams = new StreamsBuilder();
    const rekeyed = streams.stream(payments).selectKey((value) => value.account);
    const run = (): unknown =>
      rekeyed.process({ stores: { balances }, concurrency: { perTask: 2, orderedBy: 'key' }, process() {} }, { name: 'calls' });
    expect(run).toThrow('Operator "calls" handles several records at a time and has stores');
  });

  it('runs branching processors of the Processor API beside the chains', () => {
    const streams = new StreamsBuilder();
    const builder = streams.topology;
    const { even, odd } = builder.branchingProcessor(builder.source(words), {
      name: 'parity',
      outputs: {
        even: { forwards: undefined as never as readonly [string, string] },
        odd: { forwards: undefined as never as readonly [string, string] },
      },
      stores: [balances],
      process(given, context) {
        context.store(balances).put(given.key, BigInt(given.value.length));
        context.forward(given.value.length % 2 === 0 ? 'even' : 'odd', given);
        if (given.value === '') context.forward('neither' as 'odd', given);
      },
    });
    builder.sink(even, topic('even', { key: string(), value: string() }));
    builder.sink([odd, even], () => words);
    const { pipe, sent } = runner(streams.build());
    pipe('words', record('k', 'a'));
    pipe('words', record('k', 'ab'));
    expect(sent).toEqual([
      ['words', 'k', 'a', 5],
      ['even', 'k', 'ab', 5],
      ['words', 'k', 'ab', 5],
    ]);
    expect(() => pipe('words', record('k', ''))).toThrow('There is no output "neither"; declared are even, odd.');
  });
});
