// @ts-check
import kafka from '@confluentinc/kafka-javascript';
import { setTimeout as sleep } from 'node:timers/promises';
import { answer, partitionsOf } from './cluster.mjs';

/** Answers of a coordinator that moves or is about to start: it is asked again, for so long. */
const movingCoordinator = new Set([14, 15, 16]);
const coordinatorPatienceMs = 30_000;

/**
 * Reads a group's committed offsets without joining it. The admin client could be asked too, but its answer ends the process when the group's
 * coordinator has moved: it follows a pointer that only a client with a group has.
 * @param {string} brokers @param {string} groupId @param {string} topic begins at offset 0
 */
export async function openGroupOffsets(brokers, groupId, topic) {
  const client = new kafka.KafkaConsumer(
    // Uncommitted: a reader of committed offsets would wait for each open transaction to end.
    { 'metadata.broker.list': brokers, 'group.id': groupId, 'enable.auto.commit': false, 'isolation.level': 'read_uncommitted' },
    {},
  );
  await answer((done) => client.connect({}, done));
  const partitions = partitionsOf(topic);
  return {
    /** @returns {Promise<number>} how many records the group is done with */
    async committedRecords() {
      const untilMs = performance.now() + coordinatorPatienceMs;
      for (;;) {
        try {
          /** @type {kafka.TopicPartitionOffset[]} */
          const offsets = await answer((done) => client.committed(partitions, 5_000, done));
          return offsets.reduce((sum, { offset }) => sum + Math.max(0, offset ?? 0), 0);
        } catch (error) {
          if (!movingCoordinator.has(codeOf(error)) || performance.now() > untilMs) throw error;
          await sleep(100);
        }
      }
    },
    close: () => answer((done) => client.disconnect(done)),
  };
}

/** @param {unknown} error */
function codeOf(error) {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'number' ? error.code : 0;
}
