/**
 * The commit: the only place that makes an epoch happen.
 *
 * Exactly-once, step by step (the order is the point; each step says what breaks without it):
 * 1. The epoch is frozen: every task with a write, an output or a moved position brings the positions of *all* its inputs. An epoch without
 *    an offset is never committed, for offsets are what fences.
 * 2. Where a flush is to follow, the last stable offset of the task's changelog partitions is asked for. The answer is there before step 5
 *    is called: then the success of step 4 proves that no one else wrote behind it. Asked after the commit, it might step over a
 *    successor's writes.
 * 3. Outputs, and one changelog record per dirty entry, are produced.
 * 4. The offsets are sent with the consumer's group metadata; a zombie is refused here.
 * 5. The transaction is committed. When the answer is not known, the same call is repeated; no error of it is taken as proof of failure.
 * 6. Only now are the writes committed. The caller confirms them, and may flush them with the positions of step 2.
 *
 * At-least-once keeps changelog and offsets in the transaction and flushes its outputs between 4 and 5: the fence comes first, the outputs
 * still precede the offsets. Without stores it needs no transaction. At-most-once has produced its outputs before, for its offsets were
 * committed before the records were processed.
 */
import { assert } from '../core/assert.js';
import { type Clock, sleep } from '../core/clock.js';
import { TallyError, errorOf } from '../core/errors.js';
import { type TopicPartition, noHeaders, partitionName } from '../core/record.js';
import type { KeyVersions } from '../state/key-versions.js';
import { KeyScratch } from '../state/map-key.js';
import type { ChangelogPosition } from '../state/task-state.js';
import {
  BrokerError,
  type BrokerAdmin,
  type DeliveryFailure,
  type GroupConsumer,
  type OffsetToCommit,
  type OutputProducer,
  type RecordSender,
} from './broker.js';
import type { Epoch, OutputRecord } from './epoch.js';
import type { CommitPoint, Hooks, Logger } from './hooks.js';
import type { ResolvedOptions } from './options.js';
import type { ProducerSession } from './producer-session.js';
import type { RefusedPartition } from './refusals.js';
import type { FrozenTask, Task } from './task.js';

export interface FrozenEpoch {
  readonly epoch: Epoch;
  readonly tasks: readonly FrozenTask[];
  /** Tasks whose committed writes are to be flushed afterwards. */
  readonly toFlush: readonly Task[];
  /** Its outputs and writes. */
  readonly bytes: number;
}

/** Positions by store name, for the flush of each task. */
export type FlushPositions = ReadonlyMap<Task, ReadonlyMap<string, ChangelogPosition>>;

/** Which way back from a commit that failed. `stop`: a person has to act. */
export type Recovery = 'abort' | 'replace' | 'stop';

export class CommitFailedError extends Error {
  override readonly name = 'CommitFailedError';

  constructor(
    readonly recovery: Recovery,
    override readonly cause: Error,
    /** What the broker refused, by partition. */
    readonly refused: readonly RefusedPartition[],
    readonly transactionAgeMs: number,
  ) {
    super(cause.message);
  }
}

/** A store's position in the making: it follows from the end of a partition, and from when that was asked for. */
interface WantedPosition {
  readonly task: Task;
  readonly store: string;
  readonly at: TopicPartition;
  readonly positionAt: (end: number, dateMs: number) => ChangelogPosition;
}

export interface ChangelogTopic {
  readonly name: string;
  readonly topicId: string;
}

/** Pause while the producer's queue is full, and between attempts, in milliseconds. */
const queuePauseMs = 2;
const retryDelayMs = 100;

export class Committer {
  /** Resolves when the offsets of the commit under way are in the transaction, or the commit has ended. */
  offsetsIn: Promise<void> = Promise.resolve();
  private offsetsAreIn: () => void = () => {};
  private readonly keys = new KeyScratch();

