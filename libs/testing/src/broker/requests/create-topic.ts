import type { TopicSpecification } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';
import { simulatedError } from '../errors.js';

/** What -1 stands for, as `num.partitions` of the broker. */
const partitionsDefault = 4;

/** Leaves a topic that exists as it is. */
export function createTopic({ topics }: SimulatedCluster, { name, partitions, replicationFactor, config }: TopicSpecification): void {
  if (topics.find(name) !== undefined) return;
  const isOneBroker = replicationFactor === -1 || replicationFactor === 1;
  if (!isOneBroker) throw simulatedError('INVALID_REPLICATION_FACTOR', { topic: name });
  topics.create(name, partitions === -1 ? partitionsDefault : partitions, config);
}
