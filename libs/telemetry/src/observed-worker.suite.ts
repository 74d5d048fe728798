/** A worker on a simulated cluster, observed by the SDK with exporters in memory. */
import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { logs } from '@opentelemetry/api-logs';
import { contextBase, core, logs as sdkLogs, metrics as sdkMetrics, node, tracing } from '@opentelemetry/sdk-node';
import { type Logger, MemoryEngine, StreamsWorker, type Topology, type WorkerOptions, seededRandom } from '@tally/streams';
import { SimulatedBroker, SimulatedCluster, VirtualClock } from '@tally/testing';
import { afterEach } from 'vitest';
import { tallySampler } from './sampling.js';
import { type WorkerTelemetryOptions, instrumentTally } from './worker-telemetry.js';

export type FinishedSpan = ReturnType<tracing.InMemorySpanExporter['getFinishedSpans']>[number];

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

export function observedSetting(topics: Readonly<Record<string, number>>, options: WorkerTelemetryOptions = {}) {
  const spanExporter = new tracing.InMemorySpanExporter();
  const provider = new node.NodeTracerProvider({
    sampler: tallySampler(0),
    spanProcessors: [new tracing.SimpleSpanProcessor(spanExporter)],
  });
  provider.register({ propagator: new core.W3CTraceContextPropagator() });
  const metricExporter = new sdkMetrics.InMemoryMetricExporter(sdkMetrics.AggregationTemporality.CUMULATIVE);
  const reader = new sdkMetrics.PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new sdkMetrics.MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(meterProvider);
  const logExporter = new sdkLogs.InMemoryLogRecordExporter();
  logs.setGlobalLoggerProvider(
    new sdkLogs.LoggerProvider({ processors: [new sdkLogs.SimpleLogRecordProcessor({ exporter: logExporter })] }),
  );
  const endTelemetry = instrumentTally(options);

  const clock = new VirtualClock();
  const cluster = new SimulatedCluster({ clock, random: seededRandom(1) });
  for (const [name, partitions] of Object.entries(topics)) cluster.createTopic(name, partitions);
  const lines: (readonly [message: string, fields: unknown])[] = [];
  const write = (message: string, fields: unknown): void => void lines.push([message, fields]);
  const logger: Logger = { debug: write, info: write, warn: write, error: write };
  const workers: StreamsWorker[] = [];
  ends.push(async () => {
    for (const worker of workers) await clock.run(worker.stop());
    endTelemetry();
    await meterProvider.shutdown();
    for (const api of [trace, metrics, context, propagation, logs]) api.disable();
  });

  return {
    cluster,
    clock,
    lines,
    logExporter,
    tracer: trace.getTracer('handler'),
    start: async (topology: Topology, workerOptions: Partial<WorkerOptions> = {}): Promise<StreamsWorker> => {
      const worker = new StreamsWorker(
        {
          topology,
          broker: new SimulatedBroker(cluster, { process: `p${workers.length}` }),
          storeEngine: new MemoryEngine(),
          clock,
          random: seededRandom(workers.length + 1),
          logger,
        },
        { applicationId: 'app', stateDirectory: '/state', ...workerOptions },
      );
      workers.push(worker);
      await clock.run(worker.start());
      return worker;
    },
    until: (predicate: () => boolean): Promise<void> => clock.runUntil(predicate, 300_000),
    /** Lets so much time pass in the simulation, after a while of real time in which timers of telemetry have fired. */
    passes: async (durationMs: number): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      let isOver = false;
      clock.after(durationMs, () => (isOver = true));
      await clock.runUntil(() => isOver, durationMs * 2);
    },
    spans: (): readonly FinishedSpan[] => spanExporter.getFinishedSpans(),
    /** The one span of that name. */
    span: (name: string): FinishedSpan => {
      const [found, ...others] = spanExporter.getFinishedSpans().filter((span) => span.name === name);
      if (found === undefined || others.length > 0) {
        const names = spanExporter.getFinishedSpans().map((span) => span.name);
        throw new Error(`There is not exactly one span '${name}' among: ${names.join(', ')}`);
      }
      return found;
    },
    /** Data points of all metrics, by name. */
    points: async () => {
      await reader.forceFlush();
      const exported =
        metricExporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return new Map(exported.map((metric) => [metric.descriptor.name, metric]));
    },
  };
}

export const rootContext = contextBase.ROOT_CONTEXT;

/** Headers as a producer of another service sends them. */
export function traceHeaders(traceId: string, spanId: string, sampled: boolean) {
  return [{ name: 'traceparent', value: Buffer.from(`00-${traceId}-${spanId}-${sampled ? '01' : '00'}`) }];
}
