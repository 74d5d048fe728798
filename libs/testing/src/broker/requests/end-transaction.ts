import type { SimulatedCluster } from '../cluster.js';
import type { Outcome, ProducerIdentity } from '../transactions.js';

/** Decides the transaction; its markers are written later. Asked once more while they are being written it answers `CONCURRENT_TRANSACTIONS`. */
export function endTransaction({ transactions }: SimulatedCluster, producer: ProducerIdentity, outcome: Outcome): void {
  transactions.end(producer, outcome);
}
