/**
 * Runs the records and punctuations of one task, and joins what has ended into the open epoch.
 *
 * Invariants
 * 1. Scopes join in the order in which they were dispatched: the line's head first.
 * 2. With a concurrency above 1, at most one scope per key is in the line; with 1, at most one scope at all.
 * 3. A due punctuation stops dispatch until the line is empty, and then runs alone.
 * 4. The synchronous path awaits nothing and leaves the line empty.
 */
import { errorOf } from '../core/errors.js';
import { type StreamRecord, noHeaders, partitionName } from '../core/record.js';
import { dataMapKeyOf } from '../state/map-key.js';
import type { ConsumedRecord } from './broker.js';
import type { TaskEnvironment } from './environment.js';
import { decode } from './decode.js';
import { outputBytes } from './epoch.js';
import { type FailureCategory, categoryOf } from './failure.js';
import { FailureHandler, lookUpPauseMs, mayPass } from './failure-handler.js';
import { type Flight, newFlight, punctuationName } from './flight.js';
import type { Step } from './graph.js';
import type { Input } from './input.js';
import type { RecordOutcome, RecordTracer } from './hooks.js';
import { type Schedule, nextDue } from './schedule.js';
import { RecordScope, type ScopeHost, contextOf } from './scope.js';
import type { Task } from './task.js';

export class Dispatcher {
  private line: Flight[] = [];
  private readonly busyKeys = new Set<string>();
  private readonly failures: FailureHandler;
  private readonly tracer: RecordTracer | undefined;

  constructor(
    private readonly task: Task,
    private readonly environment: TaskEnvironment,
    private readonly host: ScopeHost,
  ) {
    this.failures = new FailureHandler(task, environment, host);
    this.tracer = environment.hooks.tracer;
  }

  /** Records and punctuations in hand that have not joined. */
  get inHand(): number {
    return this.line.length;
  }

  /** What scopes hold that have not joined, in bytes. */
  get bytesInHand(): number {
    let bytes = 0;
    for (const { scope } of this.line) bytes += scope?.outputs?.reduce((sum, output) => sum + outputBytes(output), 0) ?? 0;
    return bytes;
  }

  /** Something in hand may still join while nothing new is started; what waits for its next attempt is not tried again then. */
  get canDrain(): boolean {
    return this.line.length > 0 && this.line[0]?.state !== 'waiting';
  }

  get isHalted(): boolean {
    return this.failures.halted;
  }

