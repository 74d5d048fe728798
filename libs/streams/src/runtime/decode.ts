/** Turns a consumed record into a typed one, by the serdes of its topic. */
import { CorruptDataError, errorOf } from '../core/errors.js';
import { type StreamRecord, partitionName } from '../core/record.js';
import type { Serde } from '../serde/serde.js';
import type { UntypedSourceTopic } from '../topology/topology.js';
import type { ConsumedRecord } from './broker.js';

/** @throws CorruptDataError naming topic, partition and offset. */
export function decode(topic: UntypedSourceTopic, record: ConsumedRecord, timestampMs: number): StreamRecord<unknown, unknown> {
  return {
    key: decodePart(record, 'key', record.key, topic.key),
    value: decodePart(record, 'value', record.value, topic.value),
    timestampMs,
    headers: record.headers,
  };
}

function decodePart(record: ConsumedRecord, part: 'key' | 'value', bytes: Uint8Array | null, serde: Serde<unknown>): unknown {
  if (bytes === null) {
    if (serde.acceptsNull === true) return null;
    const hint = `the ${part} serde '${serde.name}' takes none. Declare the topic's ${part} as nullable(${serde.name}), or choose a policy for errors.deserialization.`;
    throw new CorruptDataError(
      'NULL_REFUSED',
      `Record ${partitionName(record)} offset ${record.offset} has a null ${part}; ${hint}`,
      record,
    );
  }
  try {
    return serde.deserialize(bytes);
  } catch (error) {
    const cause = errorOf(error);
    const message = `The ${part} of record ${partitionName(record)} offset ${record.offset} cannot be read by '${serde.name}': ${cause.message}`;
    throw new CorruptDataError(
      'DESERIALIZATION_FAILED',
      message,
      { topic: record.topic, partition: record.partition, offset: record.offset },
      cause,
    );
  }
}
