/** A record or punctuation on its way from dispatch to join. */
import type { ConsumedRecord } from './broker.js';
import type { RecordTrace } from './hooks.js';
import type { Input } from './input.js';
import type { Schedule } from './schedule.js';
import type { RecordScope } from './scope.js';
import type { ReadRecord } from './timestamps.js';

export interface Flight {
  /** What is processed: a record of an input, or a due punctuation. */
  readonly work: { readonly input: Input; readonly record: ConsumedRecord } | { readonly schedule: Schedule; readonly atMs: number };
  /** A record whose timestamp is not simply its own. */
  read: ReadRecord | undefined;
  readonly ownKey: string | undefined;
  scope: RecordScope | undefined;
  state: 'running' | 'settled' | 'waiting';
  /** While waiting: when it is tried again, on the monotonic clock. */
  retryAtMs: number;
  inLine: boolean;
  /** Readers of the record that wait for an asynchronous one before them. */
  rest: (() => void) | undefined;
  /** Of the attempt that is made again. */
  trace: RecordTrace | undefined;
}

export function newFlight(work: Flight['work'], read: ReadRecord | undefined, ownKey: string | undefined): Flight {
  return { work, read, ownKey, scope: undefined, state: 'running', retryAtMs: 0, inLine: false, rest: undefined, trace: undefined };
}

/** Name under which a schedule's failures are counted and a refusal is remembered. */
export function punctuationName(taskId: string, schedule: Schedule): string {
  return `${taskId}/${schedule.step.name}/${schedule.ordinal}`;
}
