import type { TopicPartition } from '@tally/streams';
import { consumeBatch } from './consuming.js';
import type { Fetched, Fetching } from './fetching.js';
import type { GroupMember } from './group-member.js';
import type { NativeOffset } from './native.js';
import type { Owned } from './ownership.js';
import { kickFetchers, seekAll } from './positioning.js';
import { RecordMapper } from './record-mapper.js';
import { toPartitions } from './topic-partitions.js';

/** The member's own client reads its partitions. */
export class ClientFetching implements Fetching {
  readonly isApart = false;
  readonly #mapper = new RecordMapper();

  constructor(private readonly seekTimeoutMs: number) {}

  add({ client }: GroupMember, starts: readonly NativeOffset[], paused: boolean): void {
    client.incrementalAssign(starts);
    // In the same tick, so that nothing is delivered in between.
    if (paused) client.pause(toPartitions(starts));
  }

  remove(): void {}

  pause({ client }: GroupMember, partitions: readonly Owned[]): void {
    client.pause(toPartitions(partitions));
  }

  resume({ client }: GroupMember, partitions: readonly Owned[]): void {
    client.resume(toPartitions(partitions));
  }

  async seek({ client, calls }: GroupMember, targets: readonly NativeOffset[]): Promise<void> {
    await calls.track(seekAll(client, targets, this.seekTimeoutMs));
  }

  wake({ client, calls }: GroupMember, partitions: readonly TopicPartition[]): void {
    void calls.track(kickFetchers(client, partitions));
  }

  /** Read on from where they are, partitions report their ends again: with an error of another one a consume may have dropped such a report. */
  rouse(member: GroupMember, partitions: readonly Owned[]): void {
    this.pause(member, partitions);
    this.resume(member, partitions);
  }

  async consume({ client, calls }: GroupMember, recordsMax: number, timeoutMs: number): Promise<Fetched> {
    const batch = await calls.track(consumeBatch(client, recordsMax, timeoutMs));
    return 'thrown' in batch ? batch : { records: this.#mapper.map(batch.messages) };
  }

  serve(member: GroupMember, timeoutMs: number): Promise<Fetched> {
    return this.consume(member, 1, timeoutMs);
  }

  async between(): Promise<void> {}

  async close(): Promise<void> {}
}
