/** Names of OpenTelemetry's messaging conventions (semantic conventions 1.45, in development), and those of Tally's own. */
export const attribute = {
  system: 'messaging.system',
  operation: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  partition: 'messaging.destination.partition.id',
  group: 'messaging.consumer.group.name',
  batchCount: 'messaging.batch.message_count',
  offset: 'messaging.kafka.offset',
  key: 'messaging.kafka.message.key',
  tombstone: 'messaging.kafka.message.tombstone',
  errorType: 'error.type',
  task: 'tally.task',
  subTopology: 'tally.sub_topology',
  store: 'tally.store',
  state: 'tally.state',
  attempt: 'tally.attempt',
  outcome: 'tally.outcome',
  reason: 'tally.reason',
  epoch: 'tally.epoch',
  activity: 'tally.activity',
  direction: 'tally.direction',
} as const;

export const kafka = 'kafka';
/** Name of the instrumentation scope. */
export const scopeName = '@tally/telemetry';

/** What an error is called in the attribute `error.type`: of few values, so a code or a class, never a message. */
export function errorType(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** `<sub-topology>` of a task `<sub-topology>/<partition>`. */
export function subTopologyOf(task: string): string {
  const end = task.lastIndexOf('/');
  return end === -1 ? task : task.slice(0, end);
}
