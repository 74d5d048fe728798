/**
 * The traces of one worker: a process span for each attempt at a sampled record, send spans for what it sends, and for batches that hold
 * sampled records a receive span and a commit span with links.
 *
 * 1. A process span is the child of the span that sent its record. It ends when the handlers have returned, not with the commit: a
 *    process that is killed in between has shown its attempt.
 * 2. Send spans end with the transaction: well when it was committed, with an error when it was aborted. Those of a killed process never
 *    end, and so never happened.
 * 3. A commit span links to the process spans of its epoch. So of several attempts the one that counted is the one with a commit.
 */
import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  context as activeContext,
  trace,
} from '@opentelemetry/api';
import type { CommitReport, ConsumedRecord, Headers, RecordOutcome, RecordTrace, RecordTracer, TracedOutput } from '@tally/streams';
import { TallyError } from '@tally/streams';
import { attribute, errorType, kafka } from './conventions.js';
import { contextOf, sampledByParent, withContext } from './record-context.js';
import { drawnContext } from './sampling.js';

/** Links of one span; the SDK keeps no more. */
const linksMax = 128;
/** Send spans of one record; what it sends beyond them is marked as sent by the record itself. */
const sendSpansMax = 64;
/** Traces that wait for one commit; further ones are shown without one. */
const tracesPerEpochMax = 10_000;
const keyBytesMax = 64;

interface JoinedTrace {
  readonly process: Span;
  readonly sends: readonly Span[];
}

export class WorkerTraces implements RecordTracer {
  private readonly epochs = new Map<number, JoinedTrace[]>();

  constructor(
    private readonly tracer: Tracer,
    private readonly group: string,
    /** Share of the records without a trace of their own that become roots of one. */
    private readonly ratio: number,
  ) {}

  trace(record: ConsumedRecord, task: string, attempt: number): RecordTrace | undefined {
    const sampled = record.headers.length === 0 ? undefined : sampledByParent(record.headers);
    if (sampled === false) return new PassedTrace(contextOf(record.headers));
    if (sampled === undefined && (this.ratio === 0 || Math.random() >= this.ratio)) return undefined;
    const parent = sampled === true ? contextOf(record.headers) : drawnContext;
    const attributes = { ...this.processAttributes(record), [attribute.task]: task, [attribute.attempt]: attempt };
    const span = this.tracer.startSpan(`process ${record.topic}`, { kind: SpanKind.CONSUMER, attributes }, parent);
    return new SampledTrace(this, span, trace.setSpan(sampled === true ? parent : ROOT_CONTEXT, span));
  }

  private processAttributes({ topic, partition, offset, key, value }: ConsumedRecord): Attributes {
    return {
      ...this.operation('process', 'process'),
      [attribute.destination]: topic,
      [attribute.partition]: String(partition),
      [attribute.group]: this.group,
      [attribute.offset]: offset,
      ...(value === null ? { [attribute.tombstone]: true } : {}),
      ...keyAttribute(key),
    };
  }

  private operation(name: string, type: string): Attributes {
    return { [attribute.system]: kafka, [attribute.operation]: name, [attribute.operationType]: type };
  }

  startSend(output: TracedOutput, parent: Context): Span {
    const attributes = {
      ...this.operation('send', 'send'),
      [attribute.destination]: output.topic,
      ...(output.partition < 0 ? {} : { [attribute.partition]: String(output.partition) }),
      ...(output.value === null ? { [attribute.tombstone]: true } : {}),
      ...keyAttribute(output.key),
    };
    return this.tracer.startSpan(`send ${output.topic}`, { kind: SpanKind.PRODUCER, attributes }, parent);
  }

  joined(epoch: number, traced: JoinedTrace): void {
    const traces = this.epochs.get(epoch) ?? [];
    if (traces.length >= tracesPerEpochMax) {
      for (const span of traced.sends) span.end();
      return;
    }
    traces.push(traced);
    this.epochs.set(epoch, traces);
  }

