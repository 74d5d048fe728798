import type { SimulatedCluster } from '../cluster.js';
import type { ProducerIdentity } from '../transactions.js';

/**
 * Fences earlier producers with the transactional id and aborts what they left open.
 * @throws `CONCURRENT_TRANSACTIONS` until that is settled, `INVALID_TRANSACTION_TIMEOUT`
 */
export function initProducer({ transactions }: SimulatedCluster, transactionalId: string, timeoutMs: number): ProducerIdentity {
  return transactions.init(transactionalId, timeoutMs);
}
