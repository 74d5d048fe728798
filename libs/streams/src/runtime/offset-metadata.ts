/**
 * What travels in the metadata of every committed offset. Kept tiny: the broker allows 4,095 bytes.
 *
 *     metadata := JSON object
 *       v  topology version            h  topology hash
 *       s  stream time of the task     i  id of the input topic
 *       p  the partition's time, where timestamps depend on it
 *
 * Unknown fields are kept out of the way of older members; a missing or foreign text reads as "nothing known".
 */
export interface OffsetMetadata {
  readonly topologyVersion: number;
  readonly topologyHash: string;
  readonly streamTimeMs: number;
  readonly topicId: string;
  /** Largest timestamp of the records before the offset; only for topics whose timestamps are extracted. */
  readonly partitionTimeMs?: number | undefined;
}

export function encodeOffsetMetadata(metadata: OffsetMetadata): string {
  const { topologyVersion: v, topologyHash: h, streamTimeMs: s, topicId: i, partitionTimeMs: p } = metadata;
  return JSON.stringify({ v, h, s, i, p });
}

export function decodeOffsetMetadata(text: string): OffsetMetadata | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    const { v, h, s, i, p } = parsed as Record<string, unknown>;
    if (typeof v !== 'number' || typeof h !== 'string' || typeof s !== 'number' || typeof i !== 'string') return undefined;
    const partitionTimeMs = typeof p === 'number' ? p : undefined;
    return { topologyVersion: v, topologyHash: h, streamTimeMs: s, topicId: i, partitionTimeMs };
  } catch {
    return undefined;
  }
}
