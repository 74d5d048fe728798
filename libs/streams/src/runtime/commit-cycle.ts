/**
 * Opens epochs, freezes them, and lets the committer commit one at a time while the next is processed.
 *
 * Invariants
 * 1. One commit at a time; after one that failed, none starts before the recovery has reset the cycle.
 * 2. Writes are confirmed only when their commit has succeeded, and flushed only with positions that this commit read.
 * 3. Nothing is awaited between a confirmation and the start of its flush, except by a test that holds it there; then it is checked again
 *    that the task is still the same.
 */
import { assert } from '../core/assert.js';
import { TallyError, errorOf } from '../core/errors.js';
import { CommitFailedError, type Committer, type FlushPositions, type FrozenEpoch, type Recovery } from './commit.js';
import type { TaskEnvironment } from './environment.js';
import { Epoch } from './epoch.js';
import type { FrozenTask, Task } from './task.js';

export interface FailedCommit {
  readonly error: CommitFailedError;
  readonly frozen: FrozenEpoch;
}

/** After its offsets are in, a commit that takes longer than this does not hold up a revocation, in milliseconds. */
const hungAfterMs = 2_000;

export class CommitCycle {
  /** The open epoch. */
  open = new Epoch(1);
  failure: FailedCommit | undefined;
  /** A task of the open epoch was closed while a commit hung: the open epoch must not be committed. */
  openIsSpoilt = false;
  lastStartMs: number;
  private inFlight: Promise<void> | undefined;
  private committingBytes = 0;
  private readonly flushes = new Set<Promise<void>>();

  constructor(
    private readonly environment: TaskEnvironment,
    private readonly committer: Committer,
    private readonly onConfirmed: () => void,
    private readonly onFailed: () => void,
  ) {
    this.lastStartMs = environment.clock.monotonicMs();
  }

  get isCommitting(): boolean {
    return this.inFlight !== undefined;
  }

  /** Outputs in memory, of the open and the committing epoch. */
  get outputBytes(): number {
    return this.open.outputBytes + this.committingBytes;
  }

  /** Freezes the open epoch and starts its commit. Tasks in `flushAnyway` are flushed whether it is time or not. */
  start(flushAnyway: ReadonlySet<Task> = new Set()): void {
    assert(
      this.inFlight === undefined && this.failure === undefined && !this.openIsSpoilt,
      'one commit at a time, and none before a recovery',
    );
    const epoch = this.open;
    const tasks = [...epoch.tasks].filter((task) => !task.isClosed).map((task) => task.freeze());
    this.open = new Epoch(epoch.number + 1);
    this.lastStartMs = this.environment.clock.monotonicMs();
    if (tasks.length === 0) return;
    this.committingBytes = epoch.outputBytes;
    const toFlush = tasks
      .map(({ task }) => task)
      .filter((task) => !task.state.isWriting && (flushAnyway.has(task) || this.isFlushDue(task)));
    const bytes = tasks.reduce((sum, { task }) => sum + task.state.bytes.committing, epoch.outputBytes);
    const frozen: FrozenEpoch = { epoch, tasks, toFlush, bytes };
    this.inFlight = this.committer.commit(frozen).then(
      (positions) => this.ended(() => this.confirmed(frozen, positions)),
      (error: unknown) => this.ended(() => this.failed(frozen, error)),
    );
  }

  private ended(act: () => void): void {
    this.inFlight = undefined;
    this.committingBytes = 0;
    try {
      act();
    } catch (error) {
      this.environment.fail(errorOf(error));
    }
    this.environment.wake();
  }

  private isFlushDue(task: Task): boolean {
    const { stateFlushIntervalMs } = this.environment.options;
    return this.environment.isNearlyFull || this.environment.clock.monotonicMs() - task.lastFlushAtMs >= stateFlushIntervalMs;
  }

