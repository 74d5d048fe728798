import type { SimulatedCluster } from '../cluster.js';

/** What the member held is free at once. */
export function leaveGroup(cluster: SimulatedCluster, groupId: string, memberId: string): void {
  cluster.group(groupId).leave(memberId);
}
