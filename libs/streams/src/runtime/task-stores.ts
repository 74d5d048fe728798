/** Opens the database of a task, brings its stores up to their changelogs, and rebuilds what cannot be trusted. */
import type { Clock } from '../core/clock.js';
import { InvalidConfigurationError, TallyError } from '../core/errors.js';
import { type TopicPartition, partitionName } from '../core/record.js';
import { entryOfRecord } from '../state/key-value-codec.js';
import type { StoreEngine } from '../state/store-engine.js';
import { type ChangelogPosition, type DirtyEntry, TaskState } from '../state/task-state.js';
import type { SubTopology, UntypedTopic } from '../topology/topology.js';
import type { BrokerAdmin, ConsumedRecord } from './broker.js';
import type { ChangelogTopic } from './commit.js';
import { decode } from './decode.js';
import type { TaskEnvironment } from './environment.js';
import type { InputStart } from './input-starts.js';
import { OpeningCancelledError, type RestoreProgress } from './opening.js';
import type { Restorer } from './restore.js';
import type { Slot } from './slot.js';
import { taskIdOf } from './task.js';
import type { TopicPlan } from './topics.js';

/** What a store is brought up to: its changelog, or the topic that it is a copy of. */
export interface ChangelogBound {
  readonly store: string;
  readonly topic: ChangelogTopic;
  readonly at: TopicPartition;
  readonly begin: number;
  /** Of a copy: where the task continues. What lies behind it has not been processed and must not be in the store yet. */
  readonly end: number;
  /** Of a copy: how its records are read. */
  readonly copied: UntypedTopic | undefined;
  /** Nothing lies behind the end: at its end a replay has met every deletion that there was. */
  readonly isWhole: boolean;
}

/** A store that must be rebuilt more often than this within the window is beyond repair. */
const rebuildWindowMs = 3_600_000;
const rebuildsMax = 3;

/** Why a store cannot be brought up to its topic from where it is. */
export function reasonToRebuild(
  position: ChangelogPosition,
  { topicId, begin, end }: { readonly topicId: string; readonly begin: number; readonly end: number },
  nowMs: number,
  tombstoneRetentionMs: number,
  what: 'changelog' | 'topic',
): string | undefined {
  if (position.topicId !== topicId) return `its ${what === 'topic' ? what : `${what} topic`} was deleted and created again`;
  if (position.offset > end) return `its position ${position.offset} is behind the end of its ${what}, ${end}`;
  if (position.offset < begin) return `its position ${position.offset} is before the beginning of its ${what}, ${begin}`;
  const ageMs = nowMs - position.dateMs;
  if (position.offset < end && ageMs > tombstoneRetentionMs) {
    return `its position is ${Math.round(ageMs / 3_600_000)} hours old, and tombstones behind it may be gone`;
  }
  return undefined;
}

/** What a topic that is kept as a table holds its deletions for. Kafka's own default is that of `delete.retention.ms`. */
export function tombstoneRetentionMsOf({ tombstoneRetentionMs = 24 * 3_600_000 }: UntypedTopic): number {
  return tombstoneRetentionMs;
}

/** A record that the table could not read was passed over by the error policy, or its offset would not have been committed. */
function entryOf(record: ConsumedRecord, { copied, end }: ChangelogBound): DirtyEntry | undefined {
  const { key, value, timestampMs, offset } = record;
  if (key === null) return undefined;
  if (copied === undefined) return { key, value };
  return offset < end && isReadable(copied, record) ? entryOfRecord(key, value, timestampMs) : undefined;
}

function isReadable(topic: UntypedTopic, record: ConsumedRecord): boolean {
  try {
    decode(topic, record, record.timestampMs);
    return true;
  } catch {
    return false;
  }
}

export class TaskStores {
  /** When each store was rebuilt, on the monotonic clock. */
  private readonly rebuilds = new Map<string, readonly number[]>();

  constructor(
    private readonly admin: BrokerAdmin,
    private readonly engine: StoreEngine,
    private readonly environment: TaskEnvironment,
    private readonly restorer: Restorer,
    private readonly slot: Slot,
    private readonly plan: TopicPlan,
  ) {}

