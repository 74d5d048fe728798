/**
 * The transaction coordinator.
 *
 * 1. The end of a transaction is decided when `end` is answered; the markers that make it visible are written later, each on its own.
 * 2. A new transaction of the same producer waits until all markers of the last one are written.
 * 3. Who initialises a transactional id fences its earlier users by the epoch and settles what they left open.
 * 4. A transaction that outlives its timeout is aborted at the coordinator's next sweep, and its producer is fenced.
 */
import type { Clock, TopicPartition } from '@tally/streams';
import { partitionName } from '@tally/streams';
import { simulatedError } from './errors.js';

export type Outcome = 'committed' | 'aborted';

export interface ProducerIdentity {
  readonly producerId: number;
  readonly epoch: number;
}

interface Transaction {
  readonly transactionalId: string;
  readonly producerId: number;
  epoch: number;
  timeoutMs: number;
  state: 'empty' | 'ongoing' | 'ending' | 'complete';
  outcome: Outcome | undefined;
  readonly partitions: Map<string, TopicPartition>;
  readonly groups: Set<string>;
  cancelTimeout: () => void;
}

export interface TransactionHost {
  readonly clock: Clock;
  readonly isAvailable: boolean;
  readonly transactionTimeoutMsMax: number;
  /** Interval of the sweeps that abort transactions which have outlived their timeout. */
  readonly sweepIntervalMs: number;
  markerDelayMs(): number;
  markPartition(partition: TopicPartition, producerId: number, outcome: Outcome): void;
  markGroup(groupId: string, producerId: number, outcome: Outcome): void;
}

export class TransactionCoordinator {
  private readonly byTransactionalId = new Map<string, Transaction>();
  private readonly byProducerId = new Map<number, Transaction>();
  private nextProducerId = 1000;

  constructor(private readonly host: TransactionHost) {}

  /** @throws `CONCURRENT_TRANSACTIONS` until what an earlier producer left open is settled. */
  init(transactionalId: string, timeoutMs: number): ProducerIdentity {
    if (timeoutMs > this.host.transactionTimeoutMsMax) throw simulatedError('INVALID_TRANSACTION_TIMEOUT');
    const transaction = this.byTransactionalId.get(transactionalId) ?? this.make(transactionalId);
    if (transaction.state === 'ongoing') {
      transaction.epoch += 1;
      this.prepare(transaction, 'aborted');
    }
    if (transaction.state === 'ending') throw simulatedError('CONCURRENT_TRANSACTIONS');
    transaction.epoch += 1;
    transaction.timeoutMs = timeoutMs;
    transaction.state = 'empty';
    transaction.outcome = undefined;
    return { producerId: transaction.producerId, epoch: transaction.epoch };
  }

  /** An identity for a producer without transactions. */
  newProducerId(): number {
    return this.nextProducerId++;
  }

  addPartition(producer: ProducerIdentity, partition: TopicPartition): void {
    this.enter(producer).partitions.set(partitionName(partition), partition);
  }

  addGroup(producer: ProducerIdentity, groupId: string): void {
    this.enter(producer).groups.add(groupId);
  }

  /** Checks that a write or an offset commit belongs to the producer's open transaction. */
  verify(producer: ProducerIdentity, part: { readonly partition: TopicPartition } | { readonly groupId: string }): void {
    const transaction = this.find(producer);
    const added = 'groupId' in part ? transaction.groups.has(part.groupId) : transaction.partitions.has(partitionName(part.partition));
    if (transaction.state !== 'ongoing' || !added) throw simulatedError('INVALID_TXN_STATE');
  }

  /** Decides the transaction. Asked again after its end it answers the same; while markers are being written, `CONCURRENT_TRANSACTIONS`. */
  end(producer: ProducerIdentity, outcome: Outcome): void {
    const transaction = this.find(producer);
    if (transaction.state === 'ongoing') this.prepare(transaction, outcome);
    else if (transaction.outcome !== outcome) throw simulatedError('INVALID_TXN_STATE');
    else if (transaction.state === 'ending') throw simulatedError('CONCURRENT_TRANSACTIONS');
  }

  private make(transactionalId: string): Transaction {
    const transaction: Transaction = {
      transactionalId,
      producerId: this.newProducerId(),
      epoch: -1,
      timeoutMs: 0,
      state: 'empty',
      outcome: undefined,
      partitions: new Map(),
      groups: new Set(),
      cancelTimeout: () => {},
    };
    this.byTransactionalId.set(transactionalId, transaction);
    this.byProducerId.set(transaction.producerId, transaction);
    return transaction;
  }

  private find({ producerId, epoch }: ProducerIdentity): Transaction {
    const transaction = this.byProducerId.get(producerId);
    if (transaction === undefined || transaction.epoch !== epoch) throw simulatedError('PRODUCER_FENCED');
    return transaction;
  }

  private enter(producer: ProducerIdentity): Transaction {
    const transaction = this.find(producer);
    if (transaction.state === 'ending') throw simulatedError('CONCURRENT_TRANSACTIONS');
    if (transaction.state !== 'ongoing') {
      transaction.state = 'ongoing';
      transaction.outcome = undefined;
      this.watchTimeout(transaction);
    }
    return transaction;
  }

  private watchTimeout(transaction: Transaction): void {
    const { clock, sweepIntervalMs } = this.host;
    const dueMs = clock.monotonicMs() + transaction.timeoutMs;
    const sweepMs = Math.ceil(dueMs / sweepIntervalMs) * sweepIntervalMs;
    const abort = (): void => {
      if (!this.host.isAvailable) {
        transaction.cancelTimeout = clock.after(sweepIntervalMs, abort);
        return;
      }
      transaction.epoch += 1;
      this.prepare(transaction, 'aborted');
    };
    transaction.cancelTimeout = clock.after(sweepMs - clock.monotonicMs(), abort);
  }

  private prepare(transaction: Transaction, outcome: Outcome): void {
    transaction.cancelTimeout();
    transaction.state = 'ending';
    transaction.outcome = outcome;
    let markersLeft = transaction.partitions.size + transaction.groups.size;
    const write = (marker: () => void): void => {
      this.host.clock.after(this.host.markerDelayMs(), () => {
        marker();
        markersLeft -= 1;
        if (markersLeft === 0) transaction.state = 'complete';
      });
    };
    for (const partition of transaction.partitions.values())
      write(() => this.host.markPartition(partition, transaction.producerId, outcome));
    for (const groupId of transaction.groups) write(() => this.host.markGroup(groupId, transaction.producerId, outcome));
    transaction.partitions.clear();
    transaction.groups.clear();
  }
}
