/** Serializes what is sent, and refuses what no broker would take while the record that sent it is still in hand. */
import { RecordRefusedError, errorOf } from '../core/errors.js';
import { partitionForKey } from '../core/murmur2.js';
import { type Headers, noHeaders } from '../core/record.js';
import type { Serde } from '../serde/serde.js';
import type { SendOptions } from '../topology/processor.js';
import type { UntypedTopic } from '../topology/topology.js';
import type { OutputRecord } from './epoch.js';
import type { RecordTrace } from './hooks.js';
import type { Destination } from './scope.js';
import type { Task } from './task.js';

/** Bytes of key, value and headers. */
export function recordBytes(key: Uint8Array | null, value: Uint8Array | null, headers: Headers): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  if (headers.length > 0) for (const header of headers) bytes += Buffer.byteLength(header.name) + header.value.length;
  return bytes;
}

function serializePart(topic: string, part: 'key' | 'value', serde: Serde<unknown>, data: unknown): Uint8Array | null {
  if (data === null && serde.acceptsNull !== true) {
    throw new RecordRefusedError(
      'NULL_REFUSED',
      `A null ${part} was sent to topic '${topic}', whose ${part} serde '${serde.name}' takes none. Declare it as nullable(${serde.name}) if nulls are meant.`,
      { topic },
    );
  }
  try {
    return serde.serialize(data);
  } catch (error) {
    const cause = errorOf(error);
    throw new RecordRefusedError(
      'SERIALIZATION_FAILED',
      `The ${part} for topic '${topic}' cannot be serialized by '${serde.name}': ${cause.message}`,
      { topic },
      cause,
    );
  }
}

/** A NUL would cut the name, half a surrogate pair has no UTF-8 form. */
const unwritableName = /[\0\p{Surrogate}]/u;

function checkHeaders(topic: string, headers: Headers): void {
  for (const header of headers) {
    if (typeof header?.name !== 'string' || unwritableName.test(header.name) || !(header.value instanceof Uint8Array)) {
      throw new RecordRefusedError(
        'HEADER_INVALID',
        `A header for topic '${topic}' is not { name: string of whole characters without NUL, value: Uint8Array }.`,
        { topic },
      );
    }
  }
}

export function serializeOutput(
  task: Task,
  topic: UntypedTopic,
  destination: Destination,
  key: unknown,
  /** The key's bytes, where they are known already. */
  knownKeyBytes: Uint8Array | undefined,
  value: unknown,
  options: SendOptions,
  defaultTimestampMs: number,
): OutputRecord {
  const headers = options.headers ?? noHeaders;
  const timestampMs = options.timestampMs ?? defaultTimestampMs;
  if (headers.length > 0) checkHeaders(topic.name, headers);
  if (!Number.isSafeInteger(timestampMs)) {
    throw new RecordRefusedError(
      'TIMESTAMP_INVALID',
      `The timestamp ${String(timestampMs)} for topic '${topic.name}' is no whole number of milliseconds.`,
      { topic: topic.name },
    );
  }
  if (timestampMs === destination.unwritableTimestampMs) {
    const message = `The Kafka client cannot write the timestamp ${timestampMs}, which a record for topic '${topic.name}' has. Send it with another timestampMs.`;
    throw new RecordRefusedError('TIMESTAMP_UNWRITABLE', message, { topic: topic.name });
  }
  const keyBytes = knownKeyBytes ?? serializePart(topic.name, 'key', topic.key, key);
  const valueBytes = serializePart(topic.name, 'value', topic.value, value);
  const bytes = recordBytes(keyBytes, valueBytes, headers);
  if (bytes > destination.recordBytesMax) {
    throw new RecordRefusedError(
      'RECORD_TOO_LARGE',
      `A record of ${bytes} bytes for topic '${topic.name}' is larger than its bound of ${destination.recordBytesMax} bytes (maxRecordBytes).`,
      {
        topic: topic.name,
      },
    );
  }
  const partition = options.partition ?? (keyBytes === null ? -1 : partitionForKey(keyBytes, destination.partitions));
  if (!Number.isInteger(partition) || partition < -1 || partition >= destination.partitions) {
    throw new RecordRefusedError(
      'PARTITION_INVALID',
      `Partition ${String(partition)} of topic '${topic.name}' does not exist: it has ${destination.partitions}.`,
      { topic: topic.name },
    );
  }
  return { topic: destination.name, partition, key: keyBytes, value: valueBytes, timestampMs, headers, task, sent: destination.sent };
}

/** The record with the headers by which its trace goes on; without them where they would make it too large for its topic. */
export function traced(output: OutputRecord, trace: RecordTrace, { recordBytesMax }: Destination): OutputRecord {
  const headers = trace.sends(output);
  const { topic, partition, key, value, timestampMs, task, sent } = output;
  if (recordBytes(key, value, headers) > recordBytesMax) return output;
  // Not by spreading: an object of another shape would slow down everyone who handles outputs.
  const marked = { topic, partition, key, value, timestampMs, headers, task, sent };
  return output.isDeadLetter === true ? { ...marked, isDeadLetter: true } : marked;
}
