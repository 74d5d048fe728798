/**
 * The one table from the client's error numbers to what the runtime does about them. Positive numbers are the protocol's, negative ones
 * librdkafka's own. Flags of the error come first where the client sets them; they are missing on many errors, so the numbers decide the
 * rest.
 */
import { BrokerError, type ErrorKind, errorOf, type ErrorPlace } from '@tally/streams';

export interface ErrorEntry {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly advice: string;
}

/** What the call was doing, which decides what an error of it means. */
export type Operation =
  | 'connect'
  | 'init'
  | 'begin'
  | 'produce'
  | 'deliver'
  | 'sendOffsets'
  | 'commit'
  | 'abort'
  | 'flush'
  | 'consume'
  | 'admin'
  | 'close';

export const errorNumbers = {
  transport: -195,
  unknownPartition: -190,
  unknownTopic: -188,
  allBrokersDown: -187,
  timedOut: -185,
  queueFull: -184,
  revokePartitions: -174,
  assignPartitions: -175,
  state: -172,
  noEntry: -156,
  purgedInQueue: -152,
  purgedInFlight: -151,
  fatal: -150,
  maxPollExceeded: -147,
  autoOffsetReset: -140,
  offsetOutOfRange: 1,
  unknownTopicOrPartition: 3,
  topicExists: 36,
  outOfOrderSequence: 45,
  groupNotFound: 69,
  unstableOffset: 88,
} as const;

const again = 'The same call may succeed later.';
export const replaceProducer =
  'Close this producer and make a new one with the same transactional id, which settles what this one left open.';
const rejoin = 'Abort; the consumer rejoins by itself and brings the partitions again.';

const entries = new Map<number, ErrorEntry>();

function enter(kind: ErrorKind, code: string, advice: string, ...numbers: readonly number[]): void {
  for (const number of numbers) entries.set(number, { code, kind, advice });
}

enter('retriable', 'TIMED_OUT', again, -185, -192, -166, 7);
enter(
  'retriable',
  'BROKER_UNAVAILABLE',
  'The broker cannot be reached or is starting; the client keeps trying.',
  -195,
  -193,
  -187,
  -180,
  8,
  13,
  14,
  15,
  16,
  41,
);
enter(
  'retriable',
  'LEADER_UNAVAILABLE',
  'The partition is moving to another broker; the client keeps trying.',
  // "No such entry": a request for partitions whose leaders the client does not know at this moment.
  -156,
  5,
  6,
  9,
  56,
  72,
  74,
  75,
  78,
);
enter('retriable', 'REPLICAS_MISSING', 'Too few replicas are in sync (`min.insync.replicas`); the cluster has to recover.', 19, 20);
enter('retriable', 'TRANSACTION_BUSY', 'The transaction coordinator still ends an earlier transaction.', 51);
enter('retriable', 'THROTTLED', 'A quota was exceeded; the client slows down.', 89);
enter('retriable', 'CONFLICT', 'An earlier call that timed out has to be called again first.', -173, -177, -178);
enter('retriable', 'PURGED', 'The record was dropped by an abort or a close, not refused.', -152, -151);
enter('pending', 'OFFSET_PENDING', 'An open transaction may still change the offset. Ask again.', 88);

enter('fenced', 'FENCED', replaceProducer, -144, 90, 47, 52);
enter('fenced', 'PRODUCER_FATAL', replaceProducer, -150, 49, 59);
enter('staleMember', 'STALE_MEMBER', rejoin, 22, 25, 27, 110, 113, -142);
enter(
  'abortable',
  'SEQUENCE_ECHO',
  'An earlier batch of the partition was refused and this one followed it. Abort and repeat the same records.',
  45,
  46,
);
// "Erroneous state": the client has found the transaction failed before this call came.
enter('abortable', 'TRANSACTION_INVALID', 'Abort the transaction and repeat its work.', 48, -172);

