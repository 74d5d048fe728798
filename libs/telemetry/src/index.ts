export { pinoLogger, type PinoLike } from './loggers.js';
export { allMetrics, type MetricDefinition, type MetricKind } from './metrics.js';
export { contextOf, withContext } from './record-context.js';
export { tallySampler } from './sampling.js';
export { instrumentTally, type WorkerTelemetryOptions } from './worker-telemetry.js';
