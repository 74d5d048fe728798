/** Applies the error policy to a flight that failed: tries it again later, drops it, writes its dead letter, or stops the worker. */
import { sleep } from '../core/clock.js';
import { TallyError, errorOf } from '../core/errors.js';
import { noHeaders, partitionName } from '../core/record.js';
import type { ConsumedRecord } from './broker.js';
import type { TaskEnvironment } from './environment.js';
import { type FailureCategory, deadLetter, judge } from './failure.js';
import { type Flight, punctuationName } from './flight.js';
import type { Step } from './graph.js';
import type { RecordOutcome } from './hooks.js';
import { traced } from './output.js';
import type { Schedule } from './schedule.js';
import { RecordScope, type ScopeHost } from './scope.js';
import type { Task } from './task.js';

/** A record that failed under the policy `stop`; names the record and what can be done about it. */
export class RecordStoppedError extends TallyError {
  constructor(task: Task, what: string, step: Step | undefined, category: FailureCategory, cause: Error, place: TallyError['place']) {
    super({
      code: 'RECORD_FAILED',
      kind: 'fatal',
      message:
        `${what} failed in ${step === undefined ? 'its source' : `'${step.name}'`} (task ${task.id}, ${category}): ${cause.message} ` +
        `The policy errors.${category} is 'stop', so the worker stopped with the record uncommitted. Mend the cause and start again, or choose 'deadLetter', 'skip' or 'retry'.`,
      place: { ...place, task: task.id, node: step?.name },
      cause,
    });
  }
}

/** Pause before a topic is looked up again, in milliseconds. */
export const lookUpPauseMs = 200;

/** The cluster did not answer, which says nothing about the record in hand. */
export function mayPass(error: unknown): boolean {
  return error instanceof TallyError && (error.kind === 'retriable' || error.kind === 'pending');
}

const outcomes = { retry: 'retried', skip: 'skipped', deadLetter: 'deadLettered', stop: 'stopped' } as const;

function isDiskFault(error: Error): error is TallyError {
  return error instanceof TallyError && ['STATE_CORRUPT', 'STATE_UNWRITABLE', 'GLOBAL_STATE_CORRUPT'].includes(error.code);
}

export class FailureHandler {
  /** A record failed while shutting down, or stopped the worker: nothing more is dispatched. */
  halted = false;

  constructor(
    private readonly task: Task,
    private readonly environment: TaskEnvironment,
    private readonly host: ScopeHost,
  ) {}

  /** @returns what becomes of the record; undefined where no policy was asked. */
  handle(flight: Flight, error: Error, category: FailureCategory, step: Step | undefined): RecordOutcome | undefined {
    if (isDiskFault(error)) {
      // No policy may drop a record because the store that it reads is damaged.
      this.halt(flight);
      if (error.code === 'STATE_CORRUPT') this.environment.stateDamaged(this.task, error);
      else this.environment.fail(error);
      return undefined;
    }
    if ('input' in flight.work) return this.recordFailed(flight, flight.work.record, error, category, step);
    this.punctuationFailed(flight, flight.work.schedule, error, category);
    return undefined;
  }

  private recordFailed(
    flight: Flight,
    record: ConsumedRecord,
    error: Error,
    category: FailureCategory,
    step: Step | undefined,
  ): RecordOutcome {
    const { environment } = this;
    const failures = environment.failures.add(partitionName(record), record.offset);
    const verdict = judge(category, error, failures, step?.errors, environment.options.errors);
    const outcome = outcomes[verdict.action];
    if (verdict.action === 'retry') {
      this.wait(flight, verdict.delayMs);
      environment.refusals.retry(record);
    } else if (verdict.action === 'skip') {
      this.replaceScope(flight, record).onJoin = [() => environment.epoch.skipped++];
    } else if (verdict.action === 'deadLetter') {
      this.writeDeadLetter(flight, record, error, verdict.topic);
    } else {
      const what = `Record ${partitionName(record)} offset ${record.offset}`;
      this.halt(flight);
      environment.fail(
        new RecordStoppedError(this.task, what, step, category, error, {
          topic: record.topic,
          partition: record.partition,
          offset: record.offset,
        }),
      );
    }
    environment.hooks.recordFailed?.(record, error, outcome);
    return outcome;
  }

