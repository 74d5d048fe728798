import type { OffsetSpec, TopicPartition, TopicPartitionOffset } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';
import type { PartitionLog } from '../log.js';

/** @throws BrokerError of kind `invalid` for all when one partition does not exist. */
export function listOffsets(
  { topics }: SimulatedCluster,
  partitions: readonly TopicPartition[],
  spec: OffsetSpec,
): readonly TopicPartitionOffset[] {
  return partitions.map(({ topic, partition }) => ({ topic, partition, offset: offsetOf(topics.log({ topic, partition }), spec) }));
}

function offsetOf(log: PartitionLog, spec: OffsetSpec): number {
  if (spec === 'earliest') return log.logStart;
  return spec === 'highWatermark' ? log.highWatermark : log.lastStableOffset;
}
