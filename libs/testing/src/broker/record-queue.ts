/**
 * What a producer has queued: per partition one batch in flight, the next one after its answer. A batch that is refused fails as a whole,
 * and in a transaction the next batch to that partition fails once more, with an out-of-order sequence: so it is with the real client.
 */
import { BrokerError, type DeliveryFailure, partitionName, type TopicPartition } from '@tally/streams';
import type { Connection } from './connection.js';
import { isBrokerError, simulatedError } from './errors.js';
import type { RecordToLog } from './log.js';

export interface RecordQueueOptions {
  readonly connection: Connection;
  readonly clientId: string;
  readonly lingerMs: number;
  /** Largest batch; a larger record gets one of its own. */
  readonly batchBytesMax: number;
  /** Largest record that the client takes. */
  readonly recordBytesMax: number;
  readonly queueRecordsMax: number;
  readonly queueBytesMax: number;
  /** A batch that is not acknowledged within this time fails. */
  readonly deliveryTimeoutMs: number;
  /**
   * After a failure nothing that is queued is sent any more, for the transaction has to be aborted; and the next batch to the partition
   * fails once more. Without transactions the client begins a new sequence by itself.
   */
  readonly transactional: boolean;
  /** Called before the first batch to a partition and after each `forgetPartitions`. */
  readonly enter: (partition: TopicPartition) => Promise<void>;
  /** Whether the producer has been closed. */
  readonly isAbandoned: () => boolean;
  /** Runs in the cluster. */
  readonly write: (partition: TopicPartition, records: readonly RecordToLog[], isOutOfOrder: boolean) => void;
}

interface PartitionQueue {
  readonly at: TopicPartition;
  readonly records: RecordToLog[];
  entered: boolean;
  sending: boolean;
  /** The last batch was refused: the next one is refused for its sequence number, unless one of another partition was. */
  echo: boolean;
}

export class RecordQueue {
  private readonly partitions: PartitionQueue[] = [];
  private readonly byTopic = new Map<string, PartitionQueue[]>();
  private failures: DeliveryFailure[] = [];
  /** Of the open transaction. */
  private errors: BrokerError[] = [];
  private queued = 0;
  private queuedBytes = 0;
  private lingering = false;
  private waiting: (() => void)[] = [];

  constructor(private readonly options: RecordQueueOptions) {}

  /** Why the transaction cannot be committed: a refused record where there is one. */
  get failure(): BrokerError | undefined {
    return this.errors.length === 0 ? undefined : (this.errors.find((error) => error.kind === 'recordRefused') ?? this.errors[0]);
  }

  get isEmpty(): boolean {
    return this.queued === 0;
  }

  /** @returns false when the queue is full. */
  add(record: RecordToLog): boolean {
    const { topic, partition, bytes } = record;
    if (bytes > this.options.recordBytesMax) throw simulatedError('MESSAGE_TOO_LARGE', { topic, partition });
    if (this.queued >= this.options.queueRecordsMax || (this.queued > 0 && this.queuedBytes + bytes > this.options.queueBytesMax))
      return false;
    this.queued += 1;
    this.queuedBytes += bytes;
    const queue = this.queueOf(topic, partition);
    queue.records.push(record);
    if (!this.lingering) {
      this.lingering = true;
      this.options.connection.after(this.options.lingerMs, () => {
        this.lingering = false;
        this.sendAll();
      });
    }
    return true;
  }

  takeFailures(): readonly DeliveryFailure[] {
    const taken = this.failures;
    this.failures = [];
    return taken;
  }

  /** Resolves with true when nothing is queued or in flight any more, with false after the timeout. */
  flush(timeoutMs: number): Promise<boolean> {
    this.sendAll();
    if (this.queued === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const cancel = this.options.connection.after(timeoutMs, () => resolve(false));
      this.waiting.push(() => {
        cancel();
        resolve(true);
      });
    });
  }

  /** Drops what has not been sent; batches in flight go on. */
  purge(): void {
    for (const queue of this.partitions) this.settle(queue.records.splice(0));
  }

  /** The transaction has ended: partitions are entered anew by the next one. */
  reset(): void {
    this.errors = [];
    for (const queue of this.partitions) queue.entered = false;
  }

  private queueOf(topic: string, partition: number): PartitionQueue {
    let queues = this.byTopic.get(topic);
    if (queues === undefined) this.byTopic.set(topic, (queues = []));
    let queue = queues[partition];
    if (queue === undefined) {
      queue = { at: { topic, partition }, records: [], entered: false, sending: false, echo: false };
      queues[partition] = queue;
      this.partitions.push(queue);
    }
    return queue;
  }

  private sendAll(): void {
    for (const queue of this.partitions) if (!queue.sending && queue.records.length > 0) void this.sendFrom(queue);
  }

  private async sendFrom(queue: PartitionQueue): Promise<void> {
    queue.sending = true;
    while (queue.records.length > 0) {
      const batch = this.takeBatch(queue);
      try {
        await this.send(queue, batch);
      } catch (error) {
        this.failed(queue, error);
      }
      this.settle(batch);
    }
    queue.sending = false;
  }

  private async send(queue: PartitionQueue, batch: readonly RecordToLog[]): Promise<void> {
    const { connection, clientId, deliveryTimeoutMs, enter, write, isAbandoned } = this.options;
    const deadlineMs = connection.clock.monotonicMs() + deliveryTimeoutMs;
    let written = false;
    // The sequence number makes a repeated batch harmless.
    const once = (): void => {
      if (written) return;
      write(queue.at, batch, queue.echo);
      written = true;
    };
    const detail = `${partitionName(queue.at)} x${batch.length}`;
    for (;;) {
      try {
        if (!queue.entered) {
          await enter(queue.at);
          queue.entered = true;
        }
        return await connection.call('produce', { clientId, timeoutMs: requestTimeoutMs, detail, isAbandoned }, once);
      } catch (error) {
        if (!(error instanceof BrokerError) || error.kind !== 'retriable') throw error;
        if (connection.clock.monotonicMs() >= deadlineMs) throw simulatedError('MESSAGE_TIMED_OUT', queue.at);
      }
    }
  }

  private failed(queue: PartitionQueue, error: unknown): void {
    if (!(error instanceof BrokerError)) throw error;
    queue.echo = this.options.transactional && error.kind === 'recordRefused' && !isBrokerError(error, 'UNKNOWN_TOPIC_OR_PARTITION');
    this.errors.push(error);
    if (this.options.transactional) this.purge();
    if (isBrokerError(error, 'OUT_OF_ORDER_SEQUENCE_NUMBER')) {
      // The client begins new sequences, in all partitions. Its records count as purged, not as refused.
      for (const each of this.partitions.values()) each.echo = false;
      return;
    }
    const { topic, partition } = queue.at;
    const isKnown = this.failures.some(
      (failure) => failure.topic === topic && failure.partition === partition && failure.error.code === error.code,
    );
    if (!isKnown) this.failures.push({ topic, partition, error });
  }

  private takeBatch(queue: PartitionQueue): RecordToLog[] {
    let bytes = 0;
    let count = 0;
    for (const record of queue.records) {
      bytes += record.bytes;
      if (count > 0 && bytes > this.options.batchBytesMax) break;
      count += 1;
    }
    return queue.records.splice(0, count);
  }

  private settle(records: readonly RecordToLog[]): void {
    this.queued -= records.length;
    for (const record of records) this.queuedBytes -= record.bytes;
    if (this.queued > 0) return;
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/** A request without an answer is repeated after this time. */
const requestTimeoutMs = 500;