  private punctuationFailed(flight: Flight, schedule: Schedule, error: Error, category: FailureCategory): void {
    const { environment } = this;
    const failures = environment.failures.add(punctuationName(this.task.id, schedule), schedule.dueMs);
    const verdict = judge(category, error, failures, schedule.step.errors, environment.options.errors);
    if (verdict.action === 'retry') {
      this.wait(flight, verdict.delayMs);
      return;
    }
    if (verdict.action === 'skip') {
      this.replaceScope(flight, undefined);
      return;
    }
    // A punctuation has no bytes that a dead letter could hold, and dropping it silently could lose money.
    this.halt(flight);
    environment.fail(new RecordStoppedError(this.task, 'A punctuation', schedule.step, category, error, {}));
  }

  private writeDeadLetter(flight: Flight, record: ConsumedRecord, error: Error, topic: string | { readonly name: string }): void {
    const { environment } = this;
    const name = typeof topic === 'string' ? topic : topic.name;
    const destination = environment.destinations.byName(name);
    if (destination === undefined) {
      this.awaitDeadLetterTopic(flight, record, error, name);
      return;
    }
    try {
      const shape = { truncation: environment.refusals.truncation(record), timestampMs: environment.nowMs };
      const letter = deadLetter(this.task, record, error, destination, shape);
      const scope = this.replaceScope(flight, record);
      scope.outputs = [scope.trace === undefined ? letter : traced(letter, scope.trace, destination)];
      scope.onJoin = [() => environment.epoch.deadLettered++];
    } catch (refused) {
      this.halt(flight);
      environment.fail(errorOf(refused));
    }
  }

  private awaitDeadLetterTopic(flight: Flight, record: ConsumedRecord, error: Error, name: string): void {
    const { scope } = flight;
    flight.state = 'waiting';
    flight.retryAtMs = Number.POSITIVE_INFINITY;
    this.environment.destinations.lookUp(name).then(
      () => {
        if (flight.scope === scope && flight.inLine) this.writeDeadLetter(flight, record, error, name);
      },
      async (failed: unknown) => {
        if (mayPass(failed)) await sleep(this.environment.clock, lookUpPauseMs);
        if (flight.scope !== scope || !flight.inLine) return;
        if (mayPass(failed)) {
          this.awaitDeadLetterTopic(flight, record, error, name);
          return;
        }
        this.halt(flight);
        this.environment.fail(errorOf(failed));
      },
    );
  }

  /** The flight goes on with an empty scope: the record counts as processed, without effect. */
  private replaceScope(flight: Flight, record: ConsumedRecord | undefined): RecordScope {
    const scope = new RecordScope(
      this.host,
      record?.topic ?? '',
      record?.partition ?? this.task.partition,
      record?.offset ?? -1,
      record?.timestampMs ?? this.task.streamTimeMs,
      noHeaders,
      1,
      this.task.streamTimeMs,
      undefined,
    );
    scope.trace = flight.scope?.trace;
    flight.scope = scope;
    flight.state = 'settled';
    this.environment.wake();
    return scope;
  }

  /** The flight is tried again after the delay. */
  wait(flight: Flight, delayMs: number): void {
    flight.state = 'waiting';
    flight.retryAtMs = this.environment.clock.monotonicMs() + delayMs;
    this.environment.wakeAfter(delayMs);
  }

  /** The flight stays uncommitted, and nothing more is dispatched. */
  halt(flight: Flight): undefined {
    this.halted = true;
    flight.state = 'waiting';
    flight.retryAtMs = Number.POSITIVE_INFINITY;
  }
}
