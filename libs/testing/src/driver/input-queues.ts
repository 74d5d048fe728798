/**
 * Records that wait to be processed one by one: always the one with the lowest timestamp among the heads of the partitions.
 *
 * Ties are decided as Kafka Streams' own test driver decides them: by a binary heap of the partitions that have something queued. A partition
 * leaves the heap with each record that is taken, and is put in again when it has more. So two partitions alternate, and of three or more
 * one may wait until the others are empty.
 */
import type { LoggedRecord } from '../broker/log.js';

interface PartitionQueue {
  readonly records: LoggedRecord[];
}

export class InputQueues {
  private readonly partitions = new Map<string, PartitionQueue>();
  private readonly heap: PartitionQueue[] = [];

  add(partition: string, record: LoggedRecord): void {
    let queue = this.partitions.get(partition);
    if (queue === undefined) {
      queue = { records: [] };
      this.partitions.set(partition, queue);
    }
    queue.records.push(record);
    if (queue.records.length === 1) this.offer(queue);
  }

  /** The next record; `undefined` when nothing is queued. */
  take(): LoggedRecord | undefined {
    const queue = this.poll();
    const record = queue?.records.shift();
    if (queue !== undefined && queue.records.length > 0) this.offer(queue);
    return record;
  }

  private offer(queue: PartitionQueue): void {
    let index = this.heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.at(parent);
      if (headMs(queue) >= headMs(above)) break;
      this.heap[index] = above;
      index = parent;
    }
    this.heap[index] = queue;
  }

  private poll(): PartitionQueue | undefined {
    const first = this.heap[0];
    const last = this.heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= this.heap.length) break;
      const right = left + 1;
      const child = right < this.heap.length && headMs(this.at(left)) > headMs(this.at(right)) ? right : left;
      if (headMs(last) <= headMs(this.at(child))) break;
      this.heap[index] = this.at(child);
      index = child;
    }
    this.heap[index] = last;
    return first;
  }

  private at(index: number): PartitionQueue {
    const queue = this.heap[index];
    if (queue === undefined) throw new Error(`The heap of input partitions has no entry ${index}.`);
    return queue;
  }
}

function headMs(queue: PartitionQueue): number {
  return queue.records[0]?.timestampMs ?? Number.POSITIVE_INFINITY;
}