  constructor(
    private readonly options: ResolvedOptions,
    private readonly clock: Clock,
    private readonly hooks: Hooks,
    private readonly logger: Logger,
    private readonly admin: BrokerAdmin,
    /** Absent for at-least-once without stores. */
    private readonly session: ProducerSession | undefined,
    /** Present for the weaker guarantees. */
    private readonly outputs: OutputProducer | undefined,
    private readonly consumer: GroupConsumer,
    private readonly changelogOf: (store: string) => ChangelogTopic | undefined,
    /** On the monotonic clock: when a graceful stop must be over; Infinity while none is under way. */
    private readonly stopByMs: () => number,
  ) {}

  /** Hands outputs of the open epoch to the producer while its transaction is open, so that the commit has less to do. */
  drain(epoch: Epoch): void {
    if (epoch.isBlocked) return;
    try {
      if (this.options.guarantee === 'exactly-once') this.session?.drain(epoch);
      else if (this.options.guarantee === 'at-most-once') this.drainTo(this.outputs, epoch);
    } catch {
      // The commit meets the same record again, and is where a refusal is dealt with.
      epoch.isBlocked = true;
    }
  }

  private drainTo(sender: RecordSender | undefined, epoch: Epoch): void {
    assert(sender !== undefined, 'a weaker guarantee has its output producer');
    for (let output = epoch.nextOutput; output !== undefined && send(sender, output); output = epoch.nextOutput) epoch.passOutput();
  }

  /**
   * Commits a frozen epoch.
   * @returns the positions with which its writes may be flushed.
   * @throws CommitFailedError
   */
  async commit(frozen: FrozenEpoch): Promise<FlushPositions> {
    this.offsetsIn = new Promise((resolve) => {
      this.offsetsAreIn = resolve;
    });
    try {
      return this.session === undefined ? await this.commitWithoutTransaction(frozen) : await this.commitTransaction(frozen, this.session);
    } catch (error) {
      throw error instanceof CommitFailedError ? error : this.failed(error, 'abort');
    } finally {
      this.offsetsAreIn();
    }
  }

  private async commitTransaction(frozen: FrozenEpoch, session: ProducerSession): Promise<FlushPositions> {
    const { epoch } = frozen;
    const offsets = frozen.tasks.flatMap((each) => each.offsets);
    assert(offsets.length > 0, 'an epoch without offsets is never committed');
    await this.point('frozen', epoch);
    const positions = this.readPositions(frozen.tasks.filter(({ task }) => frozen.toFlush.includes(task)));
    if (this.options.guarantee === 'exactly-once') await this.produceOutputs(session, epoch);
    if (this.options.guarantee === 'at-most-once') await this.finishOutputs(epoch);
    await this.produceChangelog(frozen, session);
    await this.point('produced', epoch);
    this.throwOnFailures(session.producer);
    await this.point('beforeOffsets', epoch);
    await this.sendOffsets(offsets, session);
    this.offsetsAreIn();
    await this.point('afterOffsets', epoch);
    if (this.options.guarantee === 'at-least-once') await this.deliverOutputs(epoch);
    const read = await positions;
    await this.point('beforeCommit', epoch);
    await this.endTransaction(session);
    await this.point('afterCommit', epoch);
    return read;
  }

  /** Never rejects: without an answer the flush has to wait for a later commit. */
  private async readPositions(frozen: readonly FrozenTask[]): Promise<FlushPositions> {
    const wanted = frozen.flatMap((each) => [...each.task.state.stores.keys()].flatMap((store) => this.wantedPosition(each, store) ?? []));
    const positions = new Map<Task, Map<string, ChangelogPosition>>(frozen.map(({ task }) => [task, new Map()]));
    if (wanted.length === 0) return positions;
    // The date is from before the read: what it says of the offset must not be younger than the offset.
    const dateMs = this.clock.nowMs();
    try {
      const places = [...new Map(wanted.map(({ at }) => [partitionName(at), at])).values()];
      const ends = new Map((await this.admin.listOffsets(places, 'lastStable')).map((each) => [partitionName(each), each.offset]));
      for (const { task, store, at, positionAt } of wanted) {
        const end = ends.get(partitionName(at));
        if (end === undefined) positions.delete(task);
        else positions.get(task)?.set(store, positionAt(end, dateMs));
      }
      return positions;
    } catch (error) {
      this.logger.debug(`Changelog positions cannot be read, the flush waits: ${errorOf(error).message}`);
      return new Map();
    }
  }

