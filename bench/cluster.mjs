// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';
import kafka from '@confluentinc/kafka-javascript';

export const partitionCount = 4;

const replicationFactorOfBroker = -1;
const groupNotEmpty = 68;
const groupUnknown = 69;
const topicUnknown = 3;

/** @param {string} topic */
export function partitionsOf(topic) {
  return Array.from({ length: partitionCount }, (_, partition) => ({ topic, partition }));
}

/**
 * What the benchmark asks of the cluster, from outside of all contenders.
 * @typedef {ReturnType<typeof connectCluster>} Cluster
 */

/** @param {string} brokers bootstrap addresses */
export function connectCluster(brokers) {
  const admin = kafka.AdminClient.create({ 'metadata.broker.list': brokers, 'client.id': 'bench' });

  return {
    brokers,
    /** @param {string} topic @param {number} [partitions] */
    createTopic: (topic, partitions = partitionCount) =>
      answer((done) =>
        admin.createTopic({ topic, num_partitions: partitions, replication_factor: replicationFactorOfBroker }, 10_000, done),
      ),

    /**
     * The last stable offset of each partition: where a reader of committed records ends.
     * @param {string} topic
     * @returns {Promise<number[]>}
     */
    async stableEnds(topic) {
      const asked = partitionsOf(topic).map((at) => ({ ...at, offset: new kafka.OffsetSpec(-1) }));
      for (let attempt = 1; ; attempt++) {
        const ends = await listEnds(admin, asked);
        // A partition without a leader yet, and a topic that the broker has just made, answer with errors of their own.
        if (ends !== undefined && ends.every(({ offset }) => offset >= 0))
          return ends.toSorted((a, b) => a.partition - b.partition).map(({ offset }) => offset);
        if (attempt === 50)
          throw new Error(`The ends of ${topic} cannot be read: ${ends?.find(({ error }) => error)?.error?.message ?? 'no offset'}`);
        await sleep(100);
      }
    },

    /**
     * Deletes all topics whose names begin so, and the groups. A group whose member was killed is deleted once its session has ended.
     * @param {string} topicPrefix @param {readonly string[]} groupIds
     */
    async remove(topicPrefix, groupIds) {
      /** @type {string[]} */
      const topics = await answer((done) => admin.listTopics({ timeout: 10_000 }, done));
      for (const topic of topics.filter((name) => name.startsWith(topicPrefix))) await removeTopic(admin, topic);
      for (const groupId of groupIds) await removeGroup(admin, groupId);
    },

    close: () => admin.disconnect(),
  };
}

/**
 * @param {kafka.IAdminClient} admin
 * @param {kafka.TopicPartitionOffsetSpec[]} asked
 * @returns {Promise<kafka.ListOffsetsResult[] | undefined>} undefined while the topic is not known yet
 */
async function listEnds(admin, asked) {
  try {
    return await answer((done) => admin.listOffsets(asked, { timeout: 10_000, isolationLevel: kafka.IsolationLevel.READ_COMMITTED }, done));
  } catch (error) {
    if (codeOf(error) === topicUnknown) return undefined;
    throw error;
  }
}

/** @param {kafka.IAdminClient} admin @param {string} topic gone already is as well */
async function removeTopic(admin, topic) {
  try {
    await answer((done) => admin.deleteTopic(topic, 10_000, done));
  } catch (error) {
    if (codeOf(error) !== topicUnknown) throw error;
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** @param {kafka.IAdminClient} admin @param {string} groupId */
async function removeGroup(admin, groupId) {
  for (let attempt = 1; attempt <= 20; attempt++) {
    /** @type {kafka.DeleteGroupsResult[]} */
    const [result] = await answer((done) => admin.deleteGroups([groupId], { timeout: 10_000 }, done));
    const code = result?.error?.code ?? 0;
    if (code === 0 || code === groupUnknown) return;
    if (code !== groupNotEmpty) throw new Error(`The group ${groupId} cannot be deleted: ${result?.error?.message ?? code}`);
    await sleep(500);
  }
  throw new Error(`The group ${groupId} still has members and was not deleted.`);
}

/**
 * The client's callbacks as promises.
 * @template T
 * @param {(done: (error: unknown, value?: T) => void) => void} call
 * @returns {Promise<T>}
 */
export function answer(call) {
  return new Promise((resolve, reject) => {
    call((error, value) => (error ? reject(errorOf(error)) : resolve(/** @type {T} */ (value))));
  });
}

/**
 * A consume then waits for its first record only, not for each one; the client has the setting, its types do not.
 * @param {kafka.KafkaConsumer} consumer
 */
export function takeWhatIsThere(consumer) {
  const untyped = /** @type {{ setDefaultIsTimeoutOnlyForFirstMessage(only: boolean): void }} */ (/** @type {unknown} */ (consumer));
  untyped.setDefaultIsTimeoutOnlyForFirstMessage(true);
}

/** @param {unknown} thrown the client's errors are not always instances of Error */
function errorOf(thrown) {
  if (thrown instanceof Error) return thrown;
  return new Error(typeof thrown === 'object' && thrown !== null && 'message' in thrown ? String(thrown.message) : String(thrown));
}
