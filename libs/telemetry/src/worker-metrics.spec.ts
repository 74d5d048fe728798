import { readFileSync } from 'node:fs';
import { metrics as sdkMetrics } from '@opentelemetry/sdk-node';
import { type Processor, StreamsBuilder, TopologyBuilder, int64, keyValueStore, nullable, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { type MetricDefinition, allMetrics, observed, processMetrics, recorded } from './metrics.js';
import { observedSetting } from './observed-worker.suite.js';

const words = topic('words', { key: nullable(string()), value: string() });
const sizes = topic('sizes', { key: string(), value: int64() });
const letters = topic('letters', { key: nullable(string()), value: string() });
const counts = keyValueStore('counts', { key: string(), value: int64() });
const topics = { words: 2, sizes: 1, letters: 1 };

type Points = Awaited<ReturnType<ReturnType<typeof observedSetting>['points']>>;

function pointsOf(points: Points, { name }: MetricDefinition): readonly { attributes: Record<string, unknown>; value: unknown }[] {
  return (points.get(name)?.dataPoints ?? []).map(({ attributes, value }) => ({ attributes, value }));
}

/** Values by the named attribute. */
function byAttribute(points: Points, metric: MetricDefinition, attribute: string): Record<string, unknown> {
  return Object.fromEntries(pointsOf(points, metric).map(({ attributes, value }) => [String(attributes[attribute]), value]));
}

/** Does a bit of everything. */
function busyTopology() {
  const topology = new TopologyBuilder({ name: 'words' });
  const streams = new StreamsBuilder({ topology, namePrefix: 'counting' });
  streams.stream(words).groupByKey().count(counts);
  const create = (): Processor<string | null, string, never, never> => ({
    init: (context) => void context.schedule(100, 'wallClock', () => undefined),
    process({ value }, context) {
      if (value === 'bad') throw new Error('bad');
      if (value === 'skip') throw new TypeError('skip');
      context.send(sizes, 'a', BigInt(value.length));
    },
  });
  topology.processor(topology.source(words), { name: 'size', create });
  return topology.build();
}

describe('the metrics of a worker', () => {
  it('equal what it has done', async () => {
    const setting = observedSetting(topics, { traceRatio: 0, refreshIntervalMs: 20 });
    const errors = {
      processing: (error: Error) =>
        error instanceof TypeError ? { action: 'skip' as const } : { action: 'deadLetter' as const, topic: letters },
    };
    const worker = await setting.start(busyTopology(), { errors, commitIntervalMs: 50, stateFlushIntervalMs: 100 });
    await setting.until(() => worker.health().ready);
    setting.cluster.append(
      'words',
      0,
      ['one', 'two', 'bad', 'skip'].map((value) => ({ key: value, value })),
    );
    setting.cluster.append('words', 1, [{ key: null, value: 'three' }]);
    await setting.until(() => worker.health().counters.records === 5 && worker.statistics().punctuations > 1);
    const points = await setting.points();

    expect(byAttribute(points, observed.recordsProcessed, 'tally.task')).toEqual({ 'words/0': 4, 'words/1': 1 });
    expect(byAttribute(points, observed.consumedMessages, 'messaging.destination.name')).toEqual({ words: 5 });
    expect(byAttribute(points, observed.sentMessages, 'messaging.destination.name')).toEqual({ sizes: 3, letters: 1 });
    expect(byAttribute(points, observed.recordsDropped, 'tally.reason')).toEqual({ nullKey: 1 });
    expect(byAttribute(points, observed.recordsFailed, 'tally.outcome')).toEqual({ deadLettered: 1, skipped: 1 });
    expect(pointsOf(points, observed.deadLetters)).toEqual([{ attributes: { 'messaging.consumer.group.name': 'app' }, value: 1 }]);
    expect(pointsOf(points, observed.recordsSkipped).map(({ value }) => value)).toEqual([1]);
    const { transactionsCommitted } = worker.health().counters;
    expect(byAttribute(points, observed.transactions, 'tally.outcome')).toMatchObject({
      committed: transactionsCommitted,
      aborted: 0,
      fenced: 0,
    });
    expect(byAttribute(points, observed.tasks, 'tally.state')).toMatchObject({ running: 2, restoring: 0 });
    expect(byAttribute(points, recorded.rebalances, 'tally.outcome')).toEqual({ assigned: 1 });
    const commits = byAttribute(points, recorded.operationDuration, 'messaging.operation.name')['commit'] as sdkMetrics.Histogram;
    expect(commits.count).toBe(transactionsCommitted);
    const [latency] = pointsOf(points, recorded.recordLatency).map(({ value }) => value as sdkMetrics.Histogram);
    expect(latency?.count).toBeGreaterThan(0);
  });

  it('are those of the table: names, units, kinds and attributes', async () => {
    const setting = observedSetting(topics, { traceRatio: 0, refreshIntervalMs: 20 });
    const errors = { processing: { action: 'skip' as const } };
    const worker = await setting.start(busyTopology(), { errors, commitIntervalMs: 50, stateFlushIntervalMs: 100 });
    setting.cluster.append(
      'words',
      0,
      ['one', 'bad'].map((value) => ({ key: value, value })),
    );
    setting.cluster.append('words', 0, [{ key: null, value: 'three' }]);
    await setting.until(() => worker.health().counters.records === 3);
    await setting.passes(2_000);
    await setting.passes(100);
    const points = await setting.points();
    // A simulated cluster has no client whose queues could be long.
    const expected = allMetrics.filter((metric) => metric !== observed.clientQueue);
    const nothingToSay = expected.filter(({ name }) => !points.has(name)).map(({ name }) => name);
    expect(nothingToSay).toEqual([]);
    const names = new Set(allMetrics.map(({ name }) => name));
    expect([...points.keys()].filter((name) => !names.has(name))).toEqual([]);
    for (const metric of expected) {
      const exported = points.get(metric.name);
      expect([exported?.descriptor.unit, exported?.descriptor.description]).toEqual([metric.unit, metric.description]);
      const { dataPointType, isMonotonic } = exported as { dataPointType: sdkMetrics.DataPointType; isMonotonic?: boolean };
      const kind = dataPointType === sdkMetrics.DataPointType.HISTOGRAM ? 'histogram' : isMonotonic === true ? 'counter' : 'gauge';
      expect(`${metric.name} ${kind}`).toBe(`${metric.name} ${metric.kind}`);
      for (const { attributes } of exported?.dataPoints ?? [])
        expect(metric.attributes).toEqual(expect.arrayContaining(Object.keys(attributes)));
    }
  });
});

describe('the lag of a partition', () => {
  it('is what has come and is not committed, also while its task is stuck', async () => {
    const setting = observedSetting(topics, { traceRatio: 0, refreshIntervalMs: 20 });
    const builder = new TopologyBuilder({ name: 'words' });
    const stuck = (value: string): void | Promise<void> => (value === 'stuck' ? new Promise(() => undefined) : undefined);
    builder.processor(builder.source(words), { name: 'stuck', process: ({ value }) => stuck(value) });
    const worker = await setting.start(builder.build(), { shutdownTimeoutMs: 1_000 });
    await setting.until(() => worker.health().ready);
    for (const partition of [0, 1])
      setting.cluster.append(
        'words',
        partition,
        ['one', partition === 0 ? 'stuck' : 'two', 'three'].map((value) => ({ key: value, value })),
      );
    await setting.until(() => worker.health().counters.records === 4);
    await setting.passes(200);
    const lag = byAttribute(await setting.points(), observed.lag, 'messaging.destination.partition.id');
    expect(lag).toEqual({ 0: 2, 1: 0 });
  });
});

describe('the names of metrics', () => {
  it('never have a key among their attributes', () => {
    expect(allMetrics.flatMap(({ attributes }) => attributes).filter((name) => name.includes('key'))).toEqual([]);
    expect(Object.keys(processMetrics)).toHaveLength(4);
  });

  it('are those of docs/observability.md, with units, kinds and attributes', () => {
    const text = readFileSync(new URL('../../../docs/observability.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `([a-z][\w.]+)` \| (\w+) \| ([^|]+) \| ([^|]*) \|/gm)].map(([, name, kind, unit, attributes]) => ({
      name,
      kind,
      unit: unit?.trim().replaceAll('`', ''),
      attributes: [...(attributes ?? '').matchAll(/`([^`]+)`/g)].map(([, attribute]) => attribute),
    }));
    const group = 'messaging.consumer.group.name';
    const wanted = allMetrics.map(({ name, kind, unit, attributes }) => ({
      name,
      kind,
      unit,
      attributes: attributes.filter((each) => each !== group),
    }));
    expect(rows).toEqual(wanted);
  });
});
