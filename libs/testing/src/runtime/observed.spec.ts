/** What telemetry gets to see: traces of sampled records, statistics, and the instrumentation of workers that others make. */
import {
  type ConsumedRecord,
  type Headers,
  type Hooks,
  type ProcessorContext,
  type RecordTrace,
  type RecordTracer,
  StreamsBuilder,
  TopologyBuilder,
  type WorkerStatistics,
  instrumentWorkers,
  int64,
  keyValueStore,
  nullable,
  string,
  topic,
} from '@tally/streams';
import { afterEach, describe, expect, it } from 'vitest';
import { holdAt, setting } from './setting.suite.js';

const words = topic('words', { key: nullable(string()), value: string() });
const sizes = topic('sizes', { key: string(), value: string(), maxRecordBytes: 40 });
const letters = topic('letters', { key: nullable(string()), value: string() });
const counts = keyValueStore('counts', { key: string(), value: int64() });

/** Traces each record that has the header `traced`, writes down what it is told, and passes the record's mark on. */
function tracer(said: string[]): RecordTracer {
  const trace = (record: ConsumedRecord, task: string, attempt: number): RecordTrace => {
    const mark = `${record.offset}.${attempt}`;
    const say = (what: string): unknown => said.push(`${mark} ${what}`);
    say(`starts in ${task}`);
    return {
      run(steps) {
        say('runs');
        steps();
      },
      sends: (output): Headers => [...output.headers, { name: 'from', value: Buffer.from(mark) }],
      dropped: (reason) => say(`dropped ${reason}`),
      repeated: (reason) => say(`repeated: ${reason}`),
      joined: (epoch) => say(`joined ${epoch > 0}`),
      failed: (error, outcome) => say(`failed ${error.message} ${outcome}`),
      abandoned: (reason) => say(`abandoned: ${reason}`),
    };
  };
  return {
    trace: (record, task, attempt) => (record.headers.some(({ name }) => name === 'traced') ? trace(record, task, attempt) : undefined),
  };
}

const traced = [{ name: 'traced', value: Buffer.from('1') }];

function topologyOf(process: (word: string) => string) {
  const builder = new TopologyBuilder({ name: 'words' });
  const sized = builder.processor(builder.source(words), {
    name: 'size',
    process: (record, context: ProcessorContext<string, string>) =>
      context.forward({ ...record, key: record.key ?? '', value: process(record.value) }),
  });
  builder.sink(sized, sizes);
  return builder.build();
}

function headersOf(headers: Headers): readonly string[] {
  return headers.map(({ name, value }) => `${name}=${Buffer.from(value).toString()}`);
}

describe('a traced record', () => {
  it('is followed to its join, and marks what it sends; others are not', async () => {
    const said: string[] = [];
    const { cluster, start, until } = setting({ words: 1, sizes: 1 });
    cluster.append('words', 0, [
      { key: 'a', value: 'one', headers: traced },
      { key: 'b', value: 'two' },
    ]);
    const worker = await start(
      topologyOf((word) => word.toUpperCase()),
      {},
      { tracer: tracer(said) },
    );
    await until(() => worker.health().counters.records === 2);
    expect(said).toEqual(['0.1 starts in words/0', '0.1 runs', '0.1 joined true']);
    expect(cluster.allRecords('sizes').map(({ headers }) => headersOf(headers))).toEqual([['traced=1', 'from=0.1'], []]);
  });

  it('loses its mark where that would make it too large', async () => {
    const { cluster, start, until } = setting({ words: 1, sizes: 1 });
    cluster.append('words', 0, [{ key: 'a', value: 'x'.repeat(30), headers: traced }]);
    const worker = await start(topologyOf(String), {}, { tracer: tracer([]) });
    await until(() => worker.health().counters.records === 1);
    expect(cluster.allRecords('sizes').map(({ headers }) => headersOf(headers))).toEqual([['traced=1']]);
  });

  it('shows each attempt, and its dead letter', async () => {
    const said: string[] = [];
    const { cluster, start, until } = setting({ words: 1, sizes: 1, letters: 1 });
    cluster.append('words', 0, [{ key: 'a', value: 'one', headers: traced }]);
    const retry = { action: 'retry', retriesMax: 1, backoffMs: 10, then: { action: 'deadLetter', topic: letters } } as const;
    const refuse = (): never => {
      throw new Error('no');
    };
    const worker = await start(topologyOf(refuse), { errors: { processing: retry } }, { tracer: tracer(said) });
    await until(() => worker.health().counters.recordsDeadLettered === 1);
    expect(said).toEqual([
      '0.1 starts in words/0',
      '0.1 runs',
      // The error policy too, so that what it logs belongs to the trace.
      '0.1 runs',
      '0.1 failed no retried',
      '0.2 starts in words/0',
      '0.2 runs',
      '0.2 runs',
      '0.2 failed no deadLettered',
      '0.2 joined true',
    ]);
    expect(headersOf(cluster.allRecords('letters')[0]?.headers ?? [])).toContain('from=0.2');
  });

  it('is abandoned when it is taken away while an asynchronous handler has it', async () => {
    const said: string[] = [];
    const { cluster, start, until, stop } = setting({ words: 1 });
    const builder = new TopologyBuilder({ name: 'words' });
    builder.processor(builder.source(words), { name: 'hang', process: () => new Promise<void>(() => undefined) });
    cluster.append('words', 0, [{ key: 'a', value: 'one', headers: traced }]);
    const worker = await start(builder.build(), { shutdownTimeoutMs: 1_000 }, { tracer: tracer(said) });
    await until(() => said.includes('0.1 runs'));
    await stop(worker);
    expect(said.at(-1)).toBe('0.1 abandoned: the worker has stopped');
  });

  it('tells what operators pass over', async () => {
    const said: string[] = [];
    const { cluster, start, until } = setting({ words: 1 });
    const streams = new StreamsBuilder();
    streams.stream(words).groupByKey().count(counts);
    cluster.append('words', 0, [{ key: null, value: 'one', headers: traced }]);
    const worker = await start(streams.build(), {}, { tracer: tracer(said) });
    await until(() => worker.health().counters.recordsDropped === 1);
    expect(said).toContain('0.1 dropped nullKey');
    expect(worker.statistics().dropped).toEqual(new Map([['nullKey', 1]]));
  });
});

