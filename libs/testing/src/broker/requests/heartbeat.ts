import type { SimulatedCluster } from '../cluster.js';
import type { HeartbeatAnswer, HeartbeatRequest } from '../group.js';

/**
 * Joins, keeps the session alive, tells what the member holds, and answers what it may hold now.
 * @throws `UNKNOWN_MEMBER_ID`, `FENCED_MEMBER_EPOCH`
 */
export function heartbeat(cluster: SimulatedCluster, groupId: string, request: HeartbeatRequest): HeartbeatAnswer {
  return cluster.group(groupId).heartbeat(request);
}
