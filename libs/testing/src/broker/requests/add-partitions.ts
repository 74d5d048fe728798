import type { TopicPartition } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';
import type { ProducerIdentity } from '../transactions.js';

/** The partition becomes a part of the producer's transaction, which begins with that if it has not. Its end writes a marker there. */
export function addPartitions({ transactions }: SimulatedCluster, producer: ProducerIdentity, partition: TopicPartition): void {
  transactions.addPartition(producer, partition);
}
