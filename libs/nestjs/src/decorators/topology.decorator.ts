import { Injectable } from '@nestjs/common';
import { topologyMetadata } from '../streams.constants.js';
import type { StreamsTopology } from '../interfaces/index.js';

export interface TopologyMetadata {
  readonly name: string;
  readonly application: string | undefined;
}

/**
 * Marks a provider as a part of the application's topology. Its dependencies are injected as usual.
 * @param name unique in the application; for messages and descriptions
 */
export function Topology(name: string, options: { readonly application?: string } = {}) {
  return (target: new (...dependencies: never[]) => StreamsTopology): void => {
    const metadata: TopologyMetadata = { name, application: options.application };
    Injectable()(target);
    Reflect.defineMetadata(topologyMetadata, metadata, target);
  };
}
