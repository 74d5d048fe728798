/** The check and the copy that every record passes on its way into a producer's queue. */
import { BrokerError, type Header, type Headers, noHeaders } from '@tally/streams';
import type { Connection } from './connection.js';
import { simulatedError } from './errors.js';
import type { RecordToLog } from './log.js';
import { recordBytes } from './topics.js';

/** @throws BrokerError of kind `recordRefused` as the client of a real cluster does, before it looks at the transaction. */
export function checkRecord(
  connection: Connection,
  topic: string,
  key: Uint8Array | null,
  value: Uint8Array | null,
  timestampMs: number,
  headers: Headers,
): void {
  const { writesTimestampZero } = connection.client;
  if (!Number.isSafeInteger(timestampMs))
    throw refusal('TIMESTAMP_INVALID', topic, `The timestamp ${String(timestampMs)} is no whole number of milliseconds.`);
  if (timestampMs === 0 && !writesTimestampZero) throw refusal('TIMESTAMP_ZERO', topic, 'The Kafka client cannot write the timestamp 0.');
  if (!isBytesOrNull(key) || !isBytesOrNull(value)) throw refusal('RECORD_INVALID', topic, 'A key or value must be bytes or null.');
  if (headers.length > 0 && !headers.every(isHeader))
    throw refusal('HEADER_INVALID', topic, 'A header must have a name without NUL and bytes as its value.');
}

/**
 * Copies the bytes, unless the client takes them over: the caller may use its buffers again.
 * @throws BrokerError of kind `recordRefused` as the client of a real cluster does.
 */
export function makeRecord(
  connection: Connection,
  topic: string,
  partition: number,
  key: Uint8Array | null,
  value: Uint8Array | null,
  timestampMs: number,
  headers: Headers,
): RecordToLog {
  checkRecord(connection, topic, key, value, timestampMs, headers);
  const taken = connection.client.takesOver(topic);
  return {
    topic,
    partition: choosePartition(connection, topic, partition),
    offset: -1,
    timestampMs,
    key: taken === 'keysAndValues' ? key : copy(key),
    value: taken === 'nothing' ? copy(value) : value,
    headers: headers.length === 0 ? noHeaders : headers.map(copyHeader),
    rank: connection.cluster.nextRank(),
    bytes: recordBytes(key, value, headers),
  };
}

/** A topic that the client does not know yet is not the record's fault: its batch fails later. */
function choosePartition(connection: Connection, topic: string, partition: number): number {
  const count = connection.cluster.topics.find(topic)?.partitions.length;
  if (partition === -1) return Math.floor(connection.cluster.random.next() * (count ?? 1));
  if (!Number.isInteger(partition) || partition < 0 || partition >= (count ?? Number.POSITIVE_INFINITY)) {
    throw simulatedError('UNKNOWN_PARTITION', { topic, partition });
  }
  return partition;
}

function isBytesOrNull(value: unknown): boolean {
  return value === null || value instanceof Uint8Array;
}

function isHeader(header: Header): boolean {
  return (
    typeof header.name === 'string' &&
    !header.name.includes('\0') &&
    !/\p{Surrogate}/u.test(header.name) &&
    header.value instanceof Uint8Array
  );
}

function refusal(code: string, topic: string, message: string): BrokerError {
  return new BrokerError({
    code,
    kind: 'recordRefused',
    message: `${message} The record for topic ${topic} was not queued.`,
    place: { topic },
  });
}

function copy(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : Buffer.from(bytes);
}

function copyHeader({ name, value }: Header): Header {
  return { name, value: Buffer.from(value) };
}
