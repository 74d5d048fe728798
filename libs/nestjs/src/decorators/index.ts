export { InjectStore, InjectStreamsHealth, InjectStreamsQuery, InjectWorker } from './inject.decorators.js';
export { Store } from './store.decorator.js';
export { StreamHandler, type StreamHandlerMetadata, type StreamHandlerMethod } from './stream-handler.decorator.js';
export { Topology, type TopologyMetadata } from './topology.decorator.js';
