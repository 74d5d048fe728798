/** The errors of the simulated cluster, with the codes, numbers and kinds that the client of a real one reports. */
import { BrokerError, type ErrorKind, type ErrorPlace } from '@tally/streams';

interface ErrorTemplate {
  /** As the implementation on a real cluster names it. */
  readonly code: string;
  readonly kind: ErrorKind;
  readonly brokerCode: number;
  readonly text: string;
}

const templates = {
  UNKNOWN_TOPIC_OR_PARTITION: { code: 'UNKNOWN_TOPIC', kind: 'invalid', brokerCode: 3, text: 'The topic or partition does not exist.' },
  UNKNOWN_PARTITION: { code: 'UNKNOWN_PARTITION', kind: 'recordRefused', brokerCode: -190, text: 'The topic has no such partition.' },
  UNKNOWN_TOPIC: { code: 'UNKNOWN_TOPIC', kind: 'recordRefused', brokerCode: -188, text: 'The topic does not exist.' },
  MESSAGE_TOO_LARGE: {
    code: 'RECORD_TOO_LARGE',
    kind: 'recordRefused',
    brokerCode: 10,
    text: 'The record or its batch is larger than allowed.',
  },
  INVALID_TIMESTAMP: { code: 'TIMESTAMP_INVALID', kind: 'recordRefused', brokerCode: 32, text: 'The timestamp is too far ahead.' },
  INVALID_RECORD: {
    code: 'RECORD_INVALID',
    kind: 'recordRefused',
    brokerCode: 87,
    text: 'A compacted topic takes no record without a key.',
  },
  OUT_OF_ORDER_SEQUENCE_NUMBER: {
    code: 'SEQUENCE_ECHO',
    kind: 'abortable',
    brokerCode: 45,
    text: 'The sequence number does not follow the last one.',
  },
  PRODUCER_FENCED: {
    code: 'FENCED',
    kind: 'fenced',
    brokerCode: -144,
    text: 'Another producer with the same transactional id has taken over, or the transaction has timed out.',
  },
  INVALID_TXN_STATE: {
    code: 'TRANSACTION_INVALID',
    kind: 'fatal',
    brokerCode: 48,
    text: 'The transaction is not in a state that allows this.',
  },
  CONCURRENT_TRANSACTIONS: {
    code: 'TRANSACTION_BUSY',
    kind: 'retriable',
    brokerCode: 51,
    text: 'The previous transaction is still being completed.',
  },
  INVALID_TRANSACTION_TIMEOUT: {
    code: 'TRANSACTION_TIMEOUT_INVALID',
    kind: 'invalid',
    brokerCode: 50,
    text: 'The transaction timeout is larger than the broker allows.',
  },
  UNKNOWN_MEMBER_ID: { code: 'STALE_MEMBER', kind: 'staleMember', brokerCode: 25, text: 'The group does not know this member.' },
  STALE_MEMBER_EPOCH: { code: 'STALE_MEMBER', kind: 'staleMember', brokerCode: 113, text: 'The group knows this member by another epoch.' },
  FENCED_MEMBER_EPOCH: { code: 'STALE_MEMBER', kind: 'staleMember', brokerCode: 110, text: 'The member was fenced by the group.' },
  OFFSET_METADATA_TOO_LARGE: {
    code: 'OFFSET_METADATA_TOO_LARGE',
    kind: 'abortable',
    brokerCode: 12,
    text: 'The offset metadata is too large.',
  },
  UNSTABLE_OFFSET_COMMIT: { code: 'OFFSET_PENDING', kind: 'pending', brokerCode: 88, text: 'An open transaction holds the offset.' },
  OFFSET_OUT_OF_RANGE: { code: 'OFFSET_OUT_OF_RANGE', kind: 'invalid', brokerCode: 1, text: 'The offset is outside of the partition.' },
  POLICY_VIOLATION: {
    code: 'TOPIC_INVALID',
    kind: 'invalid',
    brokerCode: 44,
    text: 'Records of a topic that is only compacted cannot be deleted.',
  },
  INVALID_PARTITIONS: { code: 'TOPIC_INVALID', kind: 'invalid', brokerCode: 37, text: 'The number of partitions is not allowed.' },
  INVALID_REPLICATION_FACTOR: { code: 'TOPIC_INVALID', kind: 'invalid', brokerCode: 38, text: 'The replication factor is not allowed.' },
  INVALID_CONFIG: { code: 'TOPIC_INVALID', kind: 'invalid', brokerCode: 40, text: 'A topic setting is not known or has a wrong value.' },
  INVALID_TOPIC: { code: 'TOPIC_INVALID', kind: 'invalid', brokerCode: 17, text: 'The topic name is not allowed.' },
  TIMED_OUT: { code: 'TIMED_OUT', kind: 'retriable', brokerCode: -185, text: 'No answer came in time.' },
  MESSAGE_TIMED_OUT: { code: 'TIMED_OUT', kind: 'retriable', brokerCode: -192, text: 'The record could not be delivered in time.' },
  TRANSPORT: { code: 'BROKER_UNAVAILABLE', kind: 'retriable', brokerCode: -195, text: 'The broker cannot be reached.' },
} as const satisfies Record<string, ErrorTemplate>;

/** The protocol's or the client's name of an error. */
export type SimulatedErrorName = keyof typeof templates;

/** @param kind instead of the error's own, where the call decides what the error means. */
export function simulatedError(name: SimulatedErrorName, place?: ErrorPlace, kind?: ErrorKind): BrokerError {
  const template: ErrorTemplate = templates[name];
  const at = place?.topic === undefined ? '' : ` (${place.topic}${place.partition === undefined ? '' : `-${place.partition}`})`;
  return withoutStack(
    () =>
      new BrokerError({
        code: template.code,
        kind: kind ?? template.kind,
        brokerCode: template.brokerCode,
        message: template.text + at,
        place,
      }),
  );
}

/** An error that is an answer: where in the simulator it was made says nothing, and finding that out costs more than the request. */
function withoutStack<E extends Error>(make: () => E): E {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

export function isBrokerError(thrown: unknown, name: SimulatedErrorName): boolean {
  return thrown instanceof BrokerError && thrown.brokerCode === templates[name].brokerCode;
}

/** The caller broke a rule of the broker port: a real client would lose data, answer nonsense or end the process. */
export class ContractViolation extends Error {
  override readonly name = 'ContractViolation';

  constructor(readonly rule: string) {
    super(`Tally invariant broken: the broker port was used wrongly. ${rule}`);
  }
}

export function closedError(code: string, what: string): BrokerError {
  return new BrokerError({ code, kind: 'closed', message: `${what} is closed.` });
}
