import type { TopicDescription } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';

/** Those of the topics that exist. */
export function describeTopics(cluster: SimulatedCluster, names: readonly string[]): ReadonlyMap<string, TopicDescription> {
  const found = new Map<string, TopicDescription>();
  for (const name of names) {
    const topic = cluster.describe(name);
    if (topic !== undefined) found.set(name, { name, topicId: topic.topicId, partitions: topic.partitions.length });
  }
  return found;
}
