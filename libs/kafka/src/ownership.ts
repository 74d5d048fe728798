/**
 * Which partitions the group gave to this member, and which answers it still waits for. Pure bookkeeping, without the client.
 *
 * The group protocol pauses every partition of the member until a rebalance is answered. So "assigned" is answered at once with nothing,
 * and the partitions are added when their starts are known. "Revoked" and "lost" are answered only when all partitions named have been
 * let go: the answer raises the member's epoch, and offsets of a partition that is still in use must not be sent under the new one.
 */
import { partitionName, type TopicPartition, type TopicPartitionOffset } from '@tally/streams';

export interface Owned extends TopicPartition {
  /** Known to the client, so that it fetches (unless paused). */
  added: boolean;
  paused: boolean;
  /** Named by a revocation that has not been answered. */
  leaving: boolean;
  /** Let go by the runtime while the group still waits for others. */
  released: boolean;
  /** Offset of the next record that consume brings; `undefined` until added. */
  position: number | undefined;
}

export class Ownership {
  readonly #owned = new Map<string, Owned>();

  get(at: TopicPartition): Owned | undefined {
    return this.#owned.get(partitionName(at));
  }

  all(): readonly Owned[] {
    return [...this.#owned.values()];
  }

  granted(partitions: readonly TopicPartition[]): void {
    for (const at of partitions) {
      this.#owned.set(partitionName(at), {
        topic: at.topic,
        partition: at.partition,
        added: false,
        paused: true,
        leaving: false,
        released: false,
        position: undefined,
      });
    }
  }

  leaving(partitions: readonly TopicPartition[]): void {
    for (const at of partitions) {
      const owned = this.get(at);
      if (owned) owned.leaving = true;
    }
  }

  get answerDue(): boolean {
    return this.all().some((owned) => owned.leaving);
  }

  /** @returns whether every partition that is to leave has been released, so that the group can be answered. */
  release(partitions: readonly TopicPartition[]): boolean {
    for (const at of partitions) {
      const owned = this.get(at);
      if (owned?.leaving) owned.released = true;
    }
    const leaving = this.all().filter((owned) => owned.leaving);
    return leaving.length > 0 && leaving.every((owned) => owned.released);
  }

  /** Forgets what leaves. @returns those of them that the client knows. */
  answered(): TopicPartition[] {
    const added: TopicPartition[] = [];
    for (const [name, owned] of this.#owned) {
      if (!owned.leaving) continue;
      this.#owned.delete(name);
      if (owned.added) added.push({ topic: owned.topic, partition: owned.partition });
    }
    return added;
  }

  /** Counts records that were delivered; those of one partition follow one another. */
  advance(records: readonly TopicPartitionOffset[]): void {
    for (let index = 0; index < records.length; index++) {
      const record = records[index] as TopicPartitionOffset;
      const next = records[index + 1];
      if (next !== undefined && next.partition === record.partition && next.topic === record.topic) continue;
      const owned = this.get(record);
      if (owned) owned.position = record.offset + 1;
    }
  }

  /** Counts ends of partitions: what lies before them has been delivered, or is no record. */
  reached(ends: readonly TopicPartitionOffset[]): void {
    for (const end of ends) {
      const owned = this.get(end);
      if (owned?.position !== undefined && end.offset > owned.position) owned.position = end.offset;
    }
  }

  /** Partitions that deliver records. */
  active(): readonly Owned[] {
    return this.all().filter((owned) => owned.added && !owned.paused && !owned.leaving);
  }
}