  private get clock(): Clock {
    return this.environment.clock;
  }

  /** Where the changelogs of the task's stores begin and end. To be asked after the stable offsets of the inputs. */
  async bounds(sub: SubTopology, partition: number, starts: readonly InputStart[]): Promise<readonly ChangelogBound[]> {
    const wanted = sub.stores.flatMap((store) => {
      const copied = this.environment.topology.topicChangelogs.get(store)?.topic;
      const start = starts.find(({ topic }) => topic.handle === copied?.name);
      const topic = start?.topic ?? this.plan.changelogs.get(store);
      return topic === undefined ? [] : [{ store, topic, at: { topic: topic.name, partition }, copied, start }];
    });
    if (wanted.length === 0) return [];
    const partitions = [...new Map(wanted.map(({ at }) => [partitionName(at), at])).values()];
    const described = await this.admin.describeTopics(partitions.map(({ topic }) => topic));
    const ends = await this.admin.listOffsets(partitions, 'highWatermark');
    const begins = await this.admin.listOffsets(partitions, 'earliest');
    const offsetIn = (offsets: typeof ends, at: TopicPartition): number =>
      offsets.find((each) => partitionName(each) === partitionName(at))?.offset ?? 0;
    return wanted.map(({ store, topic, at, copied, start }) => {
      const [begin, last] = [offsetIn(begins, at), offsetIn(ends, at)];
      const end = start === undefined ? last : Math.min(start.committed.offset ?? begin, last);
      const { topicId } = described.get(topic.name) ?? topic;
      return { store, topic: { name: topic.name, topicId }, at, begin, end, copied, isWhole: end === last };
    });
  }