  private confirmed(frozen: FrozenEpoch, positions: FlushPositions): void {
    const { counters, statistics, hooks, refusals, clock } = this.environment;
    for (const each of frozen.tasks) each.task.confirm(each);
    counters.records += frozen.epoch.records;
    for (const drops of frozen.epoch.drops.values()) counters.recordsDropped += drops;
    counters.recordsSkipped += frozen.epoch.skipped;
    counters.recordsDeadLettered += frozen.epoch.deadLettered;
    counters.transactionsCommitted++;
    statistics.confirmed(frozen.epoch, frozen.tasks);
    refusals.confirmed(frozen.tasks);
    hooks.committed?.({
      epoch: frozen.epoch.number,
      records: frozen.epoch.records,
      outputs: frozen.epoch.outputs,
      durationMs: clock.monotonicMs() - this.lastStartMs,
      oldestMs: frozen.epoch.records === 0 ? undefined : frozen.epoch.oldestMs,
    });
    this.onConfirmed();
    for (const each of frozen.tasks) this.flushAfter(each, positions);
    if (!this.openIsSpoilt) return;
    const cause = new TallyError({
      code: 'EPOCH_SPOILT',
      kind: 'abortable',
      message: 'A task was closed while a commit hung; what had been processed since is processed again.',
    });
    this.failed({ epoch: this.open, tasks: [], toFlush: [], bytes: 0 }, new CommitFailedError('abort', cause, [], 0));
  }

  private flushAfter(each: FrozenTask, positions: FlushPositions): void {
    const { task } = each;
    const read = positions.get(task);
    if (read === undefined || task.isClosed || task.state.isWriting) return;
    const flush = this.flush(each, read).finally(() => this.flushes.delete(flush));
    this.flushes.add(flush);
  }

  private async flush(
    { task, wroteState }: FrozenTask,
    positions: ReadonlyMap<string, { offset: number; dateMs: number; topicId: string }>,
  ): Promise<void> {
    const { hooks, clock } = this.environment;
    const epochNumber = this.open.number - 1;
    const startedMs = clock.monotonicMs();
    task.lastFlushAtMs = startedMs;
    const { incarnation } = task;
    try {
      const held = hooks.commitPoint?.('beforeFlush', epochNumber);
      if (held !== undefined) await held;
      if (task.isClosed || task.incarnation !== incarnation) return;
      if (!wroteState) task.positionBehind = false;
      const bytes = task.state.bytes.committed;
      await task.state.flush(positions, { onStep: () => hooks.commitPoint?.('duringFlush', epochNumber) });
      hooks.flushed?.(task.id, bytes, clock.monotonicMs() - startedMs);
      await hooks.commitPoint?.('afterFlush', epochNumber);
    } catch (error) {
      if (task.isClosed) return;
      if (error instanceof TallyError && error.code === 'STATE_CORRUPT') this.environment.stateDamaged(task, error);
      else this.environment.fail(errorOf(error));
    }
    this.environment.wake();
  }

  private failed(frozen: FrozenEpoch, error: unknown): void {
    const failed = error instanceof CommitFailedError ? error : new CommitFailedError('stop', errorOf(error), [], 0);
    this.failure = { error: failed, frozen };
    this.onFailed();
  }

  /** A commit failed, or the open epoch may not be committed: nothing is processed until the recovery has run. */
  get isSuspended(): boolean {
    return this.failure !== undefined || this.openIsSpoilt;
  }

  /** Declares the open epoch void; a recovery follows. */
  abandonOpen(cause: Error, recovery: Recovery = 'abort'): void {
    assert(this.inFlight === undefined, 'the open epoch is abandoned while another one is committing');
    if (this.failure === undefined)
      this.failed({ epoch: this.open, tasks: [], toFlush: [], bytes: 0 }, new CommitFailedError(recovery, cause, [], 0));
  }

  /** Resolves when no commit is under way. */
  async settled(): Promise<void> {
    while (this.inFlight !== undefined) await this.inFlight;
  }

  /** As `settled`, but a commit that hangs after its offsets are in is not waited for. */
  async settledOrHung(): Promise<void> {
    if (this.inFlight === undefined) return;
    const { inFlight } = this;
    await Promise.race([inFlight, this.committer.offsetsIn]);
    let cancel: () => void = () => {};
    const hung = new Promise<void>((resolve) => {
      cancel = this.environment.clock.after(hungAfterMs, resolve);
    });
    await Promise.race([inFlight, hung]);
    cancel();
  }

  async flushed(): Promise<void> {
    while (this.flushes.size > 0) await Promise.all(this.flushes);
  }

  /** Starts anew after a recovery: the open epoch is empty. */
  reset(): void {
    this.open = new Epoch(this.open.number + 1);
    this.failure = undefined;
    this.openIsSpoilt = false;
  }
}
