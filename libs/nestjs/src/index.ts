export { Ctx, Payload } from '@nestjs/microservices';
export { bootstrapStreams, type BootstrapOptions, connectStreams } from './bootstrap-streams.js';
export * from './decorators/index.js';
export * from './errors/index.js';
export type * from './interfaces/index.js';
export {
  type RestoringTask,
  type StreamsHealthDetails,
  StreamsHealthIndicator,
  type StreamsHealthResult,
} from './streams-health.indicator.js';
export { StreamsModule } from './streams.module.js';
export { StreamsQueryService } from './streams-query.service.js';
export { StreamsTransport, streamsTransport } from './streams.transport.js';
export { StreamsWorkerRef } from './streams-worker.ref.js';
export {
  defaultApplication,
  getStoreToken,
  getStreamsHealthToken,
  getStreamsQueryToken,
  getStreamsTransportToken,
  getStreamsWorkerToken,
  workerFactoryToken,
} from './streams.constants.js';
