import { SpanKind, SpanStatusCode, context, trace } from '@opentelemetry/api';
import {
  BrokerError,
  int64,
  keyValueStore,
  type ProcessorContext,
  StreamsBuilder,
  TopologyBuilder,
  nullable,
  string,
  topic,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { observedSetting, traceHeaders } from './observed-worker.suite.js';

const payments = topic('payments', { key: string(), value: string() });
const postings = topic('postings', { key: string(), value: string() });
const letters = topic('letters', { key: nullable(string()), value: string() });
const topics = { payments: 1, postings: 1, letters: 1 };
const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';

function topologyOf(process: (value: string, context: ProcessorContext) => void | Promise<void>, concurrency?: number) {
  const builder = new TopologyBuilder({ name: 'ledger' });
  builder.processor(builder.source(payments), {
    name: 'post',
    process: ({ value }, scope: ProcessorContext) => process(value, scope),
    ...(concurrency === undefined ? {} : { concurrency: { perTask: concurrency, orderedBy: 'key' as const } }),
  });
  return builder.build();
}

const post = (value: string, scope: ProcessorContext): void => scope.send(postings, 'a', value);

function traceParent(headers: readonly { name: string; value: Uint8Array }[] = []): string | undefined {
  const header = headers.find(({ name }) => name === 'traceparent');
  return header === undefined ? undefined : Buffer.from(header.value).toString();
}

describe('a record whose producer sampled its trace', () => {
  it('is received, processed, sent on and committed in that trace', async () => {
    const setting = observedSetting(topics, { traceRatio: 0 });
    const headers = [{ name: 'own', value: Buffer.from('x') }, ...traceHeaders(traceId, parentId, true)];
    setting.cluster.append('payments', 0, [
      { key: 'acc-1', value: 'one', headers },
      { key: 'b', value: 'other' },
    ]);
    const worker = await setting.start(topologyOf(post));
    await setting.until(() => worker.health().counters.records === 2);

    const process = setting.span('process payments');
    expect(process.spanContext().traceId).toBe(traceId);
    expect(process.parentSpanContext?.spanId).toBe(parentId);
    expect(process.kind).toBe(SpanKind.CONSUMER);
    expect(process.attributes).toEqual({
      'messaging.system': 'kafka',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'payments',
      'messaging.destination.partition.id': '0',
      'messaging.consumer.group.name': 'app',
      'messaging.kafka.offset': 0,
      'messaging.kafka.message.key': 'acc-1',
      'tally.task': 'payments/0',
      'tally.attempt': 1,
    });
    const send = setting.span('send postings');
    expect([send.kind, send.parentSpanContext?.spanId]).toEqual([SpanKind.PRODUCER, process.spanContext().spanId]);
    const [sent, untraced] = setting.cluster.allRecords('postings');
    expect(traceParent(sent?.headers)).toBe(`00-${traceId}-${send.spanContext().spanId}-01`);
    expect(traceParent(untraced?.headers)).toBeUndefined();

    const receive = setting.span('poll payments');
    expect(receive.kind).toBe(SpanKind.CLIENT);
    expect(receive.attributes).toMatchObject({ 'messaging.operation.type': 'receive', 'messaging.batch.message_count': 2 });
    expect(receive.links.map((link) => link.context.spanId)).toEqual([parentId]);
    const commit = setting.span('commit app');
    expect(commit.attributes).toMatchObject({ 'messaging.operation.type': 'settle', 'messaging.batch.message_count': 2 });
    expect(commit.links.map((link) => link.context.spanId)).toEqual([process.spanContext().spanId]);
    // One traced record: its commit is in the same trace.
    expect(commit.parentSpanContext?.spanId).toBe(process.spanContext().spanId);
  });

  it("has spans of the handler's own under it, and what these send under them", async () => {
    const setting = observedSetting(topics, { traceRatio: 0 });
    const own = async (value: string, scope: ProcessorContext): Promise<void> => {
      await setting.tracer.startActiveSpan('ask the bank', async (span) => {
        await Promise.resolve();
        post(value, scope);
        span.end();
      });
      setting.tracer.startSpan('after').end();
    };
    setting.cluster.append('payments', 0, [{ key: 'a', value: 'one', headers: traceHeaders(traceId, parentId, true) }]);
    const worker = await setting.start(topologyOf(own));
    await setting.until(() => worker.health().counters.records === 1);
    const process = setting.span('process payments').spanContext();
    const bank = setting.span('ask the bank');
    expect(bank.parentSpanContext?.spanId).toBe(process.spanId);
    expect(setting.span('after').parentSpanContext?.spanId).toBe(process.spanId);
    expect(setting.span('send postings').parentSpanContext?.spanId).toBe(bank.spanContext().spanId);
  });

  it('goes on through a repartition topic, however its headers are handed on', async () => {
    const setting = observedSetting({ payments: 1, postings: 1 }, { traceRatio: 0 });
    const streams = new StreamsBuilder({ name: 'ledger' });
    streams
      .stream(payments)
      .groupBy((value) => value, { key: string(), value: string(), name: 'by-value' })
      .count(keyValueStore('counts', { key: string(), value: int64() }))
      .toStream()
      .to(topic('postings', { key: string(), value: nullable(int64()) }));
    setting.cluster.append('payments', 0, [{ key: 'a', value: 'one', headers: traceHeaders(traceId, parentId, true) }]);
    const worker = await setting.start(streams.build(), { applicationId: 'app' });
    await setting.until(() => worker.health().counters.records === 2);
    const chain = ['process payments', 'send app-by-value-repartition', 'process app-by-value-repartition', 'send postings'].map(
      setting.span,
    );
    const parents = chain.map((span) => span.parentSpanContext?.spanId);
    expect(parents).toEqual([parentId, ...chain.slice(0, 3).map((span) => span.spanContext().spanId)]);
    expect(new Set(chain.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
    const [sent] = setting.cluster.allRecords('postings');
    expect(sent?.headers.filter(({ name }) => name === 'traceparent')).toHaveLength(1);
  });

  it('is linked by one commit together with others', async () => {
    const setting = observedSetting(topics, { traceRatio: 0 });
    const records = ['1', '2', '3'].map((digit) => ({
      key: digit,
      value: digit,
      headers: traceHeaders(traceId.replace(/^./, digit), parentId, true),
    }));
    setting.cluster.append('payments', 0, records);
    const worker = await setting.start(topologyOf(post));
    await setting.until(() => worker.health().counters.records === 3);
    const processed = setting.spans().filter(({ name }) => name === 'process payments');
    const commit = setting.span('commit app');
    expect(commit.links.map(({ context: { spanId } }) => spanId)).toEqual(processed.map((span) => span.spanContext().spanId));
    expect(commit.parentSpanContext).toBeUndefined();
    expect(processed.map((span) => span.spanContext().traceId)).not.toContain(commit.spanContext().traceId);
  });

  it('shows each attempt, and its dead letter in the same trace', async () => {
    const setting = observedSetting(topics, { traceRatio: 0 });
    const fail = (value: string, scope: ProcessorContext): never => {
      post(value, scope);
      throw new RangeError('no such account');
    };
    const retry = { action: 'retry', retriesMax: 1, backoffMs: 10, then: { action: 'deadLetter', topic: letters } } as const;
    setting.cluster.append('payments', 0, [{ key: 'a', value: 'one', headers: traceHeaders(traceId, parentId, true) }]);
    const worker = await setting.start(topologyOf(fail), { errors: { processing: retry } });
    await setting.until(() => worker.health().counters.recordsDeadLettered === 1);
    const attempts = setting.spans().filter(({ name }) => name === 'process payments');
    expect(
      attempts.map(({ attributes, status, parentSpanContext, events }) => [
        attributes['tally.attempt'],
        attributes['tally.outcome'],
        attributes['error.type'],
        status,
        parentSpanContext?.spanId,
        events.map(({ name }) => name),
      ]),
    ).toEqual([
      [1, 'retried', 'RangeError', { code: SpanStatusCode.ERROR, message: 'no such account' }, parentId, ['tally.repeated', 'exception']],
      [2, 'deadLettered', 'RangeError', { code: SpanStatusCode.ERROR, message: 'no such account' }, parentId, ['exception']],
    ]);
    // What the failed attempts had sent was taken back.
    expect(
      setting
        .spans()
        .filter(({ name }) => name === 'send postings')
        .map(({ status }) => status.code),
    ).toEqual([2, 2]);
    const letter = setting.span('send letters');
    expect(letter.status.code).toBe(SpanStatusCode.UNSET);
    expect(traceParent(setting.cluster.allRecords('letters')[0]?.headers)).toBe(`00-${traceId}-${letter.spanContext().spanId}-01`);
    expect(setting.span('commit app').links.map((link) => link.context.spanId)).toEqual([attempts[1]?.spanContext().spanId]);
  });
});

describe('an aborted transaction', () => {
  it('is a commit span with an error; the second attempt alone is committed', async () => {
    const setting = observedSetting(topics, { traceRatio: 0 });
    setting.cluster.append('payments', 0, [{ key: 'a', value: 'one', headers: traceHeaders(traceId, parentId, true) }]);
    const error = new BrokerError({ code: 'STALE_MEMBER_EPOCH', kind: 'abortable', message: 'The member is stale.' });
    setting.cluster.faults.next('commitTransactionOffsets', { error });
    const worker = await setting.start(topologyOf(post));
    await setting.until(() => worker.health().counters.records === 1);
    const [first, second] = setting.spans().filter(({ name }) => name === 'process payments');
    const [failed, committed] = setting.spans().filter(({ name }) => name === 'commit app');
    expect(failed?.status.code).toBe(SpanStatusCode.ERROR);
    expect(failed?.links.map((link) => link.context.spanId)).toEqual([first?.spanContext().spanId]);
    expect(committed?.status.code).toBe(SpanStatusCode.UNSET);
    expect(committed?.links.map((link) => link.context.spanId)).toEqual([second?.spanContext().spanId]);
    expect(
      setting
        .spans()
        .filter(({ name }) => name === 'send postings')
        .map(({ status }) => status.code),
    ).toEqual([2, 0]);
  });
});

describe('a record whose producer did not sample its trace', () => {
  it('has no spans, nor have those of its handler, and passes the trace on', async () => {
    const setting = observedSetting(topics, { traceRatio: 1 });
    let active: string | undefined;
    setting.cluster.append('payments', 0, [{ key: 'a', value: 'one', headers: traceHeaders(traceId, parentId, false) }]);
    const worker = await setting.start(
      topologyOf((value, scope) => {
        active = trace.getSpanContext(context.active())?.traceId;
        setting.tracer.startSpan('own').end();
        post(value, scope);
      }),
    );
    await setting.until(() => worker.health().counters.records === 1);
    expect(setting.spans()).toEqual([]);
    expect(active).toBe(traceId);
    expect(traceParent(setting.cluster.allRecords('postings')[0]?.headers)).toBe(`00-${traceId}-${parentId}-00`);
  });
});

describe('a record without a trace', () => {
  it('begins one when it is drawn, whatever the SDK would draw', async () => {
    const setting = observedSetting(topics, { traceRatio: 1 });
    setting.cluster.append('payments', 0, [{ key: 'a', value: 'one' }]);
    const worker = await setting.start(topologyOf(post));
    await setting.until(() => worker.health().counters.records === 1);
    const process = setting.span('process payments');
    expect(process.parentSpanContext).toBeUndefined();
    expect(traceParent(setting.cluster.allRecords('postings')[0]?.headers)).toContain(process.spanContext().traceId);
  });

  it('has none when it is not drawn, and about as many are drawn as were to be', async () => {
    const setting = observedSetting(topics, { traceRatio: 0.1 });
    setting.cluster.append(
      'payments',
      0,
      Array.from({ length: 2_000 }, (_each, index) => ({ key: String(index), value: 'x' })),
    );
    const worker = await setting.start(topologyOf(() => undefined));
    await setting.until(() => worker.health().counters.records === 2_000);
    const drawn = setting.spans().filter(({ name }) => name === 'process payments').length;
    expect(drawn).toBeGreaterThan(120);
    expect(drawn).toBeLessThan(280);
  });

  it('is taken for one whose trace cannot be read', async () => {
    const setting = observedSetting(topics, { traceRatio: 1 });
    const headers = [{ name: 'traceparent', value: Buffer.from('00-short') }];
    setting.cluster.append('payments', 0, [{ key: 'a', value: 'one', headers }]);
    const worker = await setting.start(topologyOf(post));
    await setting.until(() => worker.health().counters.records === 1);
    expect(setting.span('process payments').parentSpanContext).toBeUndefined();
  });
});
