import type { StreamsBuilder } from '@tally/streams';

/** A provider that adds its part to the application's topology. Built once, before the worker starts. */
export interface StreamsTopology {
  build(streams: StreamsBuilder): void;
}
