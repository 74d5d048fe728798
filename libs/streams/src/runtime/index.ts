export * from './broker.js';
export { changelogTopicName, repartitionTopicName } from './destinations.js';
export { deadLetterHeaders } from './failure.js';
export * from './hooks.js';
export * from './options.js';
export type { InputStatistics, LoopTimes, StoreStatistics, WorkerStatistics } from './statistics.js';
export { QueryError } from './query.js';
export * from './worker.js';
