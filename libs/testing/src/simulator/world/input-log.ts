import type { ConsumedRecord } from '@tally/streams';

/** What has arrived, also what the cluster has deleted since. */
export class InputLog {
  private readonly byTopic = new Map<string, ConsumedRecord[]>();

  add(record: ConsumedRecord): void {
    const records = this.byTopic.get(record.topic);
    if (records === undefined) this.byTopic.set(record.topic, [record]);
    else records.push(record);
  }

  /** Each partition in order, one after the other. */
  records(topic: string): readonly ConsumedRecord[] {
    return (this.byTopic.get(topic) ?? []).toSorted((one, other) => one.partition - other.partition || one.offset - other.offset);
  }

  /** The topic begins anew. */
  forget(topic: string): void {
    this.byTopic.delete(topic);
  }
}
