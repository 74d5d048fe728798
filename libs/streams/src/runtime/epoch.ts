/**
 * An epoch is what one transaction covers: what all tasks of the worker have joined since the last one was frozen.
 *
 * Invariants
 * 1. Only scopes whose handler has returned are in it.
 * 2. Outputs are in the order in which their scopes joined.
 * 3. Every task that joined a scope is in `tasks`, so that its offsets go with its writes.
 */
import type { Headers } from '../core/record.js';
import type { DropReason } from '../topology/processor.js';
import type { Task } from './task.js';

/** A serialized record on its way to a topic. */
export interface OutputRecord {
  readonly topic: string;
  /** -1: any. */
  readonly partition: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly timestampMs: number;
  readonly headers: Headers;
  readonly task: Task;
  /** @see Destination.sent */
  readonly sent: { records: number };
  readonly isDeadLetter?: boolean;
}

/** Constant part of what an output costs in memory, in bytes. */
const outputOverheadBytes = 120;

export function outputBytes(record: Pick<OutputRecord, 'key' | 'value' | 'headers'>): number {
  let bytes = outputOverheadBytes + (record.key?.length ?? 0) + (record.value?.length ?? 0);
  if (record.headers.length > 0) for (const header of record.headers) bytes += header.name.length + header.value.length;
  return bytes;
}

export class Epoch {
  readonly tasks = new Set<Task>();
  /** How many outputs have joined. */
  outputs = 0;
  /** How many of them have been handed to the producer already: those are not kept. */
  produced = 0;
  /** Bytes of all of them. */
  outputBytes = 0;
  /** Tasks that wrote dead letters. */
  readonly letterTasks = new Set<Task>();
  private queue: OutputRecord[] = [];
  private head = 0;
  /** By topic. */
  private readonly writers = new Map<string, TopicWriters>();
  /** The producer refused an output outright; the commit will say which. */
  isBlocked = false;
  records = 0;
  /** Smallest timestamp of its records; Infinity while it has none. */
  oldestMs = Number.POSITIVE_INFINITY;
  punctuations = 0;
  /** How often operators passed over a record, by reason. */
  readonly drops = new Map<DropReason, number>();
  /** Records that the error policy passed over. */
  skipped = 0;
  deadLettered = 0;
  /** The one task under suspicion that has joined something, and how many units. */
  suspect: Task | undefined;
  suspectUnits = 0;

  constructor(readonly number: number) {}

  get isEmpty(): boolean {
    return this.tasks.size === 0;
  }

  add(output: OutputRecord): void {
    this.queue.push(output);
    this.outputs++;
    output.sent.records++;
    this.outputBytes += outputBytes(output);
    this.noteWriter(output);
  }

  drop(reason: DropReason): void {
    this.drops.set(reason, (this.drops.get(reason) ?? 0) + 1);
  }

  /** The first output that the producer has not been given. */
  get nextOutput(): OutputRecord | undefined {
    return this.queue[this.head];
  }

  /** The producer has taken the next output. */
  passOutput(): void {
    this.produced++;
    this.head++;
    if (this.head < this.queue.length) return;
    this.queue = [];
    this.head = 0;
  }

  /** Tasks that may have written to the partition; -1 is any. */
  *writersOf(topic: string, partition: number): Iterable<Task> {
    for (const [written, tasks] of this.writers.get(topic)?.byPartition ?? []) {
      if (partition === -1 || written === -1 || written === partition) yield* tasks;
    }
  }

  private noteWriter({ topic, partition, task, isDeadLetter }: OutputRecord): void {
    if (isDeadLetter === true) this.letterTasks.add(task);
    let writers = this.writers.get(topic);
    if (writers === undefined) this.writers.set(topic, (writers = { byPartition: new Map(), lastPartition: -1, lastTask: undefined }));
    // Records come in runs of one task, and most go to one partition.
    else if (writers.lastTask === task && writers.lastPartition === partition) return;
    writers.lastTask = task;
    writers.lastPartition = partition;
    const tasks = writers.byPartition.get(partition) ?? new Set<Task>();
    writers.byPartition.set(partition, tasks.add(task));
  }
}

/** Which tasks have written to the partitions of one topic. */
interface TopicWriters {
  readonly byPartition: Map<number, Set<Task>>;
  /** What was noted last. */
  lastPartition: number;
  lastTask: Task | undefined;
}
