import type { TopicPartition } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';
import { simulatedError } from '../errors.js';
import type { RecordToLog } from '../log.js';
import type { ProducerIdentity } from '../transactions.js';

export interface ProducedBatch {
  /** For records of its open transaction. */
  readonly producer?: ProducerIdentity;
  /** Its sequence number does not follow the last one that the partition has of the producer. */
  readonly isOutOfOrder: boolean;
}

/** Writes the batch whole or not at all. What is in it is looked at before its sequence number. */
export function produce(
  { topics, transactions, clock }: SimulatedCluster,
  at: TopicPartition,
  records: readonly RecordToLog[],
  { producer, isOutOfOrder }: ProducedBatch,
): void {
  if (producer !== undefined) transactions.verify(producer, { partition: at });
  topics.checkBatch(at, records, clock.nowMs());
  if (isOutOfOrder) throw simulatedError('OUT_OF_ORDER_SEQUENCE_NUMBER', at);
  topics.log(at).append(records, producer?.producerId);
}
