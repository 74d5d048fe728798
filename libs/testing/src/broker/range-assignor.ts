/** The range assignor: per topic, contiguous runs of partitions to the members in the order of their ids, the first ones one more. */
import { type IdentifiedPartition, identityOf, type Topics } from './topics.js';

export interface RangeMember {
  readonly id: string;
  readonly topics: readonly string[];
}

/** @returns per member id, its partitions by identity. */
export function rangeAssignment(members: readonly RangeMember[], topics: Topics): Map<string, Map<string, IdentifiedPartition>> {
  const sorted = members.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const result = new Map(sorted.map((member) => [member.id, new Map<string, IdentifiedPartition>()]));
  for (const name of new Set(sorted.flatMap((member) => member.topics)).values()) {
    const topic = topics.find(name);
    if (topic === undefined) continue;
    const subscribers = sorted.filter((member) => member.topics.includes(name));
    const quota = Math.floor(topic.partitions.length / subscribers.length);
    const withOneMore = topic.partitions.length % subscribers.length;
    let next = 0;
    subscribers.forEach((member, index) => {
      const end = next + quota + (index < withOneMore ? 1 : 0);
      for (; next < end; next += 1) {
        const partition: IdentifiedPartition = { topic: name, topicId: topic.topicId, partition: next };
        result.get(member.id)?.set(identityOf(partition), partition);
      }
    });
  }
  return result;
}
