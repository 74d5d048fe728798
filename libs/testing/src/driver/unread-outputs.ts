/** What the topology has sent and nobody has read yet, by topic and over all topics, in the order of sending. */
import type { LoggedRecord } from '../broker/log.js';

interface TopicOutputs {
  records: LoggedRecord[];
  /** How many of the records have been read. */
  read: number;
  /** Records of several partitions were added one after another. */
  isSorted: boolean;
}

export class UnreadOutputs {
  private byTopic = new Map<string, TopicOutputs>();

  /** @param records of one partition, in their order */
  add(topic: string, records: readonly LoggedRecord[]): void {
    const outputs = this.byTopic.get(topic);
    if (outputs === undefined) {
      this.byTopic.set(topic, { records: [...records], read: 0, isSorted: true });
      return;
    }
    for (const record of records) outputs.records.push(record);
    outputs.isSorted = false;
  }

  isEmpty(topic: string): boolean {
    return !this.byTopic.has(topic);
  }

  /** Takes the oldest one. */
  take(topic: string): LoggedRecord | undefined {
    const outputs = this.sorted(topic);
    if (outputs === undefined) return undefined;
    const record = outputs.records[outputs.read];
    outputs.read += 1;
    if (outputs.read === outputs.records.length) this.byTopic.delete(topic);
    return record;
  }

  takeAll(topic: string): readonly LoggedRecord[] {
    const outputs = this.sorted(topic);
    this.byTopic.delete(topic);
    return outputs?.records.slice(outputs.read) ?? [];
  }

  takeEverything(): readonly LoggedRecord[] {
    const unread = Array.from(this.byTopic.values(), ({ records, read }) => records.slice(read)).flat();
    // Not by `clear`: what a cleared map has held stays reachable from its former table, and that one, once it is old, from those before it.
    this.byTopic = new Map();
    return unread.toSorted(byRank);
  }

  private sorted(topic: string): TopicOutputs | undefined {
    const outputs = this.byTopic.get(topic);
    if (outputs?.isSorted === false) {
      outputs.records = outputs.records.slice(outputs.read).toSorted(byRank);
      outputs.read = 0;
      outputs.isSorted = true;
    }
    return outputs;
  }
}

/** By the order in which records were given to the producer; those that no producer wrote come first. */
export function byRank(one: LoggedRecord, other: LoggedRecord): number {
  return (one.rank ?? -1) - (other.rank ?? -1);
}
