/** What the cluster does for each kind of request: one file per kind. What is returned or thrown is the answer. */
export { addOffsets } from './add-offsets.js';
export { addPartitions } from './add-partitions.js';
export { commitOffsets } from './commit-offsets.js';
export { commitTransactionOffsets } from './commit-transaction-offsets.js';
export { createTopic } from './create-topic.js';
export { deleteRecords } from './delete-records.js';
export { describeGroup } from './describe-group.js';
export { describeTopics } from './describe-topics.js';
export { endTransaction } from './end-transaction.js';
export { fetch, type FetchedSlice, type FetchRequest } from './fetch.js';
export { heartbeat } from './heartbeat.js';
export { initProducer } from './init-producer.js';
export { leaveGroup } from './leave-group.js';
export { listOffsets } from './list-offsets.js';
export { produce } from './produce.js';
export { stableOffsets } from './stable-offsets.js';
