import type { GroupMember } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';

/** A group that nobody has asked for is empty. */
export function describeGroup(cluster: SimulatedCluster, groupId: string): readonly GroupMember[] {
  return cluster.group(groupId).describe();
}