  /** When a waiting record is due again, on the monotonic clock; Infinity when none waits. */
  get retryAtMs(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const flight of this.line) if (flight.state === 'waiting') earliest = Math.min(earliest, flight.retryAtMs);
    return earliest;
  }

  /** Ends every open scope: their later calls throw, their results are discarded. */
  abandon(reason: string): void {
    for (const flight of this.line) {
      flight.scope?.close(reason);
      flight.scope?.trace?.abandoned(reason);
      flight.inLine = false;
    }
    this.line = [];
    this.busyKeys.clear();
  }

  /** Processes up to `recordsMax` records; returns how many were started. With `drainOnly` nothing new is started. */
  process(recordsMax: number, drainOnly: boolean): number {
    if (this.line.length > 0) this.advanceLine(drainOnly);
    let started = 0;
    while (!drainOnly && !this.failures.halted && started < recordsMax) {
      if (this.line[0]?.state === 'settled') this.advanceLine(false);
      const schedule = this.duePunctuation();
      if (schedule !== undefined) {
        if (this.line.length > 0 || !this.environment.mayJoin(this.task)) break;
        this.punctuate(schedule);
        if (this.line.length > 0) break;
        continue;
      }
      if (!this.startNext()) break;
      started++;
    }
    return started;
  }

  private duePunctuation(): Schedule | undefined {
    const { schedules, streamTimeMs } = this.task;
    if (this.isStreamTimeDue) return schedules.due('streamTime', streamTimeMs)[0];
    if (this.environment.nowMs >= schedules.wallClockDueMs) return schedules.due('wallClock', this.environment.nowMs)[0];
    return undefined;
  }

  private get isStreamTimeDue(): boolean {
    return this.task.streamTimeMs >= this.task.schedules.streamTimeDueMs && this.task.sawRecord;
  }

  /** Nothing is in hand, and no punctuation is due at that wall-clock time. */
  isSettled(nowMs: number): boolean {
    return this.line.length === 0 && !this.isStreamTimeDue && nowMs < this.task.schedules.wallClockDueMs;
  }

  private startNext(): boolean {
    const input = this.task.nextInput();
    const record = input?.peek();
    if (input === undefined || record === undefined) return false;
    const limit = input.source.concurrency;
    if (this.line.length > 0) {
      const head = this.line[0]?.work;
      if (this.line.length >= limit || (head !== undefined && (!('input' in head) || head.input.source.concurrency === 1))) return false;
    }
    if (!this.environment.admits(this.task)) return false;
    let ownKey: string | undefined;
    if (limit > 1) {
      ownKey = record.key === null ? '' : dataMapKeyOf(record.key);
      if (this.busyKeys.has(ownKey)) return false;
      this.busyKeys.add(ownKey);
    }
    const { read } = input;
    input.shift();
    this.start(newFlight({ input, record }, read, ownKey));
    return true;
  }

  /** Runs a flight from its beginning, for the first time or again. */
  private start(flight: Flight): void {
    if ('schedule' in flight.work) this.startPunctuation(flight, flight.work.schedule, flight.work.atMs);
    else this.startRecord(flight, flight.work.input, flight.work.record);
  }

  private startRecord(flight: Flight, input: Input, record: ConsumedRecord): void {
    const { failures } = this.environment;
    const attempt = failures.isEmpty ? 1 : failures.of(partitionName(record), record.offset) + 1;
    // What could not be read is tried again; a timestamp that was told once stays.
    const read = flight.read?.failure === undefined || attempt === 1 ? flight.read : input.readAgain(record);
    flight.read = read;
    const timestampMs = read?.timestampMs ?? record.timestampMs;
    const streamTimeMs = timestampMs > this.task.streamTimeMs ? timestampMs : this.task.streamTimeMs;
    const { topic, partition, offset, headers } = record;
    const scope = new RecordScope(this.host, topic, partition, offset, timestampMs, headers, attempt, streamTimeMs, flight.ownKey);
    flight.scope = scope;
    flight.state = 'running';
    flight.rest = undefined;
    if (this.tracer !== undefined) {
      scope.trace = flight.trace ?? this.tracer.trace(record, this.task.id, attempt);
      flight.trace = undefined;
    }
    let decoded: StreamRecord<unknown, unknown>;
    try {
      if (read?.failure !== undefined) throw read.failure;
      if (read !== undefined && read.timestampMs < 0) {
        this.passOver(flight, scope, input, read.timestampMs);
        return;
      }
      // Whoever has failed may have changed what the first attempt was given.
      decoded =
        attempt === 1
          ? (read?.decoded ?? decode(input.source.topic, record, timestampMs))
          : decode(input.source.topic, record, timestampMs);
    } catch (error) {
      this.failed(flight, errorOf(error), 'deserialization', undefined);
      return;
    }
    const refusal = this.environment.refusals.of(record);
    if (refusal !== undefined) {
      this.failed(flight, refusal, 'production', undefined);
      return;
    }
    scope.keepKey(decoded.key, record.key, input.source.topic.key);
    const readers = input.source.children;
    const [reader] = readers;
    if (readers.length > 1 || reader === undefined || scope.trace !== undefined) this.runReaders(flight, scope, readers, decoded, 0);
    else this.runReader(flight, scope, reader, decoded);
  }

  /** A record without a usable timestamp goes through no operator. */
  private passOver(flight: Flight, scope: RecordScope, input: Input, timestampMs: number): void {
    input.noteDropped(this.environment.logger, timestampMs);
    scope.drop(undefined, 'invalidTimestamp');
    this.settle(flight);
  }

  /** As `runReaders`, for the one reader that most topics have. */
  private runReader(flight: Flight, scope: RecordScope, reader: Step, record: StreamRecord<unknown, unknown>): void {
    this.task.scopeInHand = scope;
    try {
      scope.run(reader, record, undefined);
    } catch (error) {
      this.task.scopeInHand = undefined;
      this.failed(flight, errorOf(error), undefined, scope.step);
      return;
    }
    this.task.scopeInHand = undefined;
    this.haveRun(flight, scope);
  }

  /** Readers of one topic run one after another, so that none sees what an asynchronous one before it may still roll back. */
  private runReaders(
    flight: Flight,
    scope: RecordScope,
    readers: readonly Step[],
    record: StreamRecord<unknown, unknown>,
    from: number,
  ): void {
    this.runSteps(flight, scope, () => {
      for (let index = from; index < readers.length; index++) {
        const reader = readers[index];
        if (reader === undefined) break;
        scope.run(reader, record, readers.length > 1 ? reader : undefined);
        if (scope.pending === 0 || index + 1 === readers.length) continue;
        flight.rest = () => this.runReaders(flight, scope, readers, record, index + 1);
        break;
      }
    });
  }

  private punctuate(schedule: Schedule): void {
    const atMs = schedule.type === 'streamTime' ? this.task.streamTimeMs : this.environment.nowMs;
    this.start(newFlight({ schedule, atMs }, undefined, undefined));
  }

  private startPunctuation(flight: Flight, schedule: Schedule, atMs: number): void {
    const attempt = this.environment.failures.of(punctuationName(this.task.id, schedule), schedule.dueMs) + 1;
    const scope = new RecordScope(this.host, '', this.task.partition, -1, atMs, noHeaders, attempt, this.task.streamTimeMs, undefined);
    flight.scope = scope;
    flight.state = 'running';
    const refusal = this.environment.refusals.of({
      topic: punctuationName(this.task.id, schedule),
      partition: this.task.partition,
      offset: -1,
    });
    if (refusal !== undefined) {
      this.failed(flight, refusal, 'production', schedule.step);
      return;
    }
    this.runSteps(flight, scope, () => {
      scope.step = schedule.step;
      const result = schedule.callback(atMs, contextOf(scope, schedule.step));
      if (result !== undefined && typeof result.then === 'function') scope.track(schedule.step, result);
    });
  }

  private runSteps(flight: Flight, scope: RecordScope, run: () => void): void {
    this.task.scopeInHand = scope;
    try {
      if (scope.trace === undefined) run();
      else scope.trace.run(run);
    } catch (error) {
      this.failed(flight, errorOf(error), undefined, scope.step);
      return;
    } finally {
      this.task.scopeInHand = undefined;
    }
    this.haveRun(flight, scope);
  }

  private haveRun(flight: Flight, scope: RecordScope): void {
    if (scope.failure !== undefined) return;
    if (scope.unresolvedTopic !== undefined) this.awaitTopic(flight, scope);
    else if (scope.pending > 0) this.enterLine(flight);
    else this.settle(flight);
  }

  /** Everything of the flight has run: it joins at once when nothing is before it. */
  private settle(flight: Flight): void {
    flight.state = 'settled';
    if (this.line.length === 0) {
      this.finish(flight);
      return;
    }
    this.enterLine(flight);
  }

  private enterLine(flight: Flight): void {
    if (flight.inLine) return;
    flight.inLine = true;
    this.line.push(flight);
  }

  /** Joins a settled flight that is first in order. False when it has to wait for more. */
  private finish(flight: Flight): boolean {
    const scope = flight.scope;
    if (scope === undefined) return false;
    // Records before it may have joined while it was in hand.
    if (this.task.streamTimeMs > scope.streamTimeMs) scope.streamTimeMs = this.task.streamTimeMs;
    if (scope.deferred !== undefined) {
      flight.state = 'running';
      this.task.scopeInHand = scope;
      try {
        if (scope.trace === undefined) scope.runDeferred();
        else scope.trace.run(() => scope.runDeferred());
      } catch (error) {
        this.failed(flight, errorOf(error), undefined, scope.step);
        return false;
      } finally {
        this.task.scopeInHand = undefined;
      }
      if (scope.unresolvedTopic !== undefined) {
        this.awaitTopic(flight, scope);
        return false;
      }
      if (scope.pending > 0) {
        this.enterLine(flight);
        return false;
      }
      flight.state = 'settled';
    }
    this.join(flight, scope);
    return true;
  }

  private join(flight: Flight, scope: RecordScope): void {
    if (flight.ownKey !== undefined) this.busyKeys.delete(flight.ownKey);
    if ('input' in flight.work) {
      const { input, record } = flight.work;
      this.task.joinRecord(scope, input, record.offset);
    } else {
      const { schedule, atMs } = flight.work;
      this.environment.failures.forgetBefore(punctuationName(this.task.id, schedule), Number.POSITIVE_INFINITY);
      if (schedule.dueMs !== Number.POSITIVE_INFINITY) this.task.schedules.setDue(schedule, nextDue(schedule, atMs));
      this.task.joinPunctuation(scope, punctuationName(this.task.id, schedule));
    }
  }

  private advanceLine(drainOnly: boolean): void {
    const nowMs = this.environment.clock.monotonicMs();
    // While draining for a close, what waits for its next attempt is not tried again: it stays uncommitted.
    const due = drainOnly ? [] : this.line.filter((flight) => flight.state === 'waiting' && flight.retryAtMs <= nowMs);
    for (const flight of due) this.start(flight);
    while (this.line[0]?.state === 'settled') {
      const head = this.line[0];
      // A drained task is given away, or the worker ends: what is done joins whatever else the epoch holds.
      if (!drainOnly && !this.environment.mayJoin(this.task)) break;
      if (!this.finish(head)) break;
      this.line.shift();
    }
  }

  /** Called by a scope whose asynchronous work has ended. */
  settled(scope: RecordScope): void {
    const flight = this.line.find((each) => each.scope === scope);
    if (flight === undefined) return;
    if (scope.failure !== undefined) this.failed(flight, scope.failure.error, undefined, scope.failure.step);
    else if (scope.unresolvedTopic !== undefined) this.awaitTopic(flight, scope);
    else this.goOn(flight);
    this.environment.wake();
  }

  private goOn(flight: Flight): void {
    const { rest } = flight;
    flight.rest = undefined;
    if (rest === undefined) flight.state = 'settled';
    else rest();
  }

  /** The record is processed again once the topic's partitions are known; no attempt is counted. */
  private awaitTopic(flight: Flight, scope: RecordScope): void {
    const topic = scope.unresolvedTopic ?? '';
    scope.close('a topic is being looked up');
    scope.trace?.repeated('a topic is being looked up');
    flight.trace = scope.trace;
    flight.state = 'waiting';
    flight.retryAtMs = Number.POSITIVE_INFINITY;
    this.enterLine(flight);
    this.environment.destinations.lookUp(topic).then(
      () => {
        flight.retryAtMs = 0;
        this.environment.wake();
      },
      (error: unknown) => {
        if (flight.scope !== scope || !this.line.includes(flight)) return;
        // That the cluster does not answer is not the record's fault.
        if (mayPass(error)) this.failures.wait(flight, lookUpPauseMs);
        else this.failed(flight, errorOf(error), 'production', scope.step);
        this.environment.wake();
      },
    );
  }

  private failed(flight: Flight, error: Error, known: FailureCategory | undefined, step: Step | undefined): void {
    const scope = flight.scope;
    if (scope?.unresolvedTopic !== undefined && known !== 'production') {
      this.awaitTopic(flight, scope);
      return;
    }
    scope?.close('failed');
    this.enterLine(flight);
    const category = known ?? categoryOf(error);
    let outcome: RecordOutcome | undefined;
    const react = (): void => {
      // Shutting down, services that the handler needs may be gone already: no policy, the record stays uncommitted.
      outcome = this.environment.isStopping ? this.failures.halt(flight) : this.failures.handle(flight, error, category, step);
    };
    const trace = scope?.trace;
    if (trace === undefined) react();
    else trace.run(react);
    trace?.failed(error, outcome);
  }
}
