/** A worker's lines with the trace that they belong to, and as log records of OpenTelemetry beside wherever else they go. */
import { type AttributeValue, type Attributes, isSpanContextValid, trace } from '@opentelemetry/api';
import { type Logger as OtelLogger, SeverityNumber } from '@opentelemetry/api-logs';
import type { Logger } from '@tally/streams';
import { attribute } from './conventions.js';

type Fields = Readonly<Record<string, unknown>>;

const severities = {
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
} as const;

/** @param group application id of the worker */
export function telemetryLogger(own: Logger, records: OtelLogger, group: string): Logger {
  const line =
    (level: keyof typeof severities) =>
    (message: string, fields: Fields = {}) => {
      own[level](message, { ...fields, ...traceFields() });
      records.emit({
        severityNumber: severities[level],
        severityText: level.toUpperCase(),
        body: message,
        attributes: { [attribute.group]: group, ...attributesOf(fields) },
      });
    };
  return {
    // Debugging lines go to the service's own log alone.
    debug: (message, fields = {}) => own.debug(message, { ...fields, ...traceFields() }),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
  };
}

/** Of the span that is active, where there is one; under the names by which logs are found from a trace. */
function traceFields(): Fields {
  const span = trace.getActiveSpan()?.spanContext();
  return span === undefined || !isSpanContextValid(span) ? {} : { trace_id: span.traceId, span_id: span.spanId };
}

const names: Readonly<Record<string, string>> = {
  task: attribute.task,
  topic: attribute.destination,
  partition: attribute.partition,
  offset: attribute.offset,
  store: attribute.store,
};

function attributesOf(fields: Fields): Attributes {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [names[name] ?? `tally.${name}`, plain(value)]));
}

function plain(value: unknown): AttributeValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Error) return value.message;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
