import type { StreamHandlerMetadata, TopologyMetadata } from './decorators/index.js';
import { streamHandlerMetadata, topologyMetadata } from './streams.constants.js';

/** Reads what the decorators wrote. */
export class StreamsMetadataAccessor {
  static topologyOf(target: unknown): TopologyMetadata | undefined {
    if (typeof target !== 'function') return undefined;
    return Reflect.getMetadata(topologyMetadata, target) as TopologyMetadata | undefined;
  }

  static handlerOf(method: unknown): StreamHandlerMetadata | undefined {
    if (typeof method !== 'function') return undefined;
    return Reflect.getMetadata(streamHandlerMetadata, method) as StreamHandlerMetadata | undefined;
  }
}
