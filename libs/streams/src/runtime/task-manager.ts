/**
 * The tasks of this worker: which there are, and which of them run.
 *
 * A task exists while all its inputs are owned: it is opened after the last assignment and closed at the first revocation.
 */
import { TallyError, errorOf } from '../core/errors.js';
import { type TopicPartition, partitionName } from '../core/record.js';
import type { SubTopology } from '../topology/topology.js';
import type { BrokerAdmin } from './broker.js';
import type { ConsumerGate } from './consumer-gate.js';
import type { TaskEnvironment } from './environment.js';
import type { Input } from './input.js';
import type { Lock } from './lock.js';
import { OpeningCancelledError } from './opening.js';
import { OwnedPartitions } from './owned-partitions.js';
import type { Restorer } from './restore.js';
import { Task, taskIdOf } from './task.js';
import type { OpenedTask, TaskOpener } from './task-opener.js';
import { TaskOpenings } from './task-openings.js';
import { TaskSlot } from './task-slot.js';
import type { InputTopic, TopicPlan } from './topics.js';

export class TaskManager {
  private readonly owned: OwnedPartitions;
  private readonly openings: TaskOpenings;
  private readonly slots = new Map<string, TaskSlot>();
  private readonly routes = new Map<string, (Input | undefined)[]>();
  running: readonly Task[] = [];

  constructor(
    private readonly environment: TaskEnvironment,
    private readonly plan: TopicPlan,
    private readonly opener: TaskOpener,
    private readonly restorer: Restorer,
    gate: ConsumerGate,
    lock: Lock,
  ) {
    this.owned = new OwnedPartitions(environment, gate);
    this.openings = new TaskOpenings(environment, opener, lock, (slot, opened, cancelled) => this.activate(slot, opened, cancelled));
  }

  get all(): readonly TaskSlot[] {
    return [...this.slots.values()];
  }

  /** Every owned partition belongs to a running task. */
  get isComplete(): boolean {
    const open = new Set(this.all.filter(({ phase }) => phase === 'running').flatMap(({ inputs }) => inputs.map(partitionName)));
    return this.owned.all.every((each) => open.has(partitionName(each)));
  }

  /** Topics of the sub-topologies that this worker has a part of: a task is open only while it has all of its own. */
  get topics(): readonly InputTopic[] {
    const owned = new Set(this.owned.all.map(({ topic }) => topic));
    return [...this.plan.inputs.values()].filter((topics) => topics.some(({ name }) => owned.has(name))).flat();
  }

  /** The input that takes records of the partition, if a running task has it. */
  input(topic: string, partition: number): Input | undefined {
    return this.routes.get(topic)?.[partition];
  }

  // ---- ownership -------------------------------------------------------------------------------------------------------------------

  /** Answers an assignment: the partitions are taken, paused, and tasks that are now complete are opened. */
  async assign(admin: BrokerAdmin, partitions: readonly TopicPartition[]): Promise<void> {
    await this.owned.assign(admin, partitions);
    this.openComplete();
  }

  /** Slots that are to read more than they do, now that they own it: topics that were found while they ran. */
  get outgrown(): readonly TaskSlot[] {
    return this.all.filter(({ subTopology, partition, inputs }) => {
      const owned = this.ownedInputs(subTopology, partition);
      return owned !== undefined && owned.length > inputs.length;
    });
  }

  /** All inputs that are planned for the task; `undefined` while one of them is not owned. */
  private ownedInputs(sub: SubTopology, partition: number): readonly TopicPartition[] | undefined {
    const topics = this.plan.inputs.get(sub.id) ?? [];
    const inputs = topics.filter((topic) => partition < topic.partitions).map(({ name }) => ({ topic: name, partition }));
    return inputs.length > 0 && inputs.every((input) => this.owned.has(input)) ? inputs : undefined;
  }

  /** Slots that have one of the partitions among their inputs. */
  slotsOf(partitions: readonly TopicPartition[]): readonly TaskSlot[] {
    const names = new Set(partitions.map(partitionName));
    return this.all.filter(({ inputs }) => inputs.some((input) => names.has(partitionName(input))));
  }

  /** Gives partitions back. */
  unassign(partitions: readonly TopicPartition[]): Promise<void> {
    return this.owned.unassign(partitions);
  }

  // ---- opening ---------------------------------------------------------------------------------------------------------------------

  private openComplete(): void {
    for (const sub of this.environment.topology.subTopologies) {
      for (let partition = 0; partition < (this.plan.tasks.get(sub.id) ?? 0); partition++) {
        const id = taskIdOf(sub, partition);
        const inputs = this.slots.has(id) ? undefined : this.ownedInputs(sub, partition);
        if (inputs === undefined) continue;
        const slot = new TaskSlot(sub, partition, inputs, this.environment.hooks);
        this.slots.set(id, slot);
        this.openings.start(slot);
      }
    }
    for (const { topic, partition } of this.owned.all) this.refuseUnplanned(topic, partition);
  }

  /** A partition that did not exist at the start has no changelog partition, and its keys may have lived elsewhere. */
  private refuseUnplanned(topic: string, partition: number): void {
    const planned = [...this.plan.inputs.values()].flat().find(({ name }) => name === topic)?.partitions ?? 0;
    if (partition < planned) return;
    const message = `Topic '${topic}' has grown beyond the ${planned} partitions that it had at the start. Start the worker again, so that it checks its internal topics against the new number.`;
    this.environment.fail(new TallyError({ code: 'PARTITIONS_ADDED', kind: 'invalid', message, place: { topic, partition } }));
  }

