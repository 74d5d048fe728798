/**
 * The loop of one worker: takes batches from the consumer, routes them to tasks, processes, punctuates, and commits when it is time.
 *
 * Invariants
 * 1. One consume is in flight at a time, started before the last batch is processed; all other calls on the consumer run between consumes.
 * 2. While a recovery runs nothing is processed, produced or committed; records that arrive are dropped by their closed inputs.
 * 3. Processing stops while open, committing and unflushed bytes are at their bound; a commit never waits for a flush.
 */
import type { Clock } from '../core/clock.js';
import { errorOf } from '../core/errors.js';
import type { Topology, UntypedStore } from '../topology/topology.js';
import type { Broker, GroupConsumer, OutputProducer } from './broker.js';
import { CommitCycle } from './commit-cycle.js';
import { Committer } from './commit.js';
import { ConsumerGate } from './consumer-gate.js';
import type { Destinations } from './destinations.js';
import type { Counters, TaskEnvironment } from './environment.js';
import type { Epoch } from './epoch.js';
import { FailureCounts } from './failure.js';
import { GlobalStores } from './global-stores.js';
import type { Hooks, Logger } from './hooks.js';
import { Intake } from './intake.js';
import { Lock } from './lock.js';
import { Maintenance } from './maintenance.js';
import type { ResolvedOptions } from './options.js';
import type { ProducerSession } from './producer-session.js';
import { QueryError, notLocal } from './query.js';
import { readOnly } from './read-only-store.js';
import { Rebalancer } from './rebalancer.js';
import { Recovery } from './recovery.js';
import { Refusals } from './refusals.js';
import { Restorer } from './restore.js';
import { Shutdown } from './shutdown.js';
import type { Slot } from './slot.js';
import { Statistics } from './statistics.js';
import { TaskManager } from './task-manager.js';
import { TaskOpener } from './task-opener.js';
import type { Task } from './task.js';
import { TopicDiscovery } from './topic-discovery.js';
import { type TopicPlan, subscriptionOf } from './topics.js';
import type { StoreEngine } from '../state/store-engine.js';
import type { WorkerMemory } from './worker.js';

export interface EngineParts {
  readonly topology: Topology;
  readonly broker: Broker;
  readonly storeEngine: StoreEngine;
  readonly clock: Clock;
  readonly hooks: Hooks;
  readonly logger: Logger;
  readonly options: ResolvedOptions;
  readonly counters: Counters;
  readonly plan: TopicPlan;
  readonly destinations: Destinations;
  readonly slot: Slot;
  readonly session: ProducerSession | undefined;
  readonly outputs: OutputProducer | undefined;
  readonly clientId: string;
  readonly onFailure: (error: Error) => void;
}

/** Records of one task between two looks at the clock and the memory. */
const recordsPerSlice = 500;
/** How long a failed worker waits for a commit that is under way, in milliseconds. */
const abandonWithinMs = 5_000;

export class Engine implements TaskEnvironment {
  readonly options: ResolvedOptions;
  readonly topology: Topology;
  readonly clock: Clock;
  readonly hooks: Hooks;
  readonly logger: Logger;
  readonly counters: Counters;
  readonly destinations: Destinations;
  readonly failures = new FailureCounts();
  readonly refusals = new Refusals();
  readonly statistics = new Statistics();
  readonly lock = new Lock();
  readonly consumer: GroupConsumer;
  readonly gate: ConsumerGate;
  readonly cycle: CommitCycle;
  readonly tasks: TaskManager;
  readonly restorer: Restorer;
  readonly globals: GlobalStores;
  nowMs: number;
  isStopping = false;
  stopByMs = Number.POSITIVE_INFINITY;
  lastTurnMs: number;
  /** On the monotonic clock. */
  readonly startedMs: number;
  /** The group has given partitions to this member at least once. */
  wasAssigned = false;
  private readonly committer: Committer;
  private readonly recovery: Recovery;
  private readonly maintenance: Maintenance;
  private readonly shutdown: Shutdown;
  private readonly consumeTimeoutMs: number;
  private readonly intake: Intake;
  private isFull = false;
  /** The task that is processed at this moment, and how far the open epoch may grow meanwhile. */
  private slice: { readonly task: Task; readonly openBytesMax: number } | undefined;
  private commitSoon = false;
  private woken: (() => void) | undefined;
  private wakeRequested = false;
  private ended = false;
  private loop: Promise<void> | undefined;

