/** A receiver of OTLP over HTTP: decodes what services export with OpenTelemetry's own protocol definitions, and keeps it. */
import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

export interface ReceivedSpan {
  readonly service: string;
  readonly instance: string;
  readonly name: string;
  readonly kind: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

export interface ReceivedLog {
  readonly service: string;
  readonly severity: string;
  readonly body: string;
  /** When it was logged. */
  readonly atMs: number;
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OfResource {
  readonly resource: { readonly attributes?: readonly KeyValue[] };
}

type Bytes = Uint8Array | undefined;
type RawSpan = {
  readonly name: string;
  readonly kind: string;
  readonly traceId: Bytes;
  readonly spanId: Bytes;
  readonly parentSpanId?: Bytes;
  readonly links?: readonly { readonly traceId: Bytes; readonly spanId: Bytes }[];
  readonly attributes?: readonly KeyValue[];
  readonly status?: { readonly code?: string };
};
type RawTraces = {
  readonly resourceSpans?: readonly (OfResource & { readonly scopeSpans?: readonly { readonly spans?: readonly RawSpan[] }[] })[];
};
type RawMetrics = {
  readonly resourceMetrics?: readonly (OfResource & {
    readonly scopeMetrics?: readonly { readonly metrics?: readonly { readonly name: string }[] }[];
  })[];
};
type RawLogs = {
  readonly resourceLogs?: readonly (OfResource & {
    readonly scopeLogs?: readonly {
      readonly logRecords?: readonly {
        readonly severityText?: string;
        readonly body?: KeyValue['value'];
        readonly observedTimeUnixNano?: number;
      }[];
    }[];
  })[];
};

const definitions = fileURLToPath(new URL('.', import.meta.url));
const requests = ['trace/v1/trace_service.proto', 'metrics/v1/metrics_service.proto', 'logs/v1/logs_service.proto'];

export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly logs: ReceivedLog[] = [];
  readonly metricNames = new Set<string>();
  /** Requests that were answered with an error, since they could not be decoded. */
  readonly refused: string[] = [];

  private constructor(
    private readonly server: Server,
    private readonly types: protobuf.Root,
  ) {}

  static async start(): Promise<OtlpReceiver> {
    const types = new protobuf.Root();
    types.resolvePath = (_origin, target) => `${definitions}${target}`;
    await types.load(requests.map((file) => `opentelemetry/proto/collector/${file}`));
    const server = createServer((request, response) => void receiver.answer(request, response));
    const receiver: OtlpReceiver = new OtlpReceiver(server, types);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  /** Spans of one trace. */
  trace(traceId: string): readonly ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Buffer.concat(chunks);
    try {
      this.take(request.url ?? '', request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent);
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    } catch (error) {
      this.refused.push(`${request.url}: ${String(error)}`);
      response.writeHead(400).end();
    }
  }

  private take(path: string, body: Buffer): void {
    if (path === '/v1/traces') this.takeTraces(this.decode<RawTraces>('trace.v1.ExportTraceServiceRequest', body));
    else if (path === '/v1/metrics') this.takeMetrics(this.decode<RawMetrics>('metrics.v1.ExportMetricsServiceRequest', body));
    else if (path === '/v1/logs') this.takeLogs(this.decode<RawLogs>('logs.v1.ExportLogsServiceRequest', body));
    else throw new Error('there is no such signal');
  }

  private decode<Message>(type: string, body: Buffer): Message {
    const message = this.types.lookupType(`opentelemetry.proto.collector.${type}`);
    return message.toObject(message.decode(body), { enums: String, longs: Number }) as Message;
  }

  private takeTraces({ resourceSpans = [] }: RawTraces): void {
    for (const { resource, scopeSpans = [] } of resourceSpans) {
      const origin = attributesOf(resource.attributes);
      for (const { spans = [] } of scopeSpans) this.spans.push(...spans.map((span) => spanOf(span, origin)));
    }
  }

  private takeMetrics({ resourceMetrics = [] }: RawMetrics): void {
    for (const { scopeMetrics = [] } of resourceMetrics) {
      for (const { metrics = [] } of scopeMetrics) for (const { name } of metrics) this.metricNames.add(name);
    }
  }

  private takeLogs({ resourceLogs = [] }: RawLogs): void {
    for (const { resource, scopeLogs = [] } of resourceLogs) {
      const service = String(attributesOf(resource.attributes)['service.name']);
      for (const { logRecords = [] } of scopeLogs)
        for (const { severityText = '', body = {}, observedTimeUnixNano = 0 } of logRecords)
          this.logs.push({ service, severity: severityText, body: String(valueOf(body)), atMs: observedTimeUnixNano / 1e6 });
    }
  }
}

function spanOf(span: RawSpan, origin: Readonly<Record<string, unknown>>): ReceivedSpan {
  return {
    service: String(origin['service.name']),
    instance: String(origin['service.instance.id']),
    name: span.name,
    kind: span.kind.replace('SPAN_KIND_', ''),
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId: hex(traceId), spanId: hex(spanId) })),
    attributes: attributesOf(span.attributes),
    isError: span.status?.code === 'STATUS_CODE_ERROR',
  };
}

function attributesOf(attributes: readonly KeyValue[] = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

/** The one member of a value: `stringValue`, `intValue` and so on. */
function valueOf(value: KeyValue['value']): unknown {
  return Object.values(value)[0];
}

function hex(bytes: Bytes): string {
  return bytes === undefined ? '' : Buffer.from(bytes).toString('hex');
}
