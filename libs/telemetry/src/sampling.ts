/**
 * Which traces are kept.
 *
 * A record that brings a trace context is sampled as its producer decided. One without is the root of a trace of its own, and this library
 * draws whether it is sampled before there is a span, since each span costs microseconds and most records need none. So the SDK must not
 * draw a second time: the spans of a record that was drawn, and those of a batch that holds a sampled record, are marked in their context.
 */
import { type Attributes, type Context, type Link, ROOT_CONTEXT, type SpanKind, createContextKey } from '@opentelemetry/api';
import {
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';

const isDrawnKey = createContextKey('tally: drawn');

/** Parent of a root span that is to be kept. */
export const drawnContext: Context = ROOT_CONTEXT.setValue(isDrawnKey, true);

class RootSampler implements Sampler {
  private readonly others: Sampler;

  constructor(private readonly ratio: number) {
    this.others = new TraceIdRatioBasedSampler(ratio);
  }

  shouldSample(context: Context, traceId: string, name: string, kind: SpanKind, attributes: Attributes, links: Link[]): SamplingResult {
    if (context.getValue(isDrawnKey) === true) return { decision: SamplingDecision.RECORD_AND_SAMPLED };
    return this.others.shouldSample(context, traceId, name, kind, attributes, links);
  }

  toString(): string {
    return `TallyRoot{${this.ratio}}`;
  }
}

/** Follows the parent; of roots, keeps what was drawn and the given share of all others. */
export function tallySampler(ratio: number): Sampler {
  return new ParentBasedSampler({ root: new RootSampler(ratio) });
}