  constructor(private readonly parts: EngineParts) {
    const { options, broker, clock, plan } = parts;
    this.options = options;
    this.topology = parts.topology;
    this.clock = clock;
    this.hooks = parts.hooks;
    this.logger = parts.logger;
    this.counters = parts.counters;
    this.destinations = parts.destinations;
    this.nowMs = clock.nowMs();
    this.lastTurnMs = clock.monotonicMs();
    this.startedMs = this.lastTurnMs;
    this.consumeTimeoutMs = Math.max(5, Math.min(50, Math.floor(options.commitIntervalMs / 2)));
    const listener = {
      assigned: (partitions: Parameters<Rebalancer['assigned']>[0]) => {
        this.wasAssigned = true;
        rebalancer.assigned(partitions);
      },
      revoked: (partitions: Parameters<Rebalancer['revoked']>[0]) => rebalancer.revoked(partitions),
      lost: (partitions: Parameters<Rebalancer['lost']>[0]) => rebalancer.lost(partitions),
      failed: (error: Parameters<Rebalancer['failed']>[0]) => rebalancer.failed(error),
    };
    this.consumer = broker.createConsumer({ groupId: options.applicationId, clientId: parts.clientId, listener });
    this.gate = new ConsumerGate(this.consumer, () => this.wake());
    const changelogOf = (store: string) => plan.changelogs.get(store);
    this.committer = new Committer(
      options,
      clock,
      this.hooks,
      this.logger,
      broker.admin,
      parts.session,
      parts.outputs,
      this.consumer,
      changelogOf,
      () => this.stopByMs,
    );
    this.cycle = new CommitCycle(
      this,
      this.committer,
      () => this.recovery.succeeded(),
      () => this.recoverSoon(),
    );
    this.restorer = new Restorer(broker, clock, this.logger);
    this.globals = new GlobalStores(this, broker, parts.storeEngine, this.restorer, parts.slot, plan);
    const opener = new TaskOpener(broker, parts.storeEngine, this, this.restorer, parts.slot, plan);
    this.tasks = new TaskManager(this, plan, opener, this.restorer, this.gate, this.lock);
    this.recovery = new Recovery(this, this.cycle, this.tasks, parts.session, changelogOf);
    this.intake = new Intake(this, this.gate, this.tasks, this.cycle, this.consumeTimeoutMs);
    const discovery = new TopicDiscovery(this, broker.admin, plan, this.gate, this.lock);
    this.maintenance = new Maintenance(this, broker.admin, this.tasks, plan, discovery);
    this.shutdown = new Shutdown(this, this.lock, this.cycle, this.recovery, this.tasks, {
      endLoop: () => this.end(),
      closeClients: async () => {
        // The producer goes first: while the group still knows this member, its open transaction is aborted.
        await parts.session?.close();
        await this.consumer.close();
        await this.deliverLast(parts.outputs);
        await parts.outputs?.close();
        await this.restorer.close();
        await this.globals.close();
      },
    });
    const rebalancer = new Rebalancer(this, broker.admin, this.lock, this.cycle, this.recovery, this.tasks);
  }

  get epoch(): Epoch {
    return this.cycle.open;
  }

  /**
   * Joins the group and starts the loop.
   * @param isWanted false once the worker is to stop: its global stores, which are read before, may take their time
   */
  async start(isWanted: () => boolean): Promise<void> {
    await this.globals.open(isWanted);
    await this.consumer.subscribe(subscriptionOf(this.parts.plan));
    this.loop = this.run();
  }

  // ---- TaskEnvironment -------------------------------------------------------------------------------------------------------------

  admits(task: Task): boolean {
    return this.hasRoom(task) && this.mayJoin(task);
  }

  mayJoin(task: Task): boolean {
    if (!this.refusals.isSearching || this.refusals.admits(task, this.cycle.open)) return true;
    this.commitSoon = true;
    return false;
  }

  joined(task: Task): void {
    if (this.refusals.isSearching && this.refusals.joined(task, this.cycle.open)) this.commitSoon = true;
  }

  wake(): void {
    this.wakeRequested = true;
    this.woken?.();
  }

  wakeAfter(delayMs: number): void {
    this.clock.after(delayMs, () => this.wake());
  }

  fail(error: Error): void {
    this.parts.onFailure(error);
  }

  stateDamaged(task: Task, error: Error): void {
    if (task.isDamaged || task.isClosed) return;
    task.isDamaged = true;
    this.logger.error(`The local state of task ${task.id} is damaged and is rebuilt from its changelogs: ${error.message}`, {
      task: task.id,
    });
    // Nothing more is committed until the task has been closed: what it read may be wrong.
    this.cycle.openIsSpoilt = true;
    this.lock
      .run(async () => {
        await this.cycle.settled();
        this.cycle.abandonOpen(error, 'replace');
        await this.recovery.run();
      })
      .catch((failed: unknown) => {
        if (!this.isStopping) this.fail(errorOf(failed));
      });
    this.wake();
  }