  /** Which partition's end is asked for, and what position follows from it. */
  private wantedPosition(frozen: FrozenTask, store: string): WantedPosition | undefined {
    const { task } = frozen;
    const changelog = this.changelogOf(store);
    if (changelog !== undefined) {
      const at = { topic: changelog.name, partition: task.partition };
      return { task, store, at, positionAt: (offset, dateMs) => ({ offset, dateMs, topicId: changelog.topicId }) };
    }
    const copied = task.copiedInput(store);
    if (copied === undefined) return undefined;
    const offset = frozen.positions[task.inputs.indexOf(copied)] ?? 0;
    const { topicId } = copied;
    // What lies behind the position is young only where the position was the end: the task may be far behind its topic.
    const before = task.state.position(store)?.dateMs ?? 0;
    return { task, store, at: copied, positionAt: (end, dateMs) => ({ offset, dateMs: offset >= end ? dateMs : before, topicId }) };
  }

  private async produceOutputs(session: ProducerSession, epoch: Epoch): Promise<void> {
    session.drain(epoch);
    while (epoch.nextOutput !== undefined) {
      await sleep(this.clock, queuePauseMs);
      this.throwOnFailures(session.producer);
      session.drain(epoch);
    }
  }

  private async produceChangelog(frozen: FrozenEpoch, session: ProducerSession): Promise<void> {
    const timestampMs = this.clock.nowMs();
    for (const { task } of frozen.tasks) {
      // Its offsets without its writes would lose them.
      if (task.isClosed)
        throw new TallyError({
          code: 'TASK_CLOSED',
          kind: 'abortable',
          message: `Task ${task.id} was closed before its epoch was produced.`,
        });
      for (const { name, committing } of task.state.dirtyStores()) {
        const changelog = this.changelogOf(name);
        if (changelog === undefined) continue;
        for (let index = 0; index < committing.length; index++) {
          const { mapKey, committing: value } = committing[index] as KeyVersions;
          if (value === undefined) continue;
          while (!session.produce(changelog.name, task.partition, this.keys.ofMapKey(mapKey), value, timestampMs, noHeaders)) {
            await sleep(this.clock, queuePauseMs);
            this.throwOnFailures(session.producer);
          }
        }
      }
    }
  }

  private async sendOffsets(offsets: readonly OffsetToCommit[], session: ProducerSession): Promise<void> {
    const until = this.clock.monotonicMs() + this.options.transactionTimeoutMs / 2;
    for (;;) {
      try {
        session.noteUse();
        await session.producer.sendOffsets(offsets, this.consumer);
        return;
      } catch (error) {
        if (kindOf(error) !== 'retriable' || this.clock.monotonicMs() >= until) throw this.failed(error, 'abort');
        await sleep(this.clock, retryDelayMs);
      }
    }
  }

  /** At-least-once: what the outputs' producer has not had acknowledged by then is repeated. */
  private async deliverOutputs(epoch: Epoch): Promise<void> {
    const { outputs } = this;
    assert(outputs !== undefined, 'a weaker guarantee has its output producer');
    this.drainTo(outputs, epoch);
    while (epoch.nextOutput !== undefined) {
      await sleep(this.clock, queuePauseMs);
      this.drainTo(outputs, epoch);
    }
    try {
      await outputs.flush(this.options.transactionTimeoutMs / 2);
    } catch (error) {
      throw this.failed(error, 'abort');
    }
    this.throwOnFailures(outputs);
  }