  /** Opens the task's database; a corrupt one is deleted, and made anew by the replay. */
  async open(sub: SubTopology, partition: number): Promise<TaskState> {
    const { topology, options } = this.environment;
    const stores = sub.stores.flatMap((name) => {
      const definition = topology.stores.get(name);
      return definition === undefined ? [] : [definition];
    });
    const id = taskIdOf(sub, partition);
    const tasks = [...this.plan.tasks.values()].reduce((sum, each) => sum + each, 0);
    const cacheBytesMax = Math.floor(options.cacheBytesMax / Math.max(1, Math.min(tasks, 16)));
    const open = (): Promise<TaskState> =>
      TaskState.open({ engine: this.engine, directory: this.slot.taskDirectory(id), task: id, stores, cacheBytesMax, clock: this.clock });
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof TallyError) || error.code !== 'STATE_CORRUPT') throw error;
      for (const store of sub.stores) this.countRebuild(id, store, error.message);
      await this.engine.destroy(this.slot.taskDirectory(id));
      return open();
    }
  }

  /** Deletes the database of a task whose damage was found while it ran; its next opening replays the changelogs. */
  async discardDamaged(sub: SubTopology, partition: number): Promise<void> {
    const id = taskIdOf(sub, partition);
    for (const store of sub.stores) this.countRebuild(id, store, 'its database is damaged.');
    await this.engine.destroy(this.slot.taskDirectory(id));
  }

  /** Says why a store is rebuilt, and gives up on one that needs it again and again. */
  private countRebuild(task: string, store: string, reason: string): void {
    const { environment } = this;
    const name = `${task}/${store}`;
    const sinceMs = this.clock.monotonicMs() - rebuildWindowMs;
    const recent = [...(this.rebuilds.get(name) ?? []).filter((atMs) => atMs > sinceMs), this.clock.monotonicMs()];
    this.rebuilds.set(name, recent);
    if (recent.length > rebuildsMax) {
      const message = `Store '${store}' of task ${task} was rebuilt ${rebuildsMax} times within an hour and still cannot be used: ${reason} Check the disk and the changelog topic, then start again.`;
      throw new TallyError({ code: 'STORE_BEYOND_REPAIR', kind: 'fatal', message, place: { task, store } });
    }
    environment.logger.warn(`Store '${store}' of task ${task} is rebuilt from its changelog: ${reason}`, { task, store });
    environment.counters.storesRebuilt++;
    environment.hooks.rebuilt?.(task, store, reason);
  }

  /** How many changelog offsets are to be replayed. */
  missing(state: TaskState, bound: ChangelogBound): number {
    return Math.max(0, bound.end - this.startOf(state, bound));
  }

  private startOf(state: TaskState, bound: ChangelogBound): number {
    const position = state.position(bound.store);
    return position === undefined || this.reasonToRebuild(position, bound) !== undefined ? bound.begin : position.offset;
  }

  private reasonToRebuild(position: ChangelogPosition, { topic, begin, end, copied }: ChangelogBound): string | undefined {
    const nowMs = this.clock.nowMs();
    const retentionMs = copied === undefined ? this.environment.options.tombstoneRetentionMs : tombstoneRetentionMsOf(copied);
    return reasonToRebuild(
      position,
      { topicId: topic.topicId, begin, end },
      nowMs,
      retentionMs,
      copied === undefined ? 'changelog' : 'topic',
    );
  }

  /** Its changelog holds nothing of what the topic was the changelog of until now. */
  private refuseFormerCopy({ topicId }: ChangelogPosition, { store, copied, topic }: ChangelogBound): void {
    const former = [...this.plan.inputs.values()].flat().find((input) => input.topicId === topicId);
    if (copied !== undefined || former === undefined) return;
    throw new InvalidConfigurationError(
      'STORE_INCOMPATIBLE',
      `Store '${store}' is a copy of topic '${former.name}' so far ("topicIsChangelog"); its changelog '${topic.name}' would begin without its rows. Use a new store name, or leave the option as it was.`,
      { store, topic: former.name },
    );
  }

  /** Replays the changelog up to its end. @throws OpeningCancelledError */
  async restore(state: TaskState, bound: ChangelogBound, progress: RestoreProgress, cancelled: () => boolean): Promise<void> {
    const { environment } = this;
    const startedMs = this.clock.monotonicMs();
    const startedAtMs = this.clock.nowMs();
    let restored = 0;
    const stored = state.position(bound.store);
    if (stored !== undefined) this.refuseFormerCopy(stored, bound);
    const reason = stored === undefined ? undefined : this.reasonToRebuild(stored, bound);
    if (reason !== undefined) {
      this.countRebuild(state.task, bound.store, reason);
      await state.beginRebuild(bound.store);
    }
    const known = state.position(bound.store);
    const from = known?.offset ?? bound.begin;
    const { topicId } = bound.topic;
    const { copied, isWhole } = bound;
    // At its end a replay has met every deletion that was there when it began. Until then entries of before it may still miss theirs,
    // so a replay that is cut off leaves the date from which it started: a younger one would be trusted after their tombstones are gone.
    const dateAt = (offset: number): number =>
      known === undefined || (offset >= bound.end && isWhole) ? startedAtMs : Math.min(known.dateMs, startedAtMs);
    let reached = from;
    if (cancelled()) throw new OpeningCancelledError();
    await this.restorer.replay({
      from: { ...bound.at, offset: from },
      until: bound.end,
      apply: async (records, readTo) => {
        if (cancelled()) return;
        const position = copied === undefined ? readTo : Math.min(readTo, bound.end);
        const entries = records.flatMap((record) => entryOf(record, bound) ?? []);
        restored += await state.applyRestored(bound.store, entries, { offset: position, dateMs: dateAt(position), topicId });
        environment.counters.recordsRestored += entries.length;
        progress.done += position - reached;
        reached = position;
      },
    });
    if (cancelled() || reached < bound.end) throw new OpeningCancelledError();
    if (state.position(bound.store) === undefined)
      await state.applyRestored(bound.store, [], { offset: reached, dateMs: dateAt(reached), topicId });
    environment.hooks.restored?.(state.task, bound.store, restored, this.clock.monotonicMs() - startedMs);
  }
}