  // ---- the loop --------------------------------------------------------------------------------------------------------------------

  private async run(): Promise<void> {
    while (!this.ended) {
      try {
        await this.turn();
      } catch (error) {
        if (!this.isStopping) this.fail(errorOf(error));
        else this.logger.debug(`While stopping: ${errorOf(error).message}`);
        await this.idle();
      }
    }
  }

  private async turn(): Promise<void> {
    this.nowMs = this.clock.nowMs();
    this.lastTurnMs = this.clock.monotonicMs();
    this.intake.take();
    if (!this.gate.isConsuming) await this.intake.goOn(!this.isFull || this.cycle.failure !== undefined);
    const processed = this.cycle.isSuspended ? 0 : this.process();
    if (!this.cycle.isSuspended) {
      // The producer's transaction is that of the epoch that commits, until it has ended: what is open must not get into it.
      if (!this.cycle.isCommitting) this.committer.drain(this.cycle.open);
      this.commitWhenDue(processed > 0);
      this.maintenance.run();
    }
    if (processed > 0) await this.clock.yieldNow();
    else await this.idle();
  }

  /**
   * All that the consumer has brought has taken effect, and no punctuation is due. What lies in the topics and has not been read, or is
   * still to be assigned, this worker does not know of.
   */
  get isSettled(): boolean {
    const { cycle, tasks, gate } = this;
    if (gate.hasArrived || cycle.isCommitting || cycle.isSuspended || !cycle.open.isEmpty || !tasks.isComplete) return false;
    const nowMs = this.clock.nowMs();
    return tasks.running.every((task) => task.isSettled(nowMs));
  }

  editStore<Result>(definition: UntypedStore, partition: number, edit: (store: object) => Result): Result {
    const { name } = definition;
    const copied = this.topology.topicChangelogs.get(name)?.topic ?? this.topology.globalStores.get(name)?.topic;
    if (copied !== undefined) throw readOnly(name, copied.name);
    const task = this.tasks.running.find((each) => each.partition === partition && each.subTopology.stores.includes(name));
    if (task === undefined || task.isDraining) throw notLocal(name, partition);
    if (task.dispatcher.inHand > 0 || this.cycle.isSuspended || !this.mayJoin(task))
      throw new QueryError('STORE_BUSY', `Store '${name}' cannot be edited while records of task ${task.id} are in hand. Try again.`, name);
    const result = task.editStore(definition, edit);
    this.wake();
    return result;
  }

  /** Asked before each record: within a slice only the open epoch grows, so the other tasks are not looked at again. */
  private hasRoom(task: Task): boolean {
    if (this.slice?.task !== task) return !this.isFull;
    if (this.openBytes(task) < this.slice.openBytesMax) return true;
    this.commitSoon ||= this.recovery.epochBound.bytesMax !== Number.POSITIVE_INFINITY;
    return false;
  }

  private openBytes(task: Task): number {
    return task.state.bytes.open + this.cycle.open.outputBytes;
  }

  /** How far the open epoch may grow by the task, before memory is at its bound or the epoch at its own. */
  private openBytesMax(task: Task): number {
    const withinMemory = this.openBytes(task) + this.options.bufferBytesMax - this.bufferedBytes();
    const { bytesMax } = this.recovery.epochBound;
    if (bytesMax === Number.POSITIVE_INFINITY) return withinMemory;
    const others = this.tasks.running.reduce((sum, { state }) => sum + state.bytes.open, 0) - task.state.bytes.open;
    return Math.min(withinMemory, bytesMax - others);
  }

  private process(): number {
    let processed = 0;
    let sinceMs = this.clock.monotonicMs();
    for (const task of this.refusals.inTurn(this.tasks.running)) {
      this.slice = { task, openBytesMax: this.openBytesMax(task) };
      const records = task.dispatcher.process(recordsPerSlice, this.isDraining(task));
      if (records === 0) continue;
      processed += records;
      const endMs = this.clock.monotonicMs();
      this.statistics.loop.processingMs += endMs - sinceMs;
      this.hooks.processed?.(task.id, records, endMs - sinceMs);
      sinceMs = endMs;
    }
    this.slice = undefined;
    this.isFull = this.bufferedBytes() >= this.options.bufferBytesMax;
    return processed;
  }

