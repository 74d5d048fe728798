/** Decides what becomes of a record that failed, and writes dead letters. */
import { RecordRefusedError } from '../core/errors.js';
import type { Header, Headers } from '../core/record.js';
import type { ErrorPolicies, ErrorPolicy, TerminalErrorPolicy } from '../topology/error-policy.js';
import type { ConsumedRecord } from './broker.js';
import type { OutputRecord } from './epoch.js';
import { recordBytes } from './output.js';
import type { Destination } from './scope.js';
import type { Task } from './task.js';

export type FailureCategory = keyof ErrorPolicies;

export type Verdict = { readonly action: 'retry'; readonly delayMs: number } | TerminalErrorPolicy;

/** A failure of the broker's answer or of serialization is the product's, everything else the processor's. */
export function categoryOf(error: Error): FailureCategory {
  return error instanceof RecordRefusedError ? 'production' : 'processing';
}

/** The node's policy goes before the application's; without either the worker stops. */
export function judge(
  category: FailureCategory,
  error: Error,
  failures: number,
  node: ErrorPolicies | undefined,
  application: ErrorPolicies,
): Verdict {
  const choice = node?.[category] ?? application[category] ?? { action: 'stop' as const };
  const policy: ErrorPolicy = typeof choice === 'function' ? choice(error) : choice;
  if (policy.action !== 'retry') return policy;
  if (failures > policy.retriesMax) return policy.then;
  const delayMs = Math.min(policy.backoffMs * 2 ** (failures - 1), policy.backoffMaxMs ?? Number.POSITIVE_INFINITY);
  return { action: 'retry', delayMs };
}

/** Bound of each text header, in UTF-16 units. */
const textMax = 8_000;

/** Names of the headers that a dead letter carries beside the original ones. */
export const deadLetterHeaders = {
  topic: 'tally-topic',
  partition: 'tally-partition',
  offset: 'tally-offset',
  timestamp: 'tally-timestamp',
  errorName: 'tally-error-name',
  errorMessage: 'tally-error-message',
  errorStack: 'tally-error-stack',
  truncated: 'tally-truncated',
} as const;

function text(name: string, value: string): Header {
  return { name, value: Buffer.from(value.length > textMax ? value.slice(0, textMax) : value, 'utf8') };
}

/** What is left out of a dead letter that would be too large, in this order. */
const truncations = ['none', 'stack', 'value', 'valueAndKey'] as const;
export type Truncation = (typeof truncations)[number];

/** How a dead letter is to be written, after what was tried before was refused. */
export interface LetterShape {
  readonly truncation: Truncation;
  /** When it is written. With the record's own time, which is in a header, retention might delete the letter of an old record at once. */
  readonly timestampMs: number;
}

/**
 * The original bytes and headers with the place and the error.
 * @throws RecordRefusedError when even a dead letter without stack, value and key is too large for its topic.
 */
export function deadLetter(task: Task, record: ConsumedRecord, error: Error, destination: Destination, shape: LetterShape): OutputRecord {
  const place: Header[] = [
    text(deadLetterHeaders.topic, record.topic),
    text(deadLetterHeaders.partition, String(record.partition)),
    text(deadLetterHeaders.offset, String(record.offset)),
    text(deadLetterHeaders.timestamp, String(record.timestampMs)),
    text(deadLetterHeaders.errorName, error.name),
    text(deadLetterHeaders.errorMessage, error.message),
  ];
  for (const truncation of truncations.slice(truncations.indexOf(shape.truncation))) {
    const headers: Headers = [
      ...record.headers,
      ...place,
      ...(truncation === 'none'
        ? [text(deadLetterHeaders.errorStack, error.stack ?? '')]
        : [text(deadLetterHeaders.truncated, truncation)]),
    ];
    const key = truncation === 'valueAndKey' ? null : record.key;
    const value = truncation === 'value' || truncation === 'valueAndKey' ? null : record.value;
    if (recordBytes(key, value, headers) > destination.recordBytesMax) continue;
    return {
      topic: destination.name,
      partition: record.partition % destination.partitions,
      key,
      value,
      timestampMs: shape.timestampMs,
      headers,
      task,
      sent: destination.sent,
      isDeadLetter: true,
    };
  }
  throw new RecordRefusedError(
    'DEAD_LETTER_TOO_LARGE',
    `The dead letter of ${record.topic}-${record.partition} offset ${record.offset} does not fit into '${destination.name}', not even without its value.`,
    {
      topic: destination.name,
    },
  );
}

/** Counts failures by topic, partition and offset, so that aborts and rebalances in between do not make a bounded retry endless. */
export class FailureCounts {
  private readonly counts = new Map<string, Map<number, number>>();

  /** Nothing has failed: the common case, which the hot path asks for first. */
  get isEmpty(): boolean {
    return this.counts.size === 0;
  }

  of(partition: string, offset: number): number {
    return this.counts.get(partition)?.get(offset) ?? 0;
  }

  add(partition: string, offset: number): number {
    let offsets = this.counts.get(partition);
    if (offsets === undefined) this.counts.set(partition, (offsets = new Map<number, number>()));
    const count = (offsets.get(offset) ?? 0) + 1;
    offsets.set(offset, count);
    return count;
  }

  /** Forgets records that a confirmed commit has passed. */
  forgetBefore(partition: string, offset: number): void {
    if (this.counts.size === 0) return;
    const offsets = this.counts.get(partition);
    if (offsets === undefined) return;
    for (const each of offsets.keys()) if (each < offset) offsets.delete(each);
    if (offsets.size === 0) this.counts.delete(partition);
  }
}
