/** How the partitions that a group gave to this process are read: by the member's own client, or by a process of its own. */
import type { ConsumedRecord, TopicPartition } from '@tally/streams';
import type { GroupMember } from './group-member.js';
import type { NativeOffset } from './native.js';
import type { Owned } from './ownership.js';

export type Fetched = { readonly records: ConsumedRecord[] } | { readonly thrown: unknown };

/** All but `consume`, `serve` and `close` is called between two of them. */
export interface Fetching {
  /** It goes on whatever the group does: that records come does not show that the member is heard. */
  readonly isApart: boolean;
  /** Makes partitions known to the client, each from its start. */
  add(member: GroupMember, starts: readonly NativeOffset[], paused: boolean): void;
  /** The runtime has let go of them; the group is answered by the member. */
  remove(partitions: readonly TopicPartition[]): void;
  pause(member: GroupMember, partitions: readonly Owned[]): void;
  resume(member: GroupMember, partitions: readonly Owned[]): void;
  /** Resolves when nothing of before the seek can come any more. */
  seek(member: GroupMember, targets: readonly NativeOffset[], isPaused: (target: TopicPartition) => boolean): Promise<void>;
  /** Has partitions read at once that were not read before. */
  wake(member: GroupMember, partitions: readonly Owned[]): void;
  /** Has partitions read on from where they are, since nothing comes of them. */
  rouse(member: GroupMember, partitions: readonly Owned[]): void;
  /** Waits up to the time for a first record. Never rejects. */
  consume(member: GroupMember, recordsMax: number, timeoutMs: number): Promise<Fetched>;
  /** Lets the client deliver its events, for up to so long; it may bring a record. Never rejects. */
  serve(member: GroupMember, timeoutMs: number): Promise<Fetched>;
  /** Resolves when calls of the member's client may run. */
  between(): Promise<void>;
  close(): Promise<void>;
}
