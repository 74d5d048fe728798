import type { OffsetToCommit } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';
import type { CommittingMember } from '../group.js';
import type { ProducerIdentity } from '../transactions.js';

/**
 * Holds the offsets until the transaction's marker reaches the group: fenced by the producer's epoch and by the member's.
 * @throws BrokerError of kind `fenced` or `staleMember`
 */
export function commitTransactionOffsets(
  cluster: SimulatedCluster,
  producer: ProducerIdentity,
  member: CommittingMember,
  offsets: readonly OffsetToCommit[],
): void {
  cluster.transactions.verify(producer, { groupId: member.groupId });
  const group = cluster.group(member.groupId);
  group.checkTransactionalCommit(member, offsets);
  group.offsets.hold(producer.producerId, group.attributed(member, offsets));
}
