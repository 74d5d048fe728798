/** Lists of partitions as the native client takes them, checked: it crashes on malformed ones and guesses at odd offsets. */
import { BrokerError, type OffsetToCommit, partitionName, type TopicPartition, type TopicPartitionOffset } from '@tally/streams';
import type { NativeOffset } from './native.js';

/** Largest metadata that is stored, in bytes of UTF-8. The client adds a NUL, and the broker's own bound is 4,096. */
export const offsetMetadataBytesMax = 4_000;

export function toPartitions(partitions: readonly TopicPartition[]): TopicPartition[] {
  return partitions.map((at) => ({ topic: validTopic(at.topic), partition: validPartition(at) }));
}

export function toOffsets(offsets: readonly TopicPartitionOffset[]): NativeOffset[] {
  return offsets.map((at) => ({ topic: validTopic(at.topic), partition: validPartition(at), offset: validOffset(at) }));
}

/** An empty metadata is left away, or it would be stored as a single NUL. */
export function toOffsetsToCommit(offsets: readonly OffsetToCommit[]): NativeOffset[] {
  return offsets.map((at) => {
    const offset = { topic: validTopic(at.topic), partition: validPartition(at), offset: validOffset(at) };
    return at.metadata === '' ? offset : { ...offset, metadata: validMetadata(at) };
  });
}

/** One per partition, the first one. Duplicates make some admin calls fail as a whole. */
export function distinctPartitions<T extends TopicPartition>(partitions: readonly T[]): T[] {
  const byName = new Map<string, T>();
  for (const at of partitions) {
    const name = partitionName(at);
    if (!byName.has(name)) byName.set(name, at);
  }
  return [...byName.values()];
}

function validTopic(topic: string): string {
  if (typeof topic === 'string' && topic !== '') return topic;
  throw invalidArgument(`A topic name must be a string that is not empty, got ${String(topic)}.`);
}

function validPartition(at: TopicPartition): number {
  if (Number.isInteger(at.partition) && at.partition >= 0 && at.partition <= 0x7fffffff) return at.partition;
  throw invalidArgument(`A partition number must be an integer from 0 on, got ${String(at.partition)} for topic ${at.topic}.`);
}

function validOffset(at: TopicPartitionOffset): number {
  if (Number.isSafeInteger(at.offset) && at.offset >= 0) return at.offset;
  throw invalidArgument(`An offset must be a safe integer from 0 on, got ${String(at.offset)} for ${partitionName(at)}.`);
}

function validMetadata(at: OffsetToCommit): string {
  if (typeof at.metadata !== 'string') throw invalidArgument(`Offset metadata must be a string, for ${partitionName(at)}.`);
  if (at.metadata.includes('\0')) throw invalidArgument(`Offset metadata must not contain a NUL character, for ${partitionName(at)}.`);
  const bytes = Buffer.byteLength(at.metadata, 'utf8');
  if (bytes <= offsetMetadataBytesMax) return at.metadata;
  throw invalidArgument(`Offset metadata may have ${offsetMetadataBytesMax} bytes, got ${bytes} for ${partitionName(at)}.`);
}

function invalidArgument(message: string): BrokerError {
  return new BrokerError({ code: 'INVALID_ARGUMENT', kind: 'invalid', message });
}
