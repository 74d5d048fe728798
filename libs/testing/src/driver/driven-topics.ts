/**
 * The topics of a driven topology: what is piped in, what of it the worker may read, and what has come out.
 *
 * 1. Input partitions are held: the worker is brought a record when it is its turn, or all of them while they are processed in batches.
 * 2. What the worker writes to a topic that it also reads is queued as if it had been piped in.
 * 3. When a call has processed its records, the outputs are collected and the logs are emptied: only what nobody has read yet takes memory.
 *    Of changelogs nothing is kept either, for a driven worker is not started again: one that has to restore would stop with `STATE_LOST`.
 */
import { type Headers, partitionForKey, partitionName, type Topology, type TopicPartition } from '@tally/streams';
import type { SimulatedCluster, TestRecord } from '../broker/index.js';
import type { LoggedRecord, PartitionLog } from '../broker/log.js';
import { TestDriverError } from './driver-error.js';
import { InputQueues } from './input-queues.js';
import { TopicNames } from './topic-names.js';
import { byRank, UnreadOutputs } from './unread-outputs.js';

/** A record to pipe, serialized. */
export interface RecordToPipe extends TestRecord {
  /** Default: by the key, as producers do. */
  readonly partition?: number | undefined;
  readonly timestampMs?: number | undefined;
  readonly headers?: Headers | undefined;
}

interface DrivenPartition {
  readonly at: TopicPartition;
  readonly log: PartitionLog;
  /** Where the collection of its records goes on. */
  collected: number;
}

const entriesToTrim = 1_000;

export class DrivenTopics {
  readonly outputs = new UnreadOutputs();
  private readonly names: TopicNames;
  private readonly queues = new InputQueues();
  private readonly partitions = new Map<string, DrivenPartition[]>();
  private inputs: readonly DrivenPartition[] = [];

  constructor(
    private readonly cluster: SimulatedCluster,
    topology: Topology,
    private readonly groupId: string,
    existing: readonly string[],
  ) {
    this.names = new TopicNames(topology, groupId, existing);
  }

  isInternal(topic: string): boolean {
    return this.names.internal.has(topic);
  }

  isChangelog(topic: string): boolean {
    return this.names.changelogs.has(topic);
  }

  /** The worker has found or made its topics, and has read nothing yet. */
  hold(): void {
    this.inputs = [...this.names.inputs].flatMap((topic) => this.partitionsOf(topic));
    this.holdInputs();
  }

  /** @throws TestDriverError `TOPIC_NOT_READ` */
  checkSource(topic: string): void {
    if (this.names.sources.has(topic)) return;
    const known = [...this.names.sources].toSorted().join(', ');
    throw new TestDriverError('TOPIC_NOT_READ', `The topology does not read topic '${topic}'; it reads: ${known || 'none'}.`, { topic });
  }

  /**
   * As many as the largest input of the tasks that hold the store.
   * @throws TestDriverError `STORE_UNKNOWN`
   */
  partitionsOfStore(store: string): number {
    const inputs = this.names.inputsOfStores.get(store);
    if (inputs !== undefined) return Math.max(...inputs.map((topic) => this.partitionsOf(topic).length));
    const known = [...this.names.inputsOfStores.keys()].toSorted().join(', ');
    throw new TestDriverError('STORE_UNKNOWN', `The topology has no store '${store}'; it has: ${known || 'none'}.`, { store });
  }

  /** Appends records, each to the partition that it names or that its key belongs to. */
  append(topic: string, records: readonly RecordToPipe[]): void {
    const count = this.partitionsOf(topic).length;
    const byPartition: RecordToPipe[][] = Array.from({ length: count }, () => []);
    for (const record of records) byPartition[this.partitionFor(topic, record, count)]?.push(record);
    for (const [partition, each] of byPartition.entries()) if (each.length > 0) this.cluster.append(topic, partition, each);
  }

