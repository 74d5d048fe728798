export type { StreamContext } from './stream-context.interface.js';
export type { StreamHandlerOptions } from './stream-handler-options.interface.js';
export type {
  FailureReaction,
  StreamsModuleAsyncOptions,
  StreamsModuleOptions,
  StreamsOptions,
  StreamsOptionsFactory,
} from './streams-options.interface.js';
export type { StreamsTopology } from './streams-topology.interface.js';
