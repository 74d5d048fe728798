/** Every metric, as data: `docs/observability.md` is checked against it, and it against what is exported. Attributes have few values each, never a key. */
import { attribute } from './conventions.js';

export type MetricKind = 'histogram' | 'counter' | 'gauge';

export interface MetricDefinition {
  readonly name: string;
  readonly kind: MetricKind;
  /** UCUM, as OpenTelemetry has it. */
  readonly unit: string;
  readonly description: string;
  /** Attributes that it may have; all of those of workers have the group too. */
  readonly attributes: readonly string[];
}

function define<const Name extends string>(
  kind: MetricKind,
  name: Name,
  unit: string,
  description: string,
  attributes: readonly string[],
): MetricDefinition & { readonly name: Name } {
  return { name, kind, unit, description, attributes };
}

const { group, system, operation, operationType, destination, partition, task, subTopology, store, state, outcome, reason } = attribute;

/** What happens now and then: recorded when it happens. */
export const recorded = {
  operationDuration: define(
    'histogram',
    'messaging.client.operation.duration',
    's',
    'Duration of consumes that brought records, and of commits.',
    [group, system, operation, operationType],
  ),
  processDuration: define('histogram', 'messaging.process.duration', 's', 'Processing of one slice of a task: up to 500 records.', [
    group,
    system,
    operation,
    subTopology,
  ]),
  recordLatency: define(
    'histogram',
    'tally.record.latency',
    's',
    "From the timestamp of a commit's oldest record to the end of the commit.",
    [group],
  ),
  flushDuration: define('histogram', 'tally.flush.duration', 's', 'Writing of committed state to the local database.', [
    group,
    subTopology,
  ]),
  restoreDuration: define('histogram', 'tally.restore.duration', 's', 'Replay of the changelog of one store and partition.', [
    group,
    store,
  ]),
  rebalances: define('counter', 'tally.rebalances', '{rebalance}', 'Assignments, revocations and losses of partitions.', [group, outcome]),
} as const;

/** What changes with each record: counted where the work is done, and read when it is exported. */
export const observed = {
  consumedMessages: define('counter', 'messaging.client.consumed.messages', '{message}', 'Records taken from the consumer.', [
    group,
    system,
    operation,
    destination,
  ]),
  sentMessages: define(
    'counter',
    'messaging.client.sent.messages',
    '{message}',
    'Records handed to a transaction or a producer, those of aborted transactions included.',
    [group, system, operation, destination],
  ),
  recordsProcessed: define('counter', 'tally.records.processed', '{record}', 'Records whose effects were committed.', [group, task]),
  recordsDropped: define('counter', 'tally.records.dropped', '{record}', 'Records that an operator passed over, late ones among them.', [
    group,
    reason,
  ]),
  recordsFailed: define(
    'counter',
    'tally.records.failed',
    '{record}',
    'Failed attempts at records, by what the error policy made of them.',
    [group, outcome],
  ),
  recordsSkipped: define('counter', 'tally.records.skipped', '{record}', 'Records that the error policy passed over.', [group]),
  deadLetters: define('counter', 'tally.records.dead_lettered', '{record}', 'Committed dead letters.', [group]),
  recordsDiscarded: define(
    'counter',
    'tally.records.discarded',
    '{record}',
    'Records brought in vain, since they come again after a rewind.',
    [group],
  ),
  recordsRestored: define('counter', 'tally.records.restored', '{record}', 'Changelog records replayed.', [group]),
  storesRebuilt: define('counter', 'tally.stores.rebuilt', '{store}', 'Stores deleted and replayed as a whole.', [group]),
  transactions: define(
    'counter',
    'tally.transactions',
    '{transaction}',
    'Transactions by how they ended: committed, aborted, fenced or in doubt.',
    [group, outcome],
  ),
  punctuations: define('counter', 'tally.punctuations', '{punctuation}', 'Committed punctuations.', [group]),
  workerTime: define('counter', 'tally.worker.time', 's', 'Time of the loop, by what it did: process records, or wait.', [
    group,
    attribute.activity,
  ]),
  pollRatio: define('gauge', 'tally.worker.poll_ratio', '1', 'Share of its time that the loop has waited for records lately.', [group]),
  live: define('gauge', 'tally.worker.live', '1', '1 while the loop turns.', [group]),
  ready: define('gauge', 'tally.worker.ready', '1', '1 while all assigned tasks are restored and run.', [group]),
  tasks: define('gauge', 'tally.tasks', '{task}', 'Tasks of the worker by state.', [group, state]),
  lag: define('gauge', 'tally.partition.lag', '{record}', 'Offsets between the last commit and the end of an input partition.', [
    group,
    destination,
    partition,
  ]),
  committed: define(
    'gauge',
    'tally.partition.committed',
    '1',
    'Committed offset of an input partition: it stands still where a task is stuck.',
    [group, destination, partition],
  ),
  queuedRecords: define('gauge', 'tally.queued.records', '{record}', 'Records taken from the consumer and not yet processed.', [group]),
  clientQueue: define(
    'gauge',
    'tally.client.queue',
    '{record}',
    'Records that wait in the native client: fetched, or not yet acknowledged.',
    [group, attribute.direction],
  ),
  bufferSize: define(
    'gauge',
    'tally.buffer.size',
    'By',
    'Writes and outputs in memory that are uncommitted, or committed and not flushed.',
    [group],
  ),
  cacheSize: define('gauge', 'tally.cache.size', 'By', 'Read caches.', [group]),
  cacheReads: define(
    'counter',
    'tally.store.reads',
    '{read}',
    'Reads of stores past what is unflushed, by whether the cache or the database answered.',
    [group, store, outcome],
  ),
  storeEntries: define(
    'gauge',
    'tally.store.entries',
    '{entry}',
    'Entries of a store on this worker: counted while they are few, else estimated.',
    [group, store],
  ),
  storeSize: define(
    'gauge',
    'tally.store.size',
    'By',
    'Keys and values of a store on this worker, uncompressed; counted or estimated as the entries.',
    [group, store],
  ),
  restoreRemaining: define('gauge', 'tally.restore.remaining', '{record}', 'Changelog offsets that a task still has to replay.', [
    group,
    task,
  ]),
  restoreProgress: define('gauge', 'tally.restore.progress', '1', 'Share of the changelog offsets that a task has replayed.', [
    group,
    task,
  ]),
} as const;

/** Of the process, under the names of the Node.js conventions. */
export const processMetrics = {
  delayMean: define('gauge', 'nodejs.eventloop.delay.mean', 's', 'Mean delay of the event loop over the last seconds.', []),
  delayP50: define('gauge', 'nodejs.eventloop.delay.p50', 's', 'Median delay of the event loop over the last seconds.', []),
  delayP99: define('gauge', 'nodejs.eventloop.delay.p99', 's', '99th percentile of the delay of the event loop over the last seconds.', []),
  delayMax: define('gauge', 'nodejs.eventloop.delay.max', 's', 'Largest delay of the event loop over the last seconds.', []),
} as const;

export const allMetrics: readonly MetricDefinition[] = [
  ...Object.values(recorded),
  ...Object.values(observed),
  ...Object.values(processMetrics),
];
