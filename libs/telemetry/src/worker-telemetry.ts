import { metrics, trace } from '@opentelemetry/api';
import { logs } from '@opentelemetry/api-logs';
import { type Hooks, type Instrument, type WorkerInstrumentation, instrumentWorkers } from '@tally/streams';
import { scopeName } from './conventions.js';
import { ProcessMetrics } from './process-metrics.js';
import { telemetryLogger } from './telemetry-logger.js';
import { WorkerInstruments, WorkerMetrics } from './worker-metrics.js';
import { WorkerTraces } from './worker-traces.js';

export interface WorkerTelemetryOptions {
  /** Share of the records without a trace of their own that begin one, from 0 to 1. Default 0.01. */
  readonly traceRatio?: number;
  /** How often it is asked where partitions end, in milliseconds. Default 5,000. */
  readonly refreshIntervalMs?: number;
}

/**
 * Instruments each worker that this process makes from now on, on the providers that are registered with OpenTelemetry's API: for who sets the
 * SDK up by himself. `@tally/telemetry/register` does both.
 *
 * @returns what ends it, for workers that are made afterwards
 */
export function instrumentTally(options: WorkerTelemetryOptions = {}): () => void {
  const { traceRatio = 0.01, refreshIntervalMs = 5_000 } = options;
  const meter = metrics.getMeter(scopeName);
  const tracer = trace.getTracer(scopeName);
  const records = logs.getLogger(scopeName);
  const instruments = new WorkerInstruments(meter);
  const process = new ProcessMetrics(meter);
  const timer = setInterval(() => {
    instruments.refresh();
    process.refresh();
  }, refreshIntervalMs);
  timer.unref();
  const instrument: Instrument = (worker): WorkerInstrumentation => {
    const traces = new WorkerTraces(tracer, worker.applicationId, traceRatio);
    const { hooks } = new WorkerMetrics(instruments, worker);
    return {
      hooks: withTraces(hooks, traces),
      wrapLogger: (own) => telemetryLogger(own, records, worker.applicationId),
    };
  };
  instrumentWorkers(instrument);
  return () => {
    clearInterval(timer);
    process.stop();
    instrumentWorkers(undefined);
  };
}

function withTraces(hooks: Hooks, traces: WorkerTraces): Hooks {
  return {
    ...hooks,
    tracer: traces,
    batch: (records, durationMs) => {
      hooks.batch?.(records, durationMs);
      traces.received(records, durationMs);
    },
    committed: (report) => {
      hooks.committed?.(report);
      traces.committed(report);
    },
    aborted: (reason) => traces.aborted(reason),
    producerReplaced: (reason) => {
      hooks.producerReplaced?.(reason);
      traces.aborted(reason);
    },
  };
}
