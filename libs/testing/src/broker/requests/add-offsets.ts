import type { SimulatedCluster } from '../cluster.js';
import type { ProducerIdentity } from '../transactions.js';

/** The group's offsets become a part of the producer's transaction, which begins with that if it has not. */
export function addOffsets({ transactions }: SimulatedCluster, producer: ProducerIdentity, groupId: string): void {
  transactions.addGroup(producer, groupId);
}
