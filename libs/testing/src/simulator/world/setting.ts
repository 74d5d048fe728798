import type { AnyStoreDefinition, Topology } from '@tally/streams';
import type { CreateWorker } from './application.js';

/** What a history runs, whatever scenario or service it is made of. */
export interface Setting {
  /** Name of the group in the first era. */
  readonly applicationId: string;
  /** As the workers run it. */
  readonly topology: Topology;
  readonly topics: readonly { readonly name: string; readonly partitions: number; readonly config?: Readonly<Record<string, string>> }[];
  /** Partitions of a topic that is not among these and is asked for; without it the topic stays unknown. */
  readonly partitionsOfUnknown?: number;
  /** Names of the topics that the load goes to. */
  readonly inputs: readonly string[];
  /** Names of the topics whose records are compared. Default: all but inputs and internal ones. */
  readonly outputs?: readonly string[];
  /** Stores whose contents are compared. */
  readonly stores: readonly AnyStoreDefinition[];
  readonly createWorker: CreateWorker;
  /** Texts for comparisons. */
  keyText(key: unknown): string;
  storeText(store: string, value: unknown): string;
}

/** Stores of a sub-topology that have a changelog. */
export function changeloggedStores({ topology }: Setting, subTopology: string): readonly AnyStoreDefinition[] {
  const names = topology.subTopologies.find(({ id }) => id === subTopology)?.stores ?? [];
  return names.flatMap((name) => topology.stores.get(name) ?? []).filter(({ changelog }) => changelog);
}