enter('recordRefused', 'RECORD_TOO_LARGE', "Raise the topic's `max.message.bytes`, or write smaller records.", 10, 18, 4);
enter(
  'recordRefused',
  'RECORD_INVALID',
  'The broker does not accept such a record, for example one without a key in a compacted topic.',
  87,
  2,
  -138,
);
enter(
  'recordRefused',
  'TIMESTAMP_INVALID',
  "The timestamp is too far from the broker's clock (`message.timestamp.after.max.ms`, `message.timestamp.before.max.ms`).",
  32,
);
enter('recordRefused', 'TOPIC_UNAUTHORIZED', 'Grant this client WRITE (and READ where it consumes) on the topic.', 29);
enter('recordRefused', 'UNKNOWN_TOPIC', 'Create the topic, or correct its name.', 3, -188, 100);
enter('recordRefused', 'UNKNOWN_PARTITION', 'The topic has no such partition.', -190);

enter('invalid', 'INSTANCE_TAKEN', 'Another process uses the same instance id. Stop it, or give this one another id.', 82, 111);
enter('invalid', 'GROUP_UNAUTHORIZED', 'Grant this client READ on the consumer group.', 30);
enter('invalid', 'CLUSTER_UNAUTHORIZED', 'Grant this client the operation on the cluster (IDEMPOTENT_WRITE, CREATE or DESCRIBE).', 31);
enter('invalid', 'TRANSACTIONAL_ID_UNAUTHORIZED', 'Grant this client WRITE and DESCRIBE on the transactional id.', 53);
enter(
  'invalid',
  'AUTHENTICATION_FAILED',
  'Check the option `client` (`security.protocol`, `sasl.*`, `ssl.*`).',
  58,
  33,
  34,
  54,
  -169,
  -181,
);
enter(
  'invalid',
  'UNSUPPORTED_BROKER',
  'Tally needs Kafka 4.0 or newer with the new consumer group protocol (KIP-848, feature `group.version` 1, assignor `range`).',
  35,
  43,
  112,
  -165,
);
enter(
  'invalid',
  'GROUP_PROTOCOL',
  'The group id is in use by members of another protocol. Stop them, or choose another application id.',
  23,
  24,
  26,
  81,
);
enter('invalid', 'TRANSACTION_TIMEOUT_INVALID', "Lower `transactionTimeoutMs`, or raise the broker's `transaction.max.timeout.ms`.", 50);
enter('invalid', 'TOPIC_INVALID', "The broker refuses the topic's name or settings.", 17, 37, 38, 39, 40, 42, 44);
enter(
  'invalid',
  'OFFSET_OUT_OF_RANGE',
  'The offset lies outside of the log: records expired or were deleted, or the topic was made again.',
  1,
  -140,
  -139,
);
enter('invalid', 'OFFSET_METADATA_TOO_LARGE', "The broker's `offset.metadata.max.bytes` is smaller than what Tally stores.", 12, 28);

const inNoTable: ErrorEntry = {
  code: 'CLIENT_ERROR',
  kind: 'fatal',
  advice: "Tally does not know this error; look at the client's log lines before it.",
};

/**
 * Classifies whatever the native client threw or called back with.
 * @param doing a clause for the message: "<doing> failed: ..."
 */
export function classify(thrown: unknown, operation: Operation, doing: string, place?: ErrorPlace): BrokerError {
  if (thrown instanceof BrokerError) return thrown;
  const number = numberOf(thrown);
  const entry = refine(number === undefined ? inNoTable : (entries.get(number) ?? inNoTable), flagsOf(thrown), operation);
  const said = typeof thrown === 'number' ? `error ${thrown}` : textOf(thrown);
  return new BrokerError({
    code: entry.code,
    kind: entry.kind,
    message: `${doing} failed: ${said}${number === undefined || typeof thrown === 'number' ? '' : ` (${number})`}. ${entry.advice}`,
    brokerCode: number,
    place,
    cause: thrown instanceof Error ? thrown : undefined,
  });
}

