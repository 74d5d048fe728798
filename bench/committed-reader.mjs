// @ts-check
import kafka from '@confluentinc/kafka-javascript';
import { answer, partitionCount, takeWhatIsThere } from './cluster.mjs';

/** @typedef {import('@confluentinc/kafka-javascript').Message} Message */

/**
 * Reads committed records of a topic, outside of any group's protocol.
 * @param {object} options
 * @param {string} options.brokers
 * @param {string} options.topic
 * @param {readonly number[]} options.starts offset of each partition
 */
export async function openCommittedReader({ brokers, topic, starts }) {
  const consumer = new kafka.KafkaConsumer(
    {
      'metadata.broker.list': brokers,
      'group.id': `${topic}-reader`,
      'enable.auto.commit': false,
      'isolation.level': 'read_committed',
      'enable.partition.eof': true,
      'fetch.wait.max.ms': 20,
      'fetch.queue.backoff.ms': 5,
    },
    { 'auto.offset.reset': 'error' },
  );
  await answer((done) => consumer.connect({}, done));
  consumer.setDefaultConsumeTimeout(20);
  takeWhatIsThere(consumer);
  const reached = new Float64Array(partitionCount);
  consumer.on('partition.eof', ({ partition, offset }) => (reached[partition] = offset));
  consumer.assign(starts.map((offset, partition) => ({ topic, partition, offset })));
  return {
    /** Position of the last end-of-partition report of each partition; transaction markers count. */
    reached,
    /** @returns {Promise<Message[]>} */
    consume: () => answer((done) => consumer.consume(2_000, done)),
    close: () => answer((done) => consumer.disconnect(done)),
  };
}

/**
 * Shows all records that are committed by now.
 * @param {import('./cluster.mjs').Cluster} cluster
 * @param {string} topic
 * @param {(message: Message) => void} visit
 */
export async function eachCommitted(cluster, topic, visit) {
  const ends = await cluster.stableEnds(topic);
  const reader = await openCommittedReader({ brokers: cluster.brokers, topic, starts: ends.map(() => 0) });
  try {
    while (!ends.every((end, partition) => (reader.reached[partition] ?? 0) >= end))
      for (const message of await reader.consume()) visit(message);
  } finally {
    await reader.close();
  }
}