  private async activate(slot: TaskSlot, opened: OpenedTask, cancelled: () => boolean): Promise<void> {
    if (cancelled()) {
      await opened.state.close();
      return;
    }
    let task: Task;
    try {
      // First of all: a task that is closed again because its inputs cannot be positioned may be in an epoch that commits already.
      await this.owned.position(() => opened.inputs);
      if (cancelled()) throw new OpeningCancelledError();
      task = new Task(slot.subTopology, slot.partition, this.environment, opened, opened.ownerRecords);
    } catch (error) {
      await opened.state.close();
      throw error;
    }
    slot.task = task;
    for (const input of task.inputs) this.route(input.topic, input.partition, input);
    this.running = [...this.running, task];
    slot.phase = 'running';
    this.environment.wake();
  }

  private route(topic: string, partition: number, input: Input | undefined): void {
    let partitions = this.routes.get(topic);
    if (partitions === undefined) this.routes.set(topic, (partitions = []));
    partitions[partition] = input;
  }

  // ---- recovery --------------------------------------------------------------------------------------------------------------------

  /** All running tasks go back to their last confirmed epoch, and the consumer with them. */
  async rollBack(): Promise<void> {
    for (const task of this.running) task.rollback();
    const inputs = (): readonly Input[] => this.running.filter((task) => !task.isDraining).flatMap((task) => task.inputs);
    await this.owned.keepTrying(() => this.owned.position(inputs));
  }

  /**
   * All tasks are closed with everything that is not in their databases, before the producer is replaced.
   * @returns those to open again: not what is about to be given away.
   */
  async closeForReplacement(): Promise<readonly TaskSlot[]> {
    const open = this.all.filter((slot) => slot.task !== undefined);
    const staying = open.filter((slot) => slot.task?.isDraining === false);
    const inputs = staying.flatMap((slot) => slot.task?.inputs ?? []);
    await this.owned.pause(inputs);
    await Promise.all(open.map((slot) => this.closeTask(slot, 'its producer was replaced')));
    return staying;
  }

  reopen(slots: readonly TaskSlot[]): void {
    for (const slot of slots) if (this.slots.get(slot.id) === slot) this.openings.start(slot);
  }

  // ---- closing ---------------------------------------------------------------------------------------------------------------------

  /** Stops openings and dispatch of the slots at once. */
  halt(slots: readonly TaskSlot[]): void {
    for (const slot of slots) {
      this.openings.cancel(slot);
      if (slot.task === undefined) continue;
      slot.task.isDraining = true;
      for (const input of slot.task.inputs) input.open = false;
    }
    for (const slot of slots) {
      for (const store of slot.subTopology.stores) {
        const changelog = this.plan.changelogs.get(store)?.name ?? this.environment.topology.topicChangelogs.get(store)?.topic.name;
        if (changelog !== undefined && slot.task === undefined) this.restorer.cancel({ topic: changelog, partition: slot.partition });
      }
    }
  }

  /** Closes the slots' tasks and forgets them; partitions that stay owned wait, paused, for the others. */
  async close(slots: readonly TaskSlot[], reason: string): Promise<void> {
    this.halt(slots);
    for (const slot of slots) this.slots.delete(slot.id);
    await Promise.all(slots.map((slot) => this.closeTask(slot, reason)));
    await this.owned.pause(slots.flatMap(({ inputs }) => inputs));
    this.openComplete();
  }

  /** The worker stops: nothing new comes in, and what is queued but not in hand is left to a successor. */
  drainAll(): void {
    for (const task of this.running) {
      for (const input of task.inputs) {
        input.open = false;
        input.dropUnclaimed();
      }
    }
  }

  /** At the end of the worker, when the consumer is no longer polled. */
  async closeAll(reason: string): Promise<void> {
    const slots = this.all;
    this.halt(slots);
    this.slots.clear();
    await Promise.all(slots.map((slot) => this.closeTask(slot, reason)));
  }

  private async closeTask(slot: TaskSlot, reason: string): Promise<void> {
    const { task } = slot;
    slot.phase = 'closing';
    slot.task = undefined;
    if (task !== undefined) {
      this.running = this.running.filter((each) => each !== task);
      for (const { topic, partition } of task.inputs) this.route(topic, partition, undefined);
      this.environment.statistics.closed(task);
      const closing = this.closeState(slot, task, reason);
      this.openings.awaitClosing(slot, closing);
      await closing;
    }
    slot.phase = 'closed';
  }

  private async closeState(slot: TaskSlot, task: Task, reason: string): Promise<void> {
    try {
      await task.close(reason);
    } catch (error) {
      this.environment.logger.warn(`Task ${slot.id} failed to close: ${errorOf(error).message}`, { task: slot.id });
    }
    if (!task.isDamaged) return;
    try {
      await this.opener.discardDamaged(slot.subTopology, slot.partition);
    } catch (error) {
      this.environment.fail(errorOf(error));
    }
  }

  openingsEnded(): Promise<void> {
    return this.openings.ended();
  }
}
