import type { TopicPartitionOffset } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';
import { simulatedError } from '../errors.js';

/** Moves the start of each partition to the offset. */
export function deleteRecords({ topics }: SimulatedCluster, before: readonly TopicPartitionOffset[]): void {
  for (const { topic, partition, offset } of before) {
    const log = topics.log({ topic, partition });
    if (topics.find(topic)?.settings.deletes === false) throw simulatedError('POLICY_VIOLATION', { topic, partition });
    if (offset > log.highWatermark) throw simulatedError('OFFSET_OUT_OF_RANGE', { topic, partition, offset });
    log.deleteBefore(offset);
  }
}
