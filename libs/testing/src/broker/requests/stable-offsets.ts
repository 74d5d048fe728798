import type { CommittedOffset, TopicPartition } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';

/** @throws BrokerError of kind `pending` when an open transaction holds one of them. */
export function stableOffsets(
  cluster: SimulatedCluster,
  groupId: string,
  partitions: readonly TopicPartition[],
): readonly CommittedOffset[] {
  return cluster.group(groupId).offsets.stable(partitions);
}