  /** At-most-once: offsets of what made these outputs are committed already, so what is refused now is lost, and said. */
  private async finishOutputs(epoch: Epoch): Promise<void> {
    const { outputs } = this;
    assert(outputs !== undefined, 'a weaker guarantee has its output producer');
    while (epoch.nextOutput !== undefined) {
      try {
        this.drainTo(outputs, epoch);
      } catch (error) {
        this.logger.error(`An output was refused and is lost (at-most-once): ${errorOf(error).message}`);
        epoch.passOutput();
      }
      if (epoch.nextOutput !== undefined) await sleep(this.clock, queuePauseMs);
    }
    for (const { error } of outputs.takeFailures()) this.logger.error(`Outputs were refused and are lost (at-most-once): ${error.message}`);
  }

  private async endTransaction(session: ProducerSession): Promise<void> {
    const until = this.clock.monotonicMs() + this.options.commitSettleTimeoutMs;
    for (;;) {
      try {
        await session.commit();
        return;
      } catch (error) {
        const kind = kindOf(error);
        if (kind === 'retriable' && this.clock.monotonicMs() < Math.min(until, this.stopByMs())) {
          this.logger.warn(`The outcome of a commit is not known yet, asking again: ${errorOf(error).message}`);
          await sleep(this.clock, retryDelayMs);
          continue;
        }
        throw this.failed(error, kind === 'abortable' || kind === 'recordRefused' ? 'abort' : 'replace');
      }
    }
  }

  private async commitWithoutTransaction(frozen: FrozenEpoch): Promise<FlushPositions> {
    await this.point('frozen', frozen.epoch);
    const positions = this.readPositions(frozen.tasks.filter(({ task }) => frozen.toFlush.includes(task)));
    await this.deliverOutputs(frozen.epoch);
    const offsets = frozen.tasks.flatMap((each) => each.offsets);
    const until = this.clock.monotonicMs() + this.options.commitSettleTimeoutMs;
    for (;;) {
      try {
        await this.consumer.commitOffsets(offsets);
        await this.point('afterCommit', frozen.epoch);
        return await positions;
      } catch (error) {
        if (kindOf(error) !== 'retriable' || this.clock.monotonicMs() >= until) throw this.failed(error, 'abort');
        await sleep(this.clock, retryDelayMs);
      }
    }
  }

  private throwOnFailures(sender: RecordSender): void {
    const failures = sender.takeFailures();
    const [first] = failures;
    if (first !== undefined) throw this.failure(first.error, 'abort', failures);
  }

  private failed(error: unknown, recovery: Recovery): CommitFailedError {
    const failures = [
      ...(this.session?.isUsable === true ? this.session.producer.takeFailures() : []),
      ...(this.outputs?.takeFailures() ?? []),
    ];
    const kind = kindOf(error);
    // Refused before it was queued: the error itself names the partition.
    if (error instanceof BrokerError && kind === 'recordRefused' && error.place.topic !== undefined) {
      failures.push({ topic: error.place.topic, partition: error.place.partition ?? -1, error });
    }
    if (kind === 'fenced' || kind === 'fatal') return this.failure(errorOf(error), 'replace', failures);
    if (kind === 'invalid' || kind === undefined) return this.failure(errorOf(error), 'stop', failures);
    return this.failure(errorOf(error), recovery, failures);
  }

  private failure(cause: Error, recovery: Recovery, failures: readonly DeliveryFailure[]): CommitFailedError {
    const refused = failures
      .filter(({ error }) => error.kind === 'recordRefused')
      .map(({ topic, partition, error }) => ({ topic, partition, error }));
    return new CommitFailedError(recovery, cause, refused, this.session?.transactionAgeMs ?? 0);
  }

  private async point(point: CommitPoint, epoch: Epoch): Promise<void> {
    const held = this.hooks.commitPoint?.(point, epoch.number);
    if (held !== undefined) await held;
  }
}

function kindOf(error: unknown): TallyError['kind'] | undefined {
  return error instanceof BrokerError || error instanceof TallyError ? error.kind : undefined;
}

function send(sender: RecordSender, output: OutputRecord): boolean {
  return sender.produce(output.topic, output.partition, output.key, output.value, output.timestampMs, output.headers);
}