  /** A consume has brought records; costs a look at each one's headers. */
  received(records: readonly ConsumedRecord[], durationMs: number): void {
    const links: Link[] = [];
    const topics = new Set<string>();
    for (const { headers, topic } of records) {
      if (headers.length === 0 || links.length === linksMax || sampledByParent(headers) !== true) continue;
      const context = trace.getSpanContext(contextOf(headers));
      if (context === undefined) continue;
      links.push({ context });
      topics.add(topic);
    }
    if (links.length === 0) return;
    const [topic] = topics;
    const attributes = {
      ...this.operation('poll', 'receive'),
      [attribute.group]: this.group,
      [attribute.batchCount]: records.length,
      ...(topics.size === 1 ? { [attribute.destination]: topic } : {}),
    };
    const startTime = Date.now() - durationMs;
    const name = topics.size === 1 ? `poll ${topic}` : 'poll';
    this.tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes, links, startTime }, drawnContext).end();
  }

  committed({ epoch, records, durationMs }: CommitReport): void {
    const traces = this.take(epoch);
    if (traces.length === 0) return;
    const span = this.startCommit(traces, { [attribute.batchCount]: records, [attribute.epoch]: epoch }, durationMs);
    span.end();
    for (const { sends } of traces) for (const send of sends) send.end();
  }

  /** Nothing of what is open was committed, as far as is known. */
  aborted(reason: Error): void {
    const traces = this.take(Number.POSITIVE_INFINITY);
    const isFenced = reason instanceof TallyError && reason.kind === 'fenced';
    const span = this.startCommit(traces, { [attribute.errorType]: errorType(reason) }, 0);
    span.addEvent(isFenced ? 'tally.fenced' : 'tally.transaction_aborted', { [attribute.reason]: reason.message });
    span.setStatus({ code: SpanStatusCode.ERROR, message: reason.message });
    span.end();
    for (const { sends } of traces) {
      for (const send of sends) {
        send.addEvent('tally.transaction_aborted');
        send.setAttribute(attribute.errorType, errorType(reason));
        send.setStatus({ code: SpanStatusCode.ERROR, message: 'The transaction was aborted.' });
        send.end();
      }
    }
  }

  private startCommit(traces: readonly JoinedTrace[], attributes: Attributes, durationMs: number): Span {
    const links = traces.slice(0, linksMax).map(({ process }) => ({ context: process.spanContext() }));
    const [only] = traces;
    const parent = only !== undefined && traces.length === 1 ? trace.setSpan(ROOT_CONTEXT, only.process) : drawnContext;
    const all = { ...this.operation('commit', 'settle'), [attribute.group]: this.group, ...attributes };
    const startTime = Date.now() - durationMs;
    return this.tracer.startSpan(`commit ${this.group}`, { kind: SpanKind.CLIENT, attributes: all, links, startTime }, parent);
  }

  /** The traces of the epoch and of those before it. */
  private take(epochMax: number): readonly JoinedTrace[] {
    const taken: JoinedTrace[] = [];
    for (const [epoch, traces] of this.epochs) {
      if (epoch > epochMax) continue;
      taken.push(...traces);
      this.epochs.delete(epoch);
    }
    return taken;
  }
}

/** Of a record whose trace nobody keeps: what it sends belongs to that trace all the same, so that nobody begins another. */
class PassedTrace implements RecordTrace {
  constructor(private readonly context: Context) {}

  run(steps: () => void): void {
    activeContext.with(this.context, steps);
  }

  sends({ headers }: TracedOutput): Headers {
    return withContext(this.context, headers);
  }

  dropped(): void {}
  repeated(): void {}
  joined(): void {}
  failed(): void {}
  abandoned(): void {}
}

class SampledTrace implements RecordTrace {
  private readonly sent: Span[] = [];
  private readonly letters: Span[] = [];

  constructor(
    private readonly traces: WorkerTraces,
    private readonly span: Span,
    private readonly context: Context,
  ) {}

  run(steps: () => void): void {
    activeContext.with(this.context, steps);
  }

  /** Within a span of the handler's own, it is that span which sends. */
  sends(output: TracedOutput): Headers {
    if (this.sent.length >= sendSpansMax) return withContext(this.context, output.headers);
    const active = activeContext.active();
    const isOurs = trace.getSpanContext(active)?.traceId === this.span.spanContext().traceId;
    const send = this.traces.startSend(output, isOurs ? active : this.context);
    (output.isDeadLetter === true ? this.letters : this.sent).push(send);
    return withContext(trace.setSpan(this.context, send), output.headers);
  }

  dropped(reason: string): void {
    this.span.addEvent('tally.dropped', { [attribute.reason]: reason });
  }

  repeated(reason: string): void {
    this.span.addEvent('tally.repeated', { [attribute.reason]: reason });
    this.endSends(this.sent, reason);
  }

  joined(epoch: number): void {
    this.span.end();
    this.traces.joined(epoch, { process: this.span, sends: [...this.sent, ...this.letters] });
  }

  failed(error: Error, outcome: RecordOutcome | undefined): void {
    this.span.recordException(error);
    this.span.setAttribute(attribute.errorType, errorType(error));
    if (outcome !== undefined) this.span.setAttribute(attribute.outcome, outcome);
    this.span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    this.span.end();
    // What a failed handler had sent is taken back; its dead letter is not, and joins.
    this.endSends(this.sent, 'The handler failed.');
  }

  abandoned(reason: string): void {
    this.span.addEvent('tally.abandoned', { [attribute.reason]: reason });
    this.span.end();
    this.endSends(this.sent, reason);
    this.endSends(this.letters, reason);
  }

  private endSends(sends: Span[], reason: string): void {
    for (const send of sends.splice(0)) {
      send.setStatus({ code: SpanStatusCode.ERROR, message: reason });
      send.end();
    }
  }
}

/** A key that is a short text, as which most keys can be read. */
function keyAttribute(key: Uint8Array | null): Attributes {
  if (key === null || key.length === 0 || key.length > keyBytesMax) return {};
  for (const byte of key) if (byte < 0x20 || byte > 0x7e) return {};
  return { [attribute.key]: Buffer.from(key).toString('latin1') };
}
