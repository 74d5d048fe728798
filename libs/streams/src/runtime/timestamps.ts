/** Timestamps of records that do not simply have their own: extracted when a record is the next one of its partition. */
import { CorruptDataError, errorOf } from '../core/errors.js';
import { type StreamRecord, partitionName } from '../core/record.js';
import type { TimestampExtractor } from '../topology/topic.js';
import type { UntypedSourceTopic } from '../topology/topology.js';
import type { ConsumedRecord } from './broker.js';
import { decode } from './decode.js';

export type Extract = TimestampExtractor<unknown, unknown>;

/** A record with its timestamp; one that cannot be read or has none keeps its own until it fails. */
export interface ReadRecord {
  /** Negative: the record is dropped. */
  readonly timestampMs: number;
  readonly decoded: StreamRecord<unknown, unknown> | undefined;
  readonly failure: Error | undefined;
}

/** `undefined` where records have their own timestamps. */
export function extractorOf({ timestamps = 'record' }: UntypedSourceTopic): Extract | undefined {
  switch (timestamps) {
    case 'record':
      return undefined;
    case 'logAndSkip':
      return (_value, _key, { timestampMs }) => timestampMs;
    case 'usePartitionTime':
      return (_value, _key, { timestampMs, partitionTimeMs }) => {
        if (timestampMs >= 0) return timestampMs;
        if (partitionTimeMs >= 0) return partitionTimeMs;
        throw new Error(`it is ${timestampMs}, and the partition has had no record whose timestamp could be used instead`);
      };
    default:
      return timestamps;
  }
}

export function readRecord(topic: UntypedSourceTopic, extract: Extract, record: ConsumedRecord, partitionTimeMs: number): ReadRecord {
  try {
    const decoded = decode(topic, record, record.timestampMs);
    const timestampMs = extracted(extract, decoded, record, partitionTimeMs);
    return { timestampMs, decoded: { ...decoded, timestampMs }, failure: undefined };
  } catch (error) {
    return { timestampMs: record.timestampMs, decoded: undefined, failure: errorOf(error) };
  }
}

function extracted(extract: Extract, decoded: StreamRecord<unknown, unknown>, record: ConsumedRecord, partitionTimeMs: number): number {
  const { topic, partition, offset, timestampMs, headers } = record;
  const refuse = (why: string, cause?: Error): never => {
    const message = `The timestamp of record ${partitionName(record)} offset ${offset} cannot be told: ${why}.`;
    throw new CorruptDataError('TIMESTAMP_UNKNOWN', message, { topic, partition, offset }, cause);
  };
  let extractedMs: number;
  try {
    extractedMs = extract(decoded.value, decoded.key, { timestampMs, partitionTimeMs, headers });
  } catch (error) {
    const cause = errorOf(error);
    return refuse(cause.message, cause);
  }
  if (!Number.isSafeInteger(extractedMs))
    refuse(`the topic's function gave ${String(extractedMs)}, which is no whole number of milliseconds`);
  return extractedMs;
}
