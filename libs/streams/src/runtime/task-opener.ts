/**
 * Opens one task: finds where its inputs continue, brings its stores up to date, and refuses what would count twice.
 *
 * The order is the point: first the *stable* committed offsets of the inputs, then the changelogs' high watermarks, then the replay up to
 * these. The other way round a previous owner could still commit behind the watermark.
 */
import { InvalidConfigurationError, TallyError } from '../core/errors.js';
import { partitionName } from '../core/record.js';
import type { StoreEngine } from '../state/store-engine.js';
import type { TaskState } from '../state/task-state.js';
import type { SubTopology } from '../topology/topology.js';
import type { Broker } from './broker.js';
import type { TaskEnvironment } from './environment.js';
import { type InputStart, InputStarts } from './input-starts.js';
import { OpeningCancelledError } from './opening.js';
import { type OwnerRecord, checkOwner, decodeOwnerRecord, encodeOwnerRecord, ownerRecordOf } from './owner-record.js';
import type { Restorer } from './restore.js';
import type { Slot } from './slot.js';
import { type TaskContents, ownerName } from './task.js';
import type { TaskSlot } from './task-slot.js';
import { TaskStores } from './task-stores.js';
import type { TopicPlan } from './topics.js';

export interface OpenedTask extends TaskContents {
  /** What the stores do not know yet of their owner, by store name. */
  readonly ownerRecords: ReadonlyMap<string, Uint8Array>;
}

/** What is to be opened. */
type OpeningSlot = Pick<TaskSlot, 'subTopology' | 'partition' | 'inputs' | 'progress'>;

export class TaskOpener {
  private readonly starts: InputStarts;
  private readonly stores: TaskStores;

  constructor(
    broker: Broker,
    engine: StoreEngine,
    private readonly environment: TaskEnvironment,
    restorer: Restorer,
    slot: Slot,
    private readonly plan: TopicPlan,
  ) {
    this.starts = new InputStarts(broker.admin, environment);
    this.stores = new TaskStores(broker.admin, engine, environment, restorer, slot, plan);
  }

  /**
   * @throws OpeningCancelledError when `cancelled` turns true; the state is closed again.
   * @throws InvalidConfigurationError when a person has to decide: the worker stops.
   */
  async open({ subTopology: sub, partition, inputs: owned, progress }: OpeningSlot, cancelled: () => boolean): Promise<OpenedTask> {
    // A topic that was found later may be planned already and not be owned yet.
    const topics = (this.plan.inputs.get(sub.id) ?? []).filter(({ name }) => owned.some(({ topic }) => topic === name));
    const starts = await this.starts.stable(topics, partition, cancelled);
    const bounds = await this.stores.bounds(sub, partition, starts);
    const state = await this.stores.open(sub, partition);
    try {
      for (const bound of bounds) progress.total += this.stores.missing(state, bound);
      for (const bound of bounds) await this.stores.restore(state, bound, progress, cancelled);
      const ownerRecords = this.checkOwners(state, sub, starts);
      const inputs = await this.starts.inputs(state, partition, starts);
      const streamTimeMs = Math.max(-1, ...starts.map(({ metadata }) => metadata?.streamTimeMs ?? -1));
      if (cancelled()) throw new OpeningCancelledError();
      return { state, inputs, streamTimeMs, ownerRecords };
    } catch (error) {
      await state.close();
      if (error instanceof InvalidConfigurationError && !(await this.starts.stand(starts, cancelled)))
        throw movedError(sub, partition, error);
      throw error;
    }
  }

  /** Deletes the database of a task whose damage was found while it ran; its next opening replays the changelogs. */
  discardDamaged(sub: SubTopology, partition: number): Promise<void> {
    return this.stores.discardDamaged(sub, partition);
  }

  /** Checks who wrote the stores; returns what has to be written about their owner now. */
  private checkOwners(state: TaskState, sub: SubTopology, starts: readonly InputStart[]): ReadonlyMap<string, Uint8Array> {
    const { topology } = this.environment;
    const changed = new Map<string, Uint8Array>();
    const matched = starts.filter(({ topic }) => topic.source !== topic.handle);
    const patterns = new Set(matched.map(({ topic }) => topic.handle));
    const sources = [...sub.sourceTopics.filter((name) => !patterns.has(name)), ...matched.map(({ topic }) => topic.source)];
    for (const name of sub.stores) {
      const definition = topology.stores.get(name);
      if (definition === undefined || !this.plan.changelogs.has(name)) continue;
      const bytes = state.store(name).getReserved(ownerName);
      const recorded: OwnerRecord | undefined = bytes === undefined ? undefined : decodeOwnerRecord(name, bytes);
      const now = ownerRecordOf(topology, sub, definition, sources, recorded?.sources ?? []);
      if (recorded !== undefined) checkOwner(name, recorded, now);
      else this.refuseLostState(name, starts);
      const encoded = encodeOwnerRecord(now);
      if (bytes === undefined || Buffer.compare(bytes, encoded) !== 0) changed.set(name, encoded);
    }
    return changed;
  }

  /** Offsets that this very topology committed, and a changelog without a single record: the state is gone, not new. */
  private refuseLostState(store: string, starts: readonly InputStart[]): void {
    const witness = starts.find(
      ({ metadata, committed }) => metadata?.topologyHash === this.environment.topology.hash && committed.offset !== undefined,
    );
    if (witness === undefined) return;
    throw new InvalidConfigurationError(
      'STATE_LOST',
      `${partitionName(witness.committed)} has been processed up to offset ${witness.committed.offset ?? 0} with store '${store}', but its changelog holds nothing: the topic was deleted or emptied. ` +
        `Going on would start from empty state. Reset the group '${this.environment.options.applicationId}' to process everything anew, or start under a new applicationId.`,
      { ...witness.committed, store },
    );
  }
}

/** What looked like a contradiction was the work of another member; the task is opened again, or is not this worker's any more. */
function movedError(sub: SubTopology, partition: number, cause: Error): TallyError {
  return new TallyError({
    code: 'OFFSETS_MOVED',
    kind: 'retriable',
    message: `Another member has committed offsets of ${sub.id}/${partition} while its state was being restored.`,
    place: { task: `${sub.id}/${partition}` },
    cause,
  });
}
