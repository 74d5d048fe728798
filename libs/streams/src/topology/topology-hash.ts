/**
 * The hash that tells whether stored state fits a topology. It covers, of the sub-topologies that have stores: id, source topics, and of
 * each store name, kind, serdes' names, value version, whether it has a changelog and whether that is its topic, whether it keeps duplicates. It covers nothing else: stateless nodes, sinks, names
 * of processors, the order of declaration, partition counts and options of processing may change without a new hash.
 */
import { createHash } from 'node:crypto';
import type { UntypedStore } from './store-definition.js';
import { compareText } from './sub-topologies.js';
import type { SubTopology, TopicChangelog } from './topology.js';

export function hashTopology(
  subTopologies: readonly SubTopology[],
  stores: ReadonlyMap<string, UntypedStore>,
  topicChangelogs: ReadonlyMap<string, TopicChangelog>,
): string {
  const shape = subTopologies
    .filter((subTopology) => subTopology.stores.length > 0)
    .map((subTopology) => [
      subTopology.id,
      [...subTopology.sourceTopics].toSorted(compareText),
      [...subTopology.stores].toSorted(compareText).map((name) => storeShape(stores.get(name), topicChangelogs.has(name))),
    ])
    .toSorted((left, right) => compareText(String(left[0]), String(right[0])));
  return createHash('sha256').update(JSON.stringify(shape)).digest('hex');
}

function storeShape(store: UntypedStore | undefined, isTopicCopy: boolean): readonly unknown[] {
  if (store === undefined) return [];
  const shape = [store.name, store.kind, store.key.name, store.value.name, store.version, store.changelog];
  if (isTopicCopy) return [...shape, 'topic'];
  // Duplicates have longer keys. Retention is no part of the layout: it may change.
  return store.kind === 'window' && store.retainDuplicates ? [...shape, 'duplicates'] : shape;
}