  get isNearlyFull(): boolean {
    return this.bufferedBytes() >= this.options.bufferBytesMax / 2;
  }

  /**
   * A task that is given away only finishes what is in hand, so that it is in no later epoch. A worker that stops does so too, except that
   * at-most-once also processes what it has committed, for no one else will (a revocation does that by itself).
   */
  private isDraining(task: Task): boolean {
    return task.isDraining || (this.isStopping && this.options.guarantee !== 'at-most-once');
  }

  get memory(): WorkerMemory {
    let [cachedBytes, queuedRecords, queuedBytes] = [0, 0, 0];
    for (const { state, inputs } of this.tasks.running) {
      cachedBytes += state.cacheBytes;
      for (const input of inputs) {
        queuedRecords += input.length;
        queuedBytes += input.bytes;
      }
    }
    cachedBytes += this.globals.cacheBytes;
    return { bufferedBytes: this.bufferedBytes(), cachedBytes, queuedRecords, queuedBytes };
  }

  private bufferedBytes(): number {
    let bytes = this.cycle.outputBytes;
    for (const { state, dispatcher } of this.tasks.running)
      bytes += state.bytes.open + state.bytes.committing + state.bytes.committed + dispatcher.bytesInHand;
    return bytes;
  }

  private commitWhenDue(processed: boolean): void {
    if (this.cycle.isCommitting || this.isStopping) return;
    this.maintenance.addQuietTasks(this.cycle.open);
    if (this.cycle.open.isEmpty) return;
    const isDue = this.clock.monotonicMs() - this.cycle.lastStartMs >= this.options.commitIntervalMs;
    // At most once waits for the commit before it can go on, so there is nothing to gain by waiting.
    const isIdle = this.options.guarantee === 'at-most-once' && !processed;
    if (!isDue && !this.commitSoon && !isIdle && !this.isNearlyFull) return;
    this.commitSoon = false;
    this.cycle.start();
  }

  private recoverSoon(): void {
    this.lock
      .run(() => this.recovery.run())
      .catch((error: unknown) => {
        if (!this.isStopping) this.fail(errorOf(error));
      });
    this.wake();
  }

  /** Waits until something happens: a consume returns, a commit ends, a handler settles, a retry or a punctuation is due. */
  private async idle(): Promise<void> {
    if (!this.wakeRequested) {
      const sinceMs = this.clock.monotonicMs();
      const cancel = this.clock.after(this.idleTimeoutMs(), () => this.wake());
      await new Promise<void>((resolve) => {
        this.woken = resolve;
      });
      cancel();
      this.woken = undefined;
      this.statistics.loop.waitingMs += this.clock.monotonicMs() - sinceMs;
    }
    this.wakeRequested = false;
    await this.clock.yieldNow();
  }

  /** A punctuation that is overdue already waits for something else. */
  private idleTimeoutMs(): number {
    let timeoutMs = this.consumeTimeoutMs;
    for (const { schedules } of this.tasks.running) {
      const leftMs = schedules.wallClockDueMs - this.nowMs;
      if (leftMs > 0 && leftMs < timeoutMs) timeoutMs = leftMs;
    }
    return timeoutMs;
  }

  // ---- the end ---------------------------------------------------------------------------------------------------------------------

  /** Finishes the records in hand, commits, flushes and leaves; what is not done when the time is over stays uncommitted. */
  async stop(withinMs: number): Promise<void> {
    this.isStopping = true;
    this.stopByMs = this.clock.monotonicMs() + withinMs;
    await this.shutdown.stop(this.stopByMs - withinMs / 3);
  }

  /** At most once does not wait for its outputs otherwise, and nobody repeats them; those of at least once are repeated. */
  private async deliverLast(outputs: OutputProducer | undefined): Promise<void> {
    if (outputs === undefined || this.options.guarantee !== 'at-most-once') return;
    try {
      await outputs.flush(Math.max(1, this.stopByMs - this.clock.monotonicMs()));
    } catch (error) {
      this.logger.error(`The last outputs were not acknowledged in time and may be lost (at-most-once): ${errorOf(error).message}`);
    }
  }

  /** Leaves at once, without a commit; the open transaction is aborted. */
  async abandon(): Promise<void> {
    this.isStopping = true;
    // There is nothing more to be saved by asking a commit in doubt for long: whoever comes next settles it.
    this.stopByMs = this.clock.monotonicMs() + abandonWithinMs;
    await this.shutdown.abandon();
  }

  private async end(): Promise<void> {
    this.ended = true;
    this.wake();
    await this.gate.close();
    await this.loop;
  }
}
