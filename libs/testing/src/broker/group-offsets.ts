/** Committed offsets of one group, and those that open transactions hold. */
import { type CommittedOffset, type OffsetToCommit, partitionName, type TopicPartition } from '@tally/streams';
import { simulatedError } from './errors.js';

/** An offset, and who commits it. */
export interface MembersOffset extends OffsetToCommit {
  /** Absent where it is set by hand. */
  readonly by?: {
    readonly memberId: string;
    /** The group's epoch since which the member holds the partition, if it does. */
    readonly heldSince: number | undefined;
  };
}

/** An offset with its place in the order in which they were written. */
interface WrittenOffset extends MembersOffset {
  readonly order: number;
}

export class GroupOffsets {
  private readonly committed = new Map<string, WrittenOffset>();
  private readonly pending = new Map<number, Map<string, WrittenOffset>>();
  private written = 0;

  /** @param onCommitted called with each offset that takes effect. */
  constructor(private readonly onCommitted: (offset: MembersOffset) => void = () => {}) {}

  /** All that is committed, to be committed again later. */
  all(): readonly OffsetToCommit[] {
    return [...this.committed.values()].map(({ topic, partition, offset, metadata }) => ({ topic, partition, offset, metadata }));
  }

  commit(offsets: readonly MembersOffset[]): void {
    for (const offset of offsets) this.takeEffect(this.write(offset));
  }

  /** Offsets that take effect with the marker of the producer's transaction. */
  hold(producerId: number, offsets: readonly MembersOffset[]): void {
    const held = this.pending.get(producerId) ?? new Map<string, WrittenOffset>();
    for (const offset of offsets) held.set(partitionName(offset), this.write(offset));
    this.pending.set(producerId, held);
  }

  /** What was committed after the transaction had written its offset stands. */
  mark(producerId: number, outcome: 'committed' | 'aborted'): void {
    const held = this.pending.get(producerId);
    this.pending.delete(producerId);
    if (held === undefined || outcome === 'aborted') return;
    for (const [name, offset] of held) if (offset.order > (this.committed.get(name)?.order ?? 0)) this.takeEffect(offset);
  }

  /** @throws BrokerError of kind `pending` when a transaction that has not ended holds an offset of one of the partitions. */
  stable(partitions: readonly TopicPartition[]): CommittedOffset[] {
    for (const partition of partitions) {
      if (this.isHeld(partitionName(partition))) throw simulatedError('UNSTABLE_OFFSET_COMMIT', partition);
    }
    return partitions.map((partition) => this.read(partition));
  }

  read({ topic, partition }: TopicPartition): CommittedOffset {
    const committed = this.committed.get(partitionName({ topic, partition }));
    return { topic, partition, offset: committed?.offset, metadata: committed?.metadata ?? '' };
  }

  /** Forgets committed offsets: of the partitions, or all. */
  expire(partitions?: readonly TopicPartition[]): void {
    if (partitions === undefined) this.committed.clear();
    else for (const partition of partitions) this.committed.delete(partitionName(partition));
  }

  forgetTopic(topic: string): void {
    for (const held of [this.committed, ...this.pending.values()]) {
      for (const [name, offset] of held) if (offset.topic === topic) held.delete(name);
    }
  }

  private write(offset: MembersOffset): WrittenOffset {
    this.written += 1;
    return { ...offset, order: this.written };
  }

  private takeEffect(offset: WrittenOffset): void {
    this.committed.set(partitionName(offset), offset);
    this.onCommitted(offset);
  }

  private isHeld(name: string): boolean {
    for (const held of this.pending.values()) if (held.has(name)) return true;
    return false;
  }
}
