/**
 * What can be read of a worker at any time: plain numbers, kept where the work is done, since they change with each record. Telemetry reads
 * them when it exports.
 */
import type { TopicPartition } from '../core/record.js';
import type { DropReason } from '../topology/processor.js';
import type { ClientQueues } from './broker.js';
import type { Epoch } from './epoch.js';
import type { FrozenTask, Task } from './task.js';
import type { WorkerHealth } from './worker.js';

export interface WorkerStatistics extends WorkerHealth {
  /** Time of the loop since the start: processing records, and waiting until something happens. */
  readonly loop: LoopTimes;
  /** Committed records by task; tasks that were given away included. */
  readonly processed: ReadonlyMap<string, number>;
  /** As `counters.recordsDropped`, by reason. */
  readonly dropped: ReadonlyMap<DropReason, number>;
  /** Committed punctuations, and edits of stores by hand. */
  readonly punctuations: number;
  /** Records taken from the consumer, by topic. */
  readonly consumed: ReadonlyMap<string, number>;
  /** Records handed to a transaction or a producer, by topic; those of transactions that were aborted later included. */
  readonly sent: ReadonlyMap<string, number>;
  readonly inputs: readonly InputStatistics[];
  readonly stores: readonly StoreStatistics[];
  /** Records that wait inside of the client, where it tells. */
  readonly clientQueues: ClientQueues | undefined;
}

export interface LoopTimes {
  readonly processingMs: number;
  readonly waitingMs: number;
}

/** An input partition of a running task. */
export interface InputStatistics extends TopicPartition {
  readonly task: string;
  readonly committed: number;
  readonly queuedRecords: number;
}

/** A store over all its partitions that this worker has had. */
export interface StoreStatistics {
  readonly store: string;
  /** Reads that the cache answered, and that went to the database; reads of what has not been flushed yet are neither. */
  readonly cacheHits: number;
  readonly cacheMisses: number;
}

/** Counts of the loop, the tasks and the topics since the start. */
export class Statistics {
  readonly loop = { processingMs: 0, waitingMs: 0 };
  readonly processed = new Map<string, number>();
  readonly dropped = new Map<DropReason, number>();
  readonly consumed = new Map<string, number>();
  punctuations = 0;
  /** Of tasks that have been closed. */
  private readonly pastStores = new Map<string, StoreStatistics>();

  consumedFrom(topic: string, records: number): void {
    add(this.consumed, topic, records);
  }

  passedOver(reason: DropReason, records: number): void {
    if (records > 0) add(this.dropped, reason, records);
  }

  confirmed(epoch: Epoch, tasks: readonly FrozenTask[]): void {
    this.punctuations += epoch.punctuations;
    for (const [reason, drops] of epoch.drops) add(this.dropped, reason, drops);
    for (const { task, records } of tasks) add(this.processed, task.id, records);
  }

  closed(task: Task): void {
    addStores(this.pastStores, task);
  }

  storesOf(running: readonly Task[]): readonly StoreStatistics[] {
    const stores = new Map(this.pastStores);
    for (const task of running) addStores(stores, task);
    return [...stores.values()];
  }
}

function add<K>(counts: Map<K, number>, key: K, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function addStores(sums: Map<string, StoreStatistics>, { state }: Task): void {
  for (const { name, cacheHits, cacheMisses } of state.stores.values()) {
    const sum = sums.get(name) ?? { store: name, cacheHits: 0, cacheMisses: 0 };
    sums.set(name, { store: name, cacheHits: sum.cacheHits + cacheHits, cacheMisses: sum.cacheMisses + cacheMisses });
  }
}

export function inputStatistics(tasks: readonly Task[]): readonly InputStatistics[] {
  return tasks.flatMap(({ id, inputs }) =>
    inputs.map(({ topic, partition, committed, length }) => ({ task: id, topic, partition, committed, queuedRecords: length })),
  );
}
