/** Where traces of payments begin, when the load generator is observed. */
import { ROOT_CONTEXT, SpanKind, isSpanContextValid, trace } from '@opentelemetry/api';
import { withContext } from '@tally/telemetry';

type Send = (headers: { [name: string]: Buffer }[] | undefined) => void;

/** Sends within a span, with its context in the record's headers. Without telemetry it only sends. */
export function tracedSend(topic: string, key: string, send: Send): void {
  const attributes = {
    'messaging.system': 'kafka',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.destination.name': topic,
    'messaging.kafka.message.key': key,
  };
  const span = trace.getTracer('ledger-load').startSpan(`send ${topic}`, { kind: SpanKind.PRODUCER, attributes }, ROOT_CONTEXT);
  if (!isSpanContextValid(span.spanContext())) {
    send(undefined);
    return;
  }
  try {
    const headers = withContext(trace.setSpan(ROOT_CONTEXT, span), []);
    send(headers.map(({ name, value }) => ({ [name]: Buffer.from(value) })));
    span.end();
  } catch (error) {
    // A full queue is not said: the record is sent again under another span.
    span.end();
    throw error;
  }
}
