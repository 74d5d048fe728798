/**
 * Answers the group's rebalances, one after another under the worker's lock.
 *
 * Invariants
 * 1. No partition is unassigned before every sendOffsets has called back: it reads the member epoch when it runs, and after the answer
 *    that epoch may be a newer one.
 * 2. Nothing of a task that was revoked or lost enters an epoch that is frozen afterwards.
 * 3. Hooks hear of a rebalance when its answer is under way: one that throws keeps no partition from being taken or let go.
 */
import { sleep } from '../core/clock.js';
import { TallyError, errorOf } from '../core/errors.js';
import { type TopicPartition, partitionName } from '../core/record.js';
import type { BrokerAdmin, BrokerError, RebalanceListener } from './broker.js';
import type { CommitCycle } from './commit-cycle.js';
import type { TaskEnvironment } from './environment.js';
import type { Input } from './input.js';
import type { Lock } from './lock.js';
import { isOvertaken } from './overtaken.js';
import type { Recovery } from './recovery.js';
import type { Task } from './task.js';
import type { TaskManager } from './task-manager.js';
import type { TaskSlot } from './task-slot.js';

/** How long at-most-once finishes what it has committed already, in milliseconds. */
const finishBoundMs = 5_000;
/** Pause between looks at what waits for memory or for a handler, in milliseconds. */
const lookPauseMs = 5;

export class Rebalancer implements RebalanceListener {
  constructor(
    private readonly environment: TaskEnvironment,
    private readonly admin: BrokerAdmin,
    private readonly lock: Lock,
    private readonly cycle: CommitCycle,
    private readonly recovery: Recovery,
    private readonly tasks: TaskManager,
  ) {}

  assigned(partitions: readonly TopicPartition[]): void {
    if (partitions.length === 0) return;
    this.inOrder(async () => {
      await this.tasks.assign(this.admin, partitions);
      const { outgrown } = this.tasks;
      if (outgrown.length > 0) await this.closeCommitted(outgrown, 'a topic joins it');
    });
    this.environment.hooks.assigned?.(partitions);
  }

  revoked(partitions: readonly TopicPartition[]): void {
    if (partitions.length === 0) return;
    this.inOrder(() => this.revoke(partitions));
    this.environment.hooks.revoked?.(partitions, false);
  }

  lost(partitions: readonly TopicPartition[]): void {
    if (partitions.length === 0) return;
    // At once, and before anything that is another's code: what is processed from now on could not be committed any more, and must not be.
    const slots = this.tasks.slotsOf(partitions);
    this.tasks.halt(slots);
    const tasks = slots.flatMap(({ task }) => task ?? []);
    if (tasks.some((task) => this.cycle.open.tasks.has(task))) this.cycle.openIsSpoilt = true;
    this.inOrder(() => this.lose(partitions));
    for (const task of tasks) task.dispatcher.abandon('its partitions were lost');
    this.environment.logger.warn(`Partitions were lost to other members: ${partitions.length}.`);
    this.environment.hooks.revoked?.(partitions, true);
  }

  failed(error: BrokerError): void {
    if (error.kind === 'retriable' || error.kind === 'staleMember' || error.kind === 'pending') {
      this.environment.logger.warn(`The consumer reports: ${error.message}`);
    } else if (error.code === 'OFFSET_OUT_OF_RANGE') void this.outOfRange(error);
    else this.environment.fail(error);
  }

  /** Records that a successor has processed may be deleted while this worker has not heard yet that it lost their partition. */
  private async outOfRange(error: BrokerError): Promise<void> {
    const { topic, partition } = error.place;
    // Not every client tells which partition it is.
    const isMeant = (input: Input): boolean => topic === undefined || (input.topic === topic && input.partition === partition);
    try {
      for (const input of this.tasks.running.flatMap(({ inputs }) => inputs).filter(isMeant)) {
        if (!(await isOvertaken(input, this.admin, this.environment))) continue;
        this.environment.logger.warn(
          `${partitionName(input)} is processed by another member, which this one has not heard of yet: ${error.message}`,
        );
        return;
      }
      this.environment.fail(error);
    } catch (failed) {
      this.environment.fail(errorOf(failed));
    }
  }

  private inOrder(action: () => Promise<void>): void {
    this.lock.run(action).catch((error: unknown) => {
      if (!this.environment.isStopping) this.environment.fail(errorOf(error));
    });
  }

  /** Joins what is done, commits it, and only then gives the partitions back. */
  private async revoke(partitions: readonly TopicPartition[]): Promise<void> {
    const slots = this.tasks.slotsOf(partitions);
    await this.closeCommitted(slots, 'its partitions were revoked', () => this.tasks.unassign(partitions));
  }

  private async closeCommitted(slots: readonly TaskSlot[], reason: string, beforeClosing?: () => Promise<void>): Promise<void> {
    this.tasks.halt(slots);
    const tasks = slots.flatMap(({ task }) => task ?? []);
    await this.finish(tasks);
    for (const task of tasks) task.dispatcher.abandon(reason);
    await this.commit(tasks);
    await beforeClosing?.();
    await this.tasks.close(slots, reason);
  }

  /** What has run joins. At most once also processes what it has committed, for no one else will. */
  private async finish(tasks: readonly Task[]): Promise<void> {
    for (const task of tasks) task.dispatcher.process(0, true);
    if (this.environment.options.guarantee !== 'at-most-once') return;
    // What a commit under way claims is processed here too, once it is confirmed.
    await this.cycle.settledOrHung();
    await this.recovery.run();
    const { clock } = this.environment;
    const until = clock.monotonicMs() + finishBoundMs;
    for (const task of tasks) {
      for (const input of task.inputs) input.dropUnclaimed();
      while (clock.monotonicMs() < until && this.mayFinish(task)) {
        // Where memory is at its bound nothing is processed until the loop has committed what there is.
        if (task.dispatcher.process(1_000, false) > 0) await clock.yieldNow();
        else await sleep(clock, lookPauseMs);
      }
    }
  }

  /** Something is in hand or may still be processed, and will not be processed again after a recovery. */
  private mayFinish({ dispatcher, inputs }: Task): boolean {
    if (this.cycle.isSuspended || dispatcher.isHalted) return false;
    return dispatcher.inHand > 0 || inputs.some((input) => input.peek() !== undefined);
  }

  private async commit(tasks: readonly Task[]): Promise<void> {
    await this.cycle.settledOrHung();
    await this.recovery.run();
    if (tasks.some((task) => this.cycle.open.tasks.has(task))) {
      if (this.cycle.isCommitting || this.cycle.openIsSpoilt) {
        // The commit before hangs: the open epoch cannot be committed in time, and is processed again by whoever owns its partitions then.
        this.cycle.openIsSpoilt = true;
        return;
      }
      this.cycle.start(new Set(tasks));
    }
    // The loop may have started a commit of its own in between, which holds the tasks' last work: its offsets have to be in as well.
    await this.cycle.settledOrHung();
    await this.recovery.run();
  }

  private async lose(partitions: readonly TopicPartition[]): Promise<void> {
    const slots = this.tasks.slotsOf(partitions);
    await this.cycle.settled();
    if (this.cycle.openIsSpoilt) {
      const message = 'Partitions of the open epoch were lost to other members.';
      this.cycle.abandonOpen(new TallyError({ code: 'PARTITIONS_LOST', kind: 'staleMember', message }));
    }
    await this.recovery.run();
    await this.tasks.unassign(partitions);
    await this.tasks.close(slots, 'its partitions were lost');
  }
}
