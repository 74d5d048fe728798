import type { OffsetToCommit } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';
import type { CommittingMember } from '../group.js';

/** @throws BrokerError of kind `staleMember` when the group knows the member otherwise or not at all. */
export function commitOffsets(cluster: SimulatedCluster, member: CommittingMember, offsets: readonly OffsetToCommit[]): void {
  const group = cluster.group(member.groupId);
  group.checkCommit(member, offsets);
  group.offsets.commit(group.attributed(member, offsets));
}