  /** Everything that may be read has been, and its offsets are committed. */
  get isRead(): boolean {
    return this.inputs.every(({ at, log }) => {
      const { offset } = this.cluster.committedOffset(this.groupId, at);
      return offset !== undefined && offset >= Math.min(log.released, log.recordsEnd);
    });
  }

  /** All that lies in the topics of global tables is in their stores. */
  areGlobalsRead(stores: readonly (TopicPartition & { readonly position: number })[]): boolean {
    return stores.every((at) => at.position >= this.cluster.topics.log(at).recordsEnd);
  }

  /** Lets the worker read the next record in line. False when there is none. */
  releaseNext(): boolean {
    const record = this.queues.take();
    if (record === undefined) return false;
    this.cluster.topics.log(record).release(record.offset + 1);
    return true;
  }

  releaseAll(): void {
    for (const { log } of this.inputs) log.release(Number.POSITIVE_INFINITY);
  }

  /** Takes what has been written since: outputs, and what is to be processed next, in the order in which the producer was given it. */
  collect(): void {
    const written = this.all().flatMap((partition) => takeWritten(partition));
    for (const record of written.toSorted(byRank)) {
      if (this.names.inputs.has(record.topic)) this.queues.add(partitionName(record), record);
      if (this.isOutput(record)) this.outputs.add(record.topic, [record]);
    }
  }

  /** As `collect`, after `releaseAll`: whatever is in the inputs has been processed. */
  collectProcessed(): void {
    this.holdInputs();
    for (const partition of this.all()) {
      const { topic } = partition.at;
      if (this.names.internal.has(topic)) {
        partition.collected = partition.log.lastStableOffset;
        continue;
      }
      const written = takeWritten(partition);
      const outputs = this.names.inputs.has(topic) ? written.filter((record) => this.isOutput(record)) : written;
      if (outputs.length > 0) this.outputs.add(topic, outputs);
    }
  }

  /** Drops what has been processed and collected, once it is worth the while: a consumer that waits for records wakes up. */
  trim(): void {
    for (const { at, log, collected } of this.all()) {
      if (log.length < entriesToTrim) continue;
      if (this.names.globals.has(at.topic)) continue;
      const processed = this.names.inputs.has(at.topic) ? this.cluster.committedOffset(this.groupId, at).offset : undefined;
      log.deleteBefore(Math.min(collected, processed ?? collected));
    }
  }

  private holdInputs(): void {
    for (const { log } of this.inputs) log.release(log.highWatermark);
  }

  private isOutput({ rank, topic }: LoggedRecord): boolean {
    return rank !== undefined && !this.names.internal.has(topic);
  }

  private partitionFor(topic: string, { key, partition }: RecordToPipe, count: number): number {
    if (partition === undefined) {
      if (key === null) return Math.floor(this.cluster.random.next() * count);
      return partitionForKey(typeof key === 'string' ? Buffer.from(key) : key, count);
    }
    if (Number.isInteger(partition) && partition >= 0 && partition < count) return partition;
    throw new TestDriverError('PARTITION_UNKNOWN', `Topic '${topic}' has no partition ${partition}: it has ${count}.`, {
      topic,
      partition,
    });
  }

  /** New topics appear when something is sent to them. */
  private all(): readonly DrivenPartition[] {
    return Array.from(this.cluster.topics.all(), ({ name }) => this.partitionsOf(name)).flat();
  }

  private partitionsOf(topic: string): readonly DrivenPartition[] {
    const known = this.partitions.get(topic);
    if (known !== undefined) return known;
    const logs = this.cluster.topics.find(topic)?.partitions ?? [];
    const partitions = logs.map((log, partition) => ({ at: { topic, partition }, log, collected: log.logStart }));
    this.partitions.set(topic, partitions);
    return partitions;
  }
}

function takeWritten(partition: DrivenPartition): readonly LoggedRecord[] {
  const { records, nextOffset } = partition.log.read(partition.collected, Number.POSITIVE_INFINITY, 'readCommitted');
  partition.collected = nextOffset;
  return records;
}
