/** What the client would change silently, or take although it cannot be written. */
import { BrokerError } from '@tally/streams';

/** @throws BrokerError of kind `recordRefused` */
export function checkRecord(topic: string, partition: number, key: Uint8Array | null, value: Uint8Array | null, timestampMs: number): void {
  if (typeof topic !== 'string' || topic === '') throw refusal('UNKNOWN_TOPIC', topic, 'A record needs the name of a topic.');
  if (!Number.isInteger(partition) || partition < -1)
    throw refusal('UNKNOWN_PARTITION', topic, `The partition ${partition} is no partition number.`);
  if (key !== null && !(key instanceof Uint8Array)) throw refusal('RECORD_INVALID', topic, 'A key must be bytes or null.');
  if (value !== null && !(value instanceof Uint8Array)) throw refusal('RECORD_INVALID', topic, 'A value must be bytes or null.');
  if (!Number.isSafeInteger(timestampMs))
    throw refusal('TIMESTAMP_INVALID', topic, `The timestamp ${timestampMs} is no whole number of milliseconds.`);
  if (timestampMs === 0) {
    // librdkafka takes 0 for "now" (rd_kafka_msg_new0), on each of its ways to produce. A wrong timestamp would be worse than none.
    throw refusal(
      'TIMESTAMP_ZERO',
      topic,
      'The Kafka client cannot write the timestamp 0: it would become the current time. Use another timestamp.',
    );
  }
}

function refusal(code: string, topic: string, message: string): BrokerError {
  return new BrokerError({
    code,
    kind: 'recordRefused',
    message: `${message} The record for topic ${topic} was not queued.`,
    place: { topic },
  });
}
