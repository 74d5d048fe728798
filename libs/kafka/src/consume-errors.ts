/** What an error of a consume means for the runtime. */
import type { BrokerError } from '@tally/streams';
import { classify, errorNumbers, numberOf } from './errors.js';

export interface ConsumeVerdict {
  readonly error: BrokerError;
  /** Whether the consume has to reject; else the client goes on by itself and a log line is enough. */
  readonly report: boolean;
}

/** librdkafka's texts of the reasons that a person has to mend; the number of a fatal error is always -150. */
const fatalReasons: readonly (readonly [text: RegExp, number: number])[] = [
  [/api ?version|unsupported version|UNSUPPORTED_VERSION|required feature not supported/i, 35],
  [/assignor/i, 112],
  [/instance id|UNRELEASED_INSTANCE_ID|static consumer fenced/i, 82],
  [/group authorization|GROUP_AUTHORIZATION/i, 30],
  [/inconsistent group protocol/i, 23],
];

export function consumeVerdict(
  thrown: unknown,
  client: { name: string; fatalReason: string | undefined; lastError: string | undefined },
): ConsumeVerdict {
  const doing = `Reading with the ${client.name}`;
  const number = numberOf(thrown);
  const known = client.fatalReason === undefined ? undefined : fatalReasons.find(([text]) => text.test(client.fatalReason as string));
  if (number === errorNumbers.fatal) {
    const reason = client.fatalReason ?? client.lastError ?? 'the client gives no reason';
    return { error: classify({ code: known?.[1] ?? errorNumbers.fatal, message: reason }, 'consume', doing), report: true };
  }
  const error = classify(thrown, 'consume', doing);
  return { error, report: !passes(error, number) };
}

/**
 * The poll interval was exceeded: the loss of the partitions follows as an event. An offset out of range: the partition is looked for and
 * reported by name. A topic that is not there: its partitions are revoked, and at the start the worker has looked for its topics.
 */
function passes(error: BrokerError, number: number | undefined): boolean {
  if (error.kind === 'retriable' || error.kind === 'staleMember' || error.kind === 'pending') return true;
  return (
    number === errorNumbers.maxPollExceeded || number === errorNumbers.autoOffsetReset || number === errorNumbers.unknownTopicOrPartition
  );
}
