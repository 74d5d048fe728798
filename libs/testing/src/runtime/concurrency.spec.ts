import { type ProcessorContext, RecordClosedError, TopologyBuilder, int64, keyValueStore, sleep, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { type Setting, setting } from './setting.suite.js';

const calls = topic('calls', { key: string(), value: string() });
const results = topic('results', { key: string(), value: string() });
const counts = keyValueStore('counts', { key: string(), value: int64() });

interface Service {
  readonly started: string[];
  readonly inHand: () => number;
  readonly mostInHand: () => number;
  finish(call: string, error?: Error): void;
  call(name: string): Promise<void>;
}

/** A service whose calls end when the test says so. */
function service(): Service {
  const open = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const started: string[] = [];
  let most = 0;
  return {
    started,
    inHand: () => open.size,
    mostInHand: () => most,
    finish(call, error) {
      const waiting = open.get(call);
      open.delete(call);
      if (error === undefined) waiting?.resolve();
      else waiting?.reject(error);
    },
    call(name) {
      started.push(name);
      return new Promise((resolve, reject) => {
        open.set(name, { resolve, reject });
        most = Math.max(most, open.size);
      });
    },
  };
}

function topologyOf(remote: Service, options: { perTask?: number; deadlineMs?: number; late?: (context: ProcessorContext) => void } = {}) {
  const builder = new TopologyBuilder({ name: 'calls' });
  const called = builder.processor(builder.source(calls), {
    name: 'call',
    stores: [counts],
    ...(options.perTask === undefined ? {} : { concurrency: { perTask: options.perTask, orderedBy: 'key' as const } }),
    ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
    async process(record, context: ProcessorContext<string, string>) {
      const store = context.store(counts);
      const before = store.get(record.key) ?? 0n;
      await remote.call(record.value);
      options.late?.(context as ProcessorContext);
      store.put(record.key, before + 1n);
      context.forward({ ...record, value: `${record.value}:${before + 1n}` });
    },
  });
  builder.sink(called, results);
  return builder.build();
}

const append = (test: Setting, ...names: readonly string[]): void =>
  test.cluster.append(
    'calls',
    0,
    names.map((name) => ({ key: name[0] ?? null, value: name })),
  );
const committed = (test: Setting): number => test.cluster.committedOffset('app', { topic: 'calls', partition: 0 }).offset ?? 0;

describe('asynchronous handlers', () => {
  it('run one at a time by default, and a commit never waits for them', async () => {
    const test = setting({ calls: 1, results: 1 });
    const remote = service();
    append(test, 'a1', 'b1');
    await test.start(topologyOf(remote));
    await test.until(() => remote.started.length === 1);
    remote.finish('a1');
    await test.until(() => committed(test) === 1);
    expect(remote.started).toEqual(['a1', 'b1']);
    expect(remote.mostInHand()).toBe(1);
    expect(test.texts('results')).toEqual([['a', 'a1:1']]);
    remote.finish('b1');
    await test.until(() => committed(test) === 2);
  });

  it('run side by side for different keys, join in the order of dispatch, and keep a key in order', async () => {
    const test = setting({ calls: 1, results: 1 });
    const remote = service();
    append(test, 'a1', 'b1', 'c1', 'a2', 'd1');
    await test.start(topologyOf(remote, { perTask: 4 }));
    await test.until(() => remote.inHand() === 3);
    expect(remote.started).toEqual(['a1', 'b1', 'c1']);
    remote.finish('c1');
    remote.finish('b1');
    await test.clock.advance(1_000);
    expect(committed(test)).toBe(0);
    expect(remote.started).toEqual(['a1', 'b1', 'c1']);
    remote.finish('a1');
    await test.until(() => remote.started.length === 5);
    remote.finish('d1');
    remote.finish('a2');
    await test.until(() => committed(test) === 5);
    expect(test.texts('results').map(([, value]) => value)).toEqual(['a1:1', 'b1:1', 'c1:1', 'a2:2', 'd1:1']);
    expect(remote.mostInHand()).toBe(3);
  });

  it('are refused the state of other keys while others are in hand', async () => {
    const test = setting({ calls: 1, results: 1 });
    const remote = service();
    append(test, 'a1');
    const late = (context: ProcessorContext): void => context.store(counts).put('other', 1n);
    const worker = await test.start(topologyOf(remote, { perTask: 2, late }));
    await test.until(() => remote.inHand() === 1);
    remote.finish('a1');
    const error = await test.clock.run(
      worker.finished.then(
        () => undefined,
        (reason: Error) => reason,
      ),
    );
    expect(error?.message).toMatch(/only touch the state of its own record's key/);
  });

  it('fail at their deadline, and their late writes are refused', async () => {
    const test = setting({ calls: 1, results: 1 });
    const remote = service();
    const refused: unknown[] = [];
    append(test, 'a1', 'a2');
    const late = (context: ProcessorContext): void => {
      try {
        context.store(counts).put('a', 99n);
      } catch (error) {
        refused.push(error);
        throw error;
      }
    };
    const worker = await test.start(topologyOf(remote, { deadlineMs: 500, late }), { errors: { processing: { action: 'skip' } } });
    await test.until(() => worker.health().counters.recordsSkipped === 1 && remote.started.length === 2);
    remote.finish('a1');
    await test.until(() => refused.length === 1);
    remote.finish('a2');
    await test.until(() => worker.health().counters.records === 2);
    expect(worker.health().counters.recordsSkipped).toBe(1);
    expect(refused).toHaveLength(1);
    expect(refused[0]).toBeInstanceOf(RecordClosedError);
    // The second record, whose scope was open, wrote 99 and then what it had read plus one.
    expect(await worker.query(counts).get('a')).toBe(1n);
    expect(test.texts('results')).toEqual([['a', 'a2:1']]);
  });

  it('that are in hand during a revocation are abandoned: their writes are refused, the successor processes their records', async () => {
    const test = setting({ calls: 2, results: 2 });
    const remote = service();
    const second = service();
    test.cluster.append('calls', 0, [{ key: 'a', value: 'a1' }]);
    test.cluster.append('calls', 1, [{ key: 'b', value: 'b1' }]);
    const refused: unknown[] = [];
    const late = (context: ProcessorContext): void => {
      try {
        context.store(counts);
      } catch (error) {
        refused.push(error);
        throw error;
      }
    };
    const first = await test.start(topologyOf(remote, { late }));
    await test.until(() => remote.inHand() === 2);
    await test.start(topologyOf(second));
    await test.until(() => second.inHand() === 1);
    const [moved] = second.started;
    expect(moved).toBeDefined();
    remote.finish('a1');
    remote.finish('b1');
    second.finish(moved ?? '');
    await test.until(() => first.health().counters.records === 1 && test.texts('results').length === 2);
    expect(refused).toHaveLength(1);
    expect(refused[0]).toBeInstanceOf(RecordClosedError);
    expect(
      test
        .texts('results')
        .map(([, value]) => value)
        .sort(),
    ).toEqual(['a1:1', 'b1:1']);
  });

  it('are finished by a graceful stop, and what fails then meets no policy', async () => {
    const test = setting({ calls: 1, results: 1, dead: 1 });
    const remote = service();
    append(test, 'a1', 'b1', 'c1');
    const worker = await test.start(topologyOf(remote, { perTask: 3 }), {
      errors: { processing: { action: 'deadLetter', topic: 'dead' } },
    });
    await test.until(() => remote.inHand() === 3);
    const stopped = worker.stop();
    await test.clock.advance(50);
    remote.finish('a1');
    remote.finish('b1', new Error('the database is closed already'));
    remote.finish('c1');
    await test.clock.run(stopped);
    expect(committed(test)).toBe(1);
    expect(test.texts('results')).toEqual([['a', 'a1:1']]);
    expect(test.texts('dead')).toEqual([]);
  });

  it('wait for a back-off without holding up other keys or commits', async () => {
    const test = setting({ calls: 1, results: 1 });
    const remote = service();
    append(test, 'a1', 'b1');
    const retry = { action: 'retry', retriesMax: 3, backoffMs: 2_000, then: { action: 'stop' } } as const;
    const worker = await test.start(topologyOf(remote, { perTask: 2 }), { errors: { processing: retry } });
    await test.until(() => remote.inHand() === 2);
    remote.finish('a1', new Error('busy'));
    remote.finish('b1');
    const failedAt = test.clock.monotonicMs();
    await test.until(() => remote.started.length === 3);
    expect(test.clock.monotonicMs() - failedAt).toBeGreaterThanOrEqual(2_000);
    remote.finish('a1');
    await test.until(() => worker.health().counters.records === 2);
    expect(test.texts('results').map(([, value]) => value)).toEqual(['a1:1', 'b1:1']);
  });
});

describe('several readers of one topic', () => {
  it('run one after another, so that none sees what an asynchronous one rolls back', async () => {
    const test = setting({ calls: 1, results: 1 });
    const remote = service();
    const seen: (bigint | undefined)[] = [];
    const builder = new TopologyBuilder({ name: 'readers' });
    const source = builder.source(calls);
    builder.processor(source, {
      name: 'first',
      stores: [counts],
      async process(record, context) {
        context.store(counts).put(record.key, 7n);
        await remote.call(record.value);
        context.rollback();
      },
    });
    const second = builder.processor(source, {
      name: 'second',
      stores: [counts],
      process(record, context: ProcessorContext<string, string>) {
        seen.push(context.store(counts).get(record.key));
        context.forward({ ...record, value: 'second' });
      },
    });
    builder.sink(second, results);
    append(test, 'a1');
    const worker = await test.start(builder.build());
    await test.until(() => remote.inHand() === 1);
    expect(seen).toEqual([]);
    remote.finish('a1');
    await test.until(() => worker.health().counters.records === 1);
    expect(seen.at(-1)).toBeUndefined();
    expect(test.texts('results')).toEqual([['a', 'second']]);
    expect(await worker.query(counts).get('a')).toBeUndefined();
  });
});

describe('an asynchronous reader without concurrency beside one that has it', () => {
  it('is refused by name, for its calls would overlap', async () => {
    const test = setting({ calls: 1, results: 1 });
    const remote = service();
    const builder = new TopologyBuilder({ name: 'mixed' });
    const source = builder.source(calls);
    builder.processor(source, { name: 'wide', concurrency: { perTask: 4, orderedBy: 'key' }, process() {} });
    builder.processor(source, { name: 'narrow', process: (record) => remote.call(record.value) });
    append(test, 'a1', 'b1');
    const worker = await test.start(builder.build());
    const error = await test.clock.run(
      worker.finished.then(
        () => undefined,
        (reason: Error) => reason,
      ),
    );
    expect(error?.message).toMatch(/Processor 'narrow' is asynchronous and declares no concurrency/);
  });
});

describe('punctuations', () => {
  const ticks = topic('ticks', { key: string(), value: string() });

  function ticking(type: 'streamTime' | 'wallClock', callback?: (at: number) => void) {
    const builder = new TopologyBuilder({ name: 'ticking' });
    builder.processor(builder.source(calls), {
      name: 'tick',
      stores: [counts],
      create: () => ({
        init(context) {
          context.schedule(100, type, (timestampMs, scope) => {
            callback?.(timestampMs);
            const store = scope.store(counts);
            store.put('ticks', (store.get('ticks') ?? 0n) + 1n);
            scope.send(ticks, 't', String(timestampMs));
          });
        },
        process() {},
      }),
    });
    return builder.build();
  }

  it('in stream time come on the first record, then at multiples of the interval, once per jump', async () => {
    const test = setting({ calls: 1, ticks: 1 });
    for (const timestampMs of [30, 60, 130, 140, 555, 599, 600]) test.cluster.append('calls', 0, [{ key: 'a', value: 'x', timestampMs }]);
    const worker = await test.start(ticking('streamTime'));
    await test.until(() => worker.health().counters.records === 7);
    await test.clock.advance(500);
    expect(test.texts('ticks').map(([, value]) => Number(value))).toEqual([30, 130, 555, 600]);
  });

  it("in wall-clock time write without any record, and commit their task's offsets with it", async () => {
    const test = setting({ calls: 1, ticks: 1 });
    test.cluster.append('calls', 0, [{ key: 'a', value: 'x' }]);
    const worker = await test.start(ticking('wallClock'));
    await test.until(() => worker.health().counters.transactionsCommitted >= 6);
    expect(test.texts('ticks').length).toBeGreaterThanOrEqual(5);
    expect(committed(test)).toBe(1);
    expect(await worker.query(counts).get('ticks')).toBeGreaterThanOrEqual(5n);
  });

  it('that fail are retried under the policy, and are due again only after they joined', async () => {
    const test = setting({ calls: 1, ticks: 1 });
    let failuresLeft = 2;
    const at: number[] = [];
    const callback = (timestampMs: number): void => {
      at.push(timestampMs);
      if (failuresLeft-- > 0) throw new Error('not now');
    };
    const errors = { processing: { action: 'retry', retriesMax: 3, backoffMs: 10, then: { action: 'stop' } } } as const;
    test.cluster.append('calls', 0, [{ key: 'a', value: 'x', timestampMs: 50 }]);
    await test.start(ticking('streamTime', callback), { errors });
    await test.until(() => test.texts('ticks').length === 1);
    // Once more than it failed and succeeded: the topic had to be looked up, which counts as no attempt.
    expect(at).toEqual([50, 50, 50, 50]);
    expect(failuresLeft).toBe(-2);
  });
});

describe('sleep', () => {
  it("is the clock's", async () => {
    const test = setting({});
    const before = test.clock.monotonicMs();
    await test.clock.run(sleep(test.clock, 40));
    expect(test.clock.monotonicMs() - before).toBeGreaterThanOrEqual(40);
  });
});
