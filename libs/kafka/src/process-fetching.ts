import type { TopicPartition, TopicPartitionOffset } from '@tally/streams';
import { consumeBatch } from './consuming.js';
import type { Fetched, Fetching } from './fetching.js';
import { FetchProcess } from './fetch-process.js';
import type { GroupMember } from './group-member.js';
import type { NativeOffset } from './native.js';
import type { ResolvedOptions } from './options.js';
import type { Owned } from './ownership.js';
import type { QueueWatch } from './queue-watch.js';
import { toPartitions } from './topic-partitions.js';

/** How long one poll of the member's client may take, in milliseconds: so long a call of it may have to wait. */
const pollTimeoutMs = 20;

interface Parts {
  readonly options: ResolvedOptions;
  readonly groupId: string;
  /** For messages. */
  readonly name: string;
  readonly queues: QueueWatch;
  readonly endReached: (end: TopicPartitionOffset) => void;
}

/**
 * Another process reads the partitions. The member's client knows them, for its offsets are sent as the group's; but they stay paused, and it is
 * polled only so that it hears of its group.
 */
export class ProcessFetching implements Fetching {
  readonly isApart = true;
  readonly #process: FetchProcess;
  readonly #endReached: Parts['endReached'];
  readonly #unfollow: () => void;
  #polling: Promise<void> | undefined;
  /** What polling the member's client has failed with, until the next consume says it. */
  #failure: { readonly thrown: unknown } | undefined;

  constructor(parts: Parts) {
    this.#process = new FetchProcess(parts);
    this.#endReached = parts.endReached;
    this.#unfollow = parts.queues.count(() => this.#process.queuedRecords);
  }

  add({ client }: GroupMember, starts: readonly NativeOffset[], paused: boolean): void {
    client.incrementalAssign(starts);
    client.pause(toPartitions(starts));
    if (!paused) this.#process.open(starts);
  }

  remove(partitions: readonly TopicPartition[]): void {
    this.#process.close(partitions);
  }

  pause(_member: GroupMember, partitions: readonly Owned[]): void {
    this.#process.close(partitions);
  }

  resume(_member: GroupMember, partitions: readonly Owned[]): void {
    this.#process.open(
      partitions.flatMap(({ topic, partition, position }) => (position === undefined ? [] : { topic, partition, offset: position })),
    );
  }

  async seek(_member: GroupMember, targets: readonly NativeOffset[], isPaused: (target: TopicPartition) => boolean): Promise<void> {
    this.#process.close(targets);
    this.#process.open(targets.filter((target) => !isPaused(target)));
  }

  wake(): void {}

  rouse(): void {
    this.#process.renew();
  }

  async consume(member: GroupMember, recordsMax: number, timeoutMs: number): Promise<Fetched> {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) return failure;
    void this.#poll(member);
    const fetched = await this.#process.take(recordsMax, timeoutMs);
    if ('thrown' in fetched) return fetched;
    fetched.ends.forEach(this.#endReached);
    return fetched;
  }

  async serve(member: GroupMember): Promise<Fetched> {
    await this.#poll(member);
    return { records: [] };
  }

  async between(): Promise<void> {
    await this.#polling;
  }

  async close(): Promise<void> {
    this.#unfollow();
    await this.#process.end();
  }

  /** One at a time. All partitions are paused, so no record comes. */
  #poll({ client, calls }: GroupMember): Promise<void> {
    this.#polling ??= calls.track(consumeBatch(client, 1, pollTimeoutMs)).then((batch) => {
      this.#polling = undefined;
      if ('thrown' in batch) this.#failure = batch;
    });
    return this.#polling;
  }
}