describe('the statistics of a worker', () => {
  it('count what was taken, committed and sent, and say where the inputs stand', async () => {
    const { cluster, clock, start, until } = setting({ words: 2, sizes: 1 });
    const records = [
      { key: 'a', value: 'one' },
      { key: 'b', value: 'two' },
    ];
    cluster.append('words', 0, records);
    cluster.append('words', 1, records.slice(1));
    const worker = await start(topologyOf(String));
    await until(() => worker.health().counters.records === 3);
    cluster.append('words', 1, records);
    const statistics = worker.statistics();
    expect(statistics.processed).toEqual(
      new Map([
        ['words/0', 2],
        ['words/1', 1],
      ]),
    );
    expect([statistics.consumed, statistics.sent]).toEqual([new Map([['words', 3]]), new Map([['sizes', 3]])]);
    expect(statistics.inputs).toEqual([
      { task: 'words/0', topic: 'words', partition: 0, committed: 2, queuedRecords: 0 },
      { task: 'words/1', topic: 'words', partition: 1, committed: 1, queuedRecords: 0 },
    ]);
    const ends = await clock.run(worker.inputEnds());
    expect(ends).toEqual(
      new Map([
        ['words-0', 2],
        ['words-1', 3],
      ]),
    );
    expect(statistics.loop.waitingMs).toBeGreaterThan(0);
  });

  it('tell the cache from the database', async () => {
    const { cluster, start, until } = setting({ words: 1 });
    const streams = new StreamsBuilder();
    streams.stream(words).groupByKey().count(counts);
    const worker = await start(streams.build(), { stateFlushIntervalMs: 10, commitIntervalMs: 10 });
    const storeOf = (): WorkerStatistics['stores'][number] | undefined => worker.statistics().stores[0];
    await until(() => worker.health().ready);
    for (let round = 1; round <= 3; round++) {
      cluster.append('words', 0, [{ key: 'a', value: 'one' }]);
      await until(() => worker.health().counters.records === round && worker.health().memory.bufferedBytes === 0);
    }
    expect(storeOf()).toMatchObject({ store: 'counts' });
    expect(storeOf()?.cacheMisses).toBeGreaterThan(0);
    expect(storeOf()?.cacheHits).toBeGreaterThan(0);
  });
});

describe('hooks', () => {
  it('report batches, slices and the oldest record of each commit', async () => {
    const seen: string[] = [];
    const hooks: Hooks = {
      batch: (records, durationMs) => seen.push(`batch of ${records.length}, ${durationMs >= 0}`),
      processed: (task, records, durationMs) => seen.push(`${records} in ${task}, ${durationMs >= 0}`),
      committed: ({ records, oldestMs }) => records > 0 && seen.push(`committed ${records} from ${oldestMs}`),
    };
    const { cluster, start, until } = setting({ words: 1, sizes: 1 });
    cluster.append('words', 0, [
      { key: 'a', value: 'one', timestampMs: 7 },
      { key: 'b', value: 'two', timestampMs: 5 },
    ]);
    const worker = await start(topologyOf(String), {}, hooks);
    await until(() => worker.health().counters.records === 2);
    expect(seen).toEqual(['batch of 2, true', '2 in words/0, true', 'committed 2 from 5']);
  });
});

describe('an instrumented process', () => {
  afterEach(() => instrumentWorkers(undefined));

  it('has hooks and a logger around those of each worker', async () => {
    const phases: string[] = [];
    const lines: string[] = [];
    instrumentWorkers((observed) => ({
      hooks: { workerPhase: (phase) => phases.push(`${observed.applicationId} ${phase}`) },
      wrapLogger: (own) => ({ ...own, info: (message, fields) => own.info(`wrapped: ${message}`, lines.push(message) ? fields : {}) }),
    }));
    const held = holdAt('frozen');
    const own: string[] = [];
    const { cluster, log, start, until, stop } = setting({ words: 1, sizes: 1 });
    const worker = await start(topologyOf(String), {}, { ...held.hooks, workerPhase: (phase) => own.push(phase) });
    cluster.append('words', 0, [{ key: 'a', value: 'one' }]);
    await until(held.reached);
    expect(worker.health().counters.records).toBe(0);
    held.letGo();
    await until(() => worker.health().counters.records === 1);
    await stop(worker);
    expect(phases).toEqual(['app starting', 'app running', 'app stopping', 'app stopped']);
    expect(own).toEqual(['starting', 'running', 'stopping', 'stopped']);
    expect(lines[0]).toBe('The worker is starting.');
    expect(log).toContain('wrapped: Partitions were assigned: words-0.');
  });
});
