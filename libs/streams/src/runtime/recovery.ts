/**
 * The two ways back from a commit that failed; there is no third.
 *
 * Before the commit was called, or where the commit itself says that an abort is required: abort. Once the abort has succeeded the epoch did
 * not happen, and all tasks go back to their last confirmed one. In every other case the producer is replaced: its successor settles the old
 * transaction either way, buffers are dropped, stable offsets are read again and the changelogs' tails are replayed. No verdict is needed,
 * and none is ever drawn from an error of the commit.
 */
import { sleep } from '../core/clock.js';
import { TallyError, errorOf } from '../core/errors.js';
import type { CommitCycle, FailedCommit } from './commit-cycle.js';
import type { ChangelogTopic } from './commit.js';
import type { TaskEnvironment } from './environment.js';
import { EpochBound } from './epoch-bound.js';
import type { ProducerSession } from './producer-session.js';
import type { RefusedPartition } from './refusals.js';
import type { Task } from './task.js';
import type { TaskManager } from './task-manager.js';

/** How long an abort is repeated before the producer is replaced, in milliseconds. */
const abortBoundMs = 10_000;
/** Pauses after failures that are no record's fault. */
const backoffMs = 100;
const backoffMaxMs = 2_000;
/** Two fencings of young transactions within this time are a rival's, in milliseconds. */
const rivalWindowMs = 600_000;

export class Recovery {
  /** How many aborts for no record's fault followed one another without a commit between them. */
  private troubles = 0;
  readonly epochBound = new EpochBound();
  private fencedYoungAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly environment: TaskEnvironment,
    private readonly cycle: CommitCycle,
    private readonly tasks: TaskManager,
    private readonly session: ProducerSession | undefined,
    private readonly changelogOf: (store: string) => ChangelogTopic | undefined,
  ) {}

  /** A commit succeeded: earlier trouble is over. */
  succeeded(): void {
    this.troubles = 0;
    this.epochBound.kept(this.environment.options.bufferBytesMax);
  }

  /** Recovers from the failure of the cycle, if there is one. Runs under the worker's lock, with processing suspended. */
  async run(): Promise<void> {
    const { failure } = this.cycle;
    if (failure === undefined) return;
    const { error } = failure;
    if (error.recovery === 'stop') {
      this.environment.fail(error.cause);
      return;
    }
    if (this.wasTooSlow(failure)) this.epochBound.missed(failure.frozen.bytes);
    // A damaged task cannot be rolled back, only closed and opened anew.
    const isDamaged = this.tasks.running.some((task) => task.isDamaged);
    if (error.recovery === 'abort' && !isDamaged && (await this.abort(failure))) return;
    await this.replace(failure);
  }

  /** It held something, and its transaction grew old. */
  private wasTooSlow({ error, frozen }: FailedCommit): boolean {
    return frozen.bytes > 0 && error.refused.length === 0 && error.transactionAgeMs >= this.environment.options.transactionTimeoutMs / 2;
  }

  /** False when the abort did not succeed. */
  private async abort(failure: FailedCommit): Promise<boolean> {
    const { environment } = this;
    try {
      await this.session?.abort(Math.min(abortBoundMs, environment.stopByMs - environment.clock.monotonicMs()));
    } catch (error) {
      environment.logger.warn(`An abort did not succeed, the producer is replaced: ${errorOf(error).message}`);
      return false;
    }
    environment.counters.transactionsAborted++;
    environment.hooks.aborted?.(failure.error.cause);
    environment.logger.warn(`A transaction was aborted and is processed again: ${failure.error.message}`);
    const [refused] = failure.error.refused;
    if (refused !== undefined) {
      const { tasks, epoch } = failure.frozen;
      const beyond = environment.refusals.refused(tasks, this.writersOf(failure, refused), refused, epoch.letterTasks);
      if (beyond !== undefined) {
        environment.fail(beyond);
        return true;
      }
    }
    // Reset first: a task that has not committed its first offsets enters the new epoch with them.
    this.cycle.reset();
    await this.tasks.rollBack();
    const isRecords = refused !== undefined && failure.frozen.tasks.some(({ units }) => units > 0);
    if (!isRecords && !isEcho(failure.error.cause)) await this.backOff();
    return true;
  }

  /** The first time nothing is waited for: after a rebalance the very next epoch may go through. */
  private async backOff(): Promise<void> {
    this.troubles++;
    if (this.troubles > 1) await sleep(this.environment.clock, Math.min(backoffMs * 2 ** this.troubles, backoffMaxMs));
  }

  /** Tasks that wrote to the partition which the broker named. */
  private writersOf({ frozen }: FailedCommit, refused: RefusedPartition): ReadonlySet<Task> {
    const writers = new Set(frozen.epoch.writersOf(refused.topic, refused.partition));
    for (const { task } of frozen.tasks) {
      if (task.partition !== refused.partition) continue;
      if (task.subTopology.stores.some((store) => this.changelogOf(store)?.name === refused.topic)) writers.add(task);
    }
    return writers.size > 0 ? writers : new Set(frozen.tasks.map(({ task }) => task));
  }

  private async replace({ error }: FailedCommit): Promise<void> {
    const { environment, session } = this;
    if (session === undefined) {
      const slots = await this.tasks.closeForReplacement();
      this.cycle.reset();
      this.tasks.reopen(slots);
      return;
    }
    if (this.isRival(error.cause, error.transactionAgeMs)) {
      environment.fail(
        new TallyError({
          code: 'TRANSACTIONAL_ID_IN_USE',
          kind: 'invalid',
          message:
            `Another process uses the transactional id '${session.options.transactionalId}' and fences this one again and again. ` +
            `Do two workers share a copied state directory? Give each worker a directory of its own, and delete the copy.`,
        }),
      );
      return;
    }
    environment.counters.producersReplaced++;
    environment.hooks.producerReplaced?.(error.cause);
    environment.logger.warn(`The transactional producer is replaced: ${error.message}`);
    const slots = await this.tasks.closeForReplacement();
    this.cycle.reset();
    if (environment.isStopping) {
      // Whoever has the partitions next settles the transaction, or the broker's time-out does.
      await session.close();
      return;
    }
    try {
      await session.replace(() => !environment.isStopping);
    } catch (failed) {
      environment.fail(errorOf(failed));
      return;
    }
    this.tasks.reopen(slots);
  }

  /**
   * Fenced has several causes that look alike, a suspended process among them: that one's transaction is old. A young one is fenced only by
   * another process with the same id; twice within a while, and the two would fence each other for ever. Of the kind `fenced` is also a
   * producer that broke in other ways, after which as little is known of its transaction: nobody need have fenced it.
   */
  private isRival(cause: Error, transactionAgeMs: number): boolean {
    if (!(cause instanceof TallyError) || cause.code !== 'FENCED') return false;
    if (transactionAgeMs >= this.environment.options.transactionTimeoutMs / 2) return false;
    if (this.session?.takeStray() === true) return false;
    const nowMs = this.environment.clock.monotonicMs();
    const again = nowMs - this.fencedYoungAtMs < rivalWindowMs;
    this.fencedYoungAtMs = nowMs;
    return again;
  }
}

/** The transaction after a refused batch is refused once more, whatever is in it; the same set is simply repeated. */
function isEcho(cause: Error): boolean {
  return cause instanceof TallyError && cause.code === 'SEQUENCE_ECHO';
}