interface Flags {
  readonly fatal: boolean;
  readonly retriable: boolean;
  readonly requiresAbort: boolean;
}

function refine(entry: ErrorEntry, flags: Flags, operation: Operation): ErrorEntry {
  switch (operation) {
    case 'commit':
    case 'abort':
      return refineEnd(entry, flags, operation);
    case 'init':
    case 'begin':
    case 'sendOffsets':
      return refineTransactional(entry, flags, operation);
    case 'admin':
    case 'consume':
    case 'connect':
      // Where nothing is written no record can be to blame.
      if (entry.kind === 'recordRefused') return { ...entry, kind: 'invalid' };
      // Nor is there a transaction whose number it could be.
      if (entry.kind === 'fenced' || entry.kind === 'abortable') return inNoTable;
      return entry;
    case 'flush':
    case 'produce':
    case 'deliver':
    case 'close':
      return entry;
  }
}

function refineTransactional(entry: ErrorEntry, flags: Flags, operation: Operation): ErrorEntry {
  if (entry.kind === 'fenced' || entry.kind === 'invalid') return entry;
  if (entry.kind === 'staleMember' && operation === 'sendOffsets') return entry;
  if (flags.fatal) return { ...entry, kind: 'fenced', advice: replaceProducer };
  // There is nothing to abort before the first transaction.
  if (flags.requiresAbort && operation === 'init') return { ...entry, kind: 'retriable' };
  if (flags.requiresAbort) return { ...entry, kind: 'abortable', advice: `Abort the transaction. ${entry.advice}` };
  if (flags.retriable) return { ...entry, kind: 'retriable' };
  if (entry.kind === 'retriable') return entry;
  return { ...entry, kind: operation === 'init' ? 'fatal' : 'abortable' };
}

/**
 * The end of a transaction is the one call whose error proves nothing: only "abort required" says that it did not take effect, and only
 * "retriable" that the same call continues it. After anything else the producer is replaced, which settles the transaction either way.
 */
function refineEnd(entry: ErrorEntry, flags: Flags, operation: 'commit' | 'abort'): ErrorEntry {
  const unknown = operation === 'commit' ? 'Whether the transaction took effect is unknown.' : 'The transaction may still be open.';
  if (entry.kind === 'fenced' || flags.fatal) return { ...entry, kind: 'fenced', advice: `${unknown} ${replaceProducer}` };
  if (operation === 'commit' && flags.requiresAbort)
    return { ...entry, kind: 'abortable', advice: `Abort the transaction. ${entry.advice}` };
  if (flags.retriable || entry.code === 'TIMED_OUT' || entry.code === 'BROKER_UNAVAILABLE') {
    return { ...entry, kind: 'retriable', advice: `${unknown} Call ${operation} again, and nothing else, to continue.` };
  }
  return { ...entry, kind: 'fenced', advice: `${unknown} ${replaceProducer}` };
}

export function numberOf(thrown: unknown): number | undefined {
  if (typeof thrown === 'number') return thrown;
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  // -1 is what the client gives to errors that it could not read.
  return typeof thrown.code === 'number' && thrown.code !== -1 ? thrown.code : undefined;
}

function flagsOf(thrown: unknown): Flags {
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as {
    isFatal?: unknown;
    isRetriable?: unknown;
    isTxnRequiresAbort?: unknown;
  };
  return { fatal: error.isFatal === true, retriable: error.isRetriable === true, requiresAbort: error.isTxnRequiresAbort === true };
}

/** The client's errors are plain objects with a message, now and then real Errors. */
function textOf(thrown: unknown): string {
  const message = typeof thrown === 'object' && thrown !== null && 'message' in thrown ? String(thrown.message) : errorOf(thrown).message;
  return message.replace(/\.$/, '');
}
