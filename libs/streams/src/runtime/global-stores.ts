/**
 * The global stores of one worker: topics whose last values it holds whole, in a database of its own beside those of the tasks.
 *
 * Invariants
 * 1. Before the group is joined every store is up to its topic's last stable offset: the first record that is processed finds what was there.
 * 2. The database holds what was read with the position behind it, of each partition; replaying what is there already is harmless.
 * 3. A store of which no partition has a position holds nothing.
 */
import { sleep } from '../core/clock.js';
import { TallyError } from '../core/errors.js';
import { partitionName } from '../core/record.js';
import { entryOfRecord } from '../state/key-value-codec.js';
import type { StoreEngine } from '../state/store-engine.js';
import { type ChangelogPosition, TaskState } from '../state/task-state.js';
import type { GlobalStore } from '../topology/topology.js';
import type { Broker, ConsumedRecord, TopicDescription } from './broker.js';
import type { TaskEnvironment } from './environment.js';
import { GlobalFollower } from './global-follower.js';
import { type GlobalPartition, positionNameOf } from './global-partition.js';
import { GlobalReader } from './global-reader.js';
import type { Restorer } from './restore.js';
import type { Slot } from './slot.js';
import { reasonToRebuild, tombstoneRetentionMsOf } from './task-stores.js';
import type { GlobalTopic, TopicPlan } from './topics.js';

/** Names the stores together, where others name a task. */
const owner = 'global';
const lookMs = 50;

interface Bound {
  readonly partition: GlobalPartition;
  readonly begin: number;
  readonly end: number;
}

export class GlobalStores {
  private readonly readers = new Map<string, GlobalReader>();
  private readonly partitions: GlobalPartition[] = [];
  private state: TaskState | undefined;
  private follower: GlobalFollower | undefined;
  private isDamaged = false;

  constructor(
    private readonly environment: TaskEnvironment,
    private readonly broker: Broker,
    private readonly engine: StoreEngine,
    private readonly restorer: Restorer,
    private readonly slot: Slot,
    private readonly plan: TopicPlan,
  ) {}

  /** Committed rows of the store; `undefined` where there is no global store of that name. */
  reader(name: string): GlobalReader | undefined {
    return this.readers.get(name);
  }

  get cacheBytes(): number {
    return this.state?.cacheBytes ?? 0;
  }

  /** How far each partition has been read. */
  get positions(): readonly GlobalPartition[] {
    return this.partitions;
  }

  /**
   * Brings the stores up to their topics, and follows them from then on.
   * @throws TallyError `WORKER_STOPPED` when it is not wanted any more
   */
  async open(isWanted: () => boolean): Promise<void> {
    const { globalStores } = this.environment.topology;
    if (globalStores.size === 0) return;
    await this.openState();
    for (const [name, { topic, store }] of globalStores) {
      const found = this.plan.globals.get(name);
      if (found !== undefined) this.partitions.push(...partitionsOf({ topic, store }, found, 0));
    }
    const dateMs = this.environment.clock.nowMs();
    const bounds = await this.bounds();
    for (const name of globalStores.keys()) await this.rebuildWhereNeeded(bounds.filter(({ partition }) => partition.store.name === name));
    await this.restore(bounds, dateMs, isWanted);
    this.follow();
  }

  async close(): Promise<void> {
    await this.follower?.close();
    await this.state?.close();
    if (this.isDamaged) await this.engine.destroy(this.directory);
  }

  private get directory(): string {
    return this.slot.taskDirectory(owner);
  }

  private async openState(): Promise<void> {
    const { topology, clock, options, logger } = this.environment;
    const stores = [...topology.globalStores.values()].map(({ store }) => ({ ...store, changelog: false }));
    const cacheBytesMax = Math.floor(options.cacheBytesMax / 16);
    const open = (): Promise<TaskState> =>
      TaskState.open({ engine: this.engine, directory: this.directory, task: owner, stores, cacheBytesMax, clock });
    try {
      this.state = await open();
    } catch (error) {
      if (!(error instanceof TallyError) || error.code !== 'STATE_CORRUPT') throw error;
      logger.warn(`Global stores are made anew of their topics: ${error.message}`);
      await this.engine.destroy(this.directory);
      this.state = await open();
    }
    for (const { store } of topology.globalStores.values())
      this.readers.set(store.name, new GlobalReader(store.name, this.state.readerOf(store), (error) => this.damaged(error)));
  }

  /** What the stores hold cannot be trusted; the topics make it anew at the next start. */
  private damaged(error: Error): TallyError {
    this.isDamaged = true;
    const message = `The local copy of the global tables is damaged: ${error.message} Start the worker again: it is made anew of the topics.`;
    const fatal = new TallyError({ code: 'GLOBAL_STATE_CORRUPT', kind: 'fatal', message, cause: error });
    this.environment.fail(fatal);
    return fatal;
  }

  private async bounds(): Promise<readonly Bound[]> {
    const { admin } = this.broker;
    const ends = new Map((await admin.listOffsets(this.partitions, 'lastStable')).map((each) => [partitionName(each), each.offset]));
    const begins = new Map((await admin.listOffsets(this.partitions, 'earliest')).map((each) => [partitionName(each), each.offset]));
    return this.partitions.map((partition) => ({
      partition,
      begin: begins.get(partitionName(partition)) ?? 0,
      end: ends.get(partitionName(partition)) ?? 0,
    }));
  }

  /** A key may have been in any partition, so all of them are read anew. */
  private async rebuildWhereNeeded(bounds: readonly Bound[]): Promise<void> {
    const [first] = bounds;
    if (first === undefined) return;
    const { store } = first.partition;
    const { clock, logger, counters, hooks } = this.environment;
    const stored = bounds.map((bound) => [bound, this.state?.position(positionNameOf(bound.partition))] as const);
    const reason = stored.map(([bound, position]) => position && this.reasonToRebuild(position, bound, clock.nowMs())).find(Boolean);
    if (reason === undefined && stored.some(([, position]) => position !== undefined)) return;
    if (reason !== undefined) {
      logger.warn(`Global store '${store.name}' is made anew of its topic: ${reason}`, { store: store.name });
      counters.storesRebuilt++;
      hooks.rebuilt?.(owner, store.name, reason);
    }
    await this.state?.beginRebuild(
      store.name,
      bounds.map(({ partition }) => positionNameOf(partition)),
    );
  }

  private reasonToRebuild(position: ChangelogPosition, { partition, begin, end }: Bound, nowMs: number): string | undefined {
    return reasonToRebuild(position, { topicId: partition.topicId, begin, end }, nowMs, partition.tombstoneRetentionMs, 'topic');
  }

  private async restore(bounds: readonly Bound[], dateMs: number, isWanted: () => boolean): Promise<void> {
    let isDone = false;
    const restoring = Promise.all(bounds.map((bound) => this.replay(bound, dateMs))).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      if (!isWanted()) for (const { partition } of bounds) this.restorer.cancel(partition);
      await Promise.race([restoring, sleep(this.environment.clock, lookMs)]);
    }
    await restoring;
    await this.noteRestored(bounds, dateMs);
    if (isWanted() && bounds.every(({ partition, end }) => partition.position >= end)) return;
    throw new TallyError({
      code: 'WORKER_STOPPED',
      kind: 'closed',
      message: 'The worker was stopped while it was reading its global tables.',
    });
  }

  /** At its end a replay has met every deletion that was there when it began; until then the date is what it was. */
  private async replay({ partition, begin, end }: Bound, startedAtMs: number): Promise<void> {
    const { clock, hooks } = this.environment;
    const startedMs = clock.monotonicMs();
    const known = this.state?.position(positionNameOf(partition));
    partition.position = known?.offset ?? begin;
    const dateAt = (offset: number): number => (known === undefined || offset >= end ? startedAtMs : Math.min(known.dateMs, startedAtMs));
    let restored = 0;
    await this.restorer.replay({
      from: { topic: partition.topic, partition: partition.partition, offset: partition.position },
      until: end,
      apply: async (records, position) => {
        partition.dateMs = dateAt(position);
        await this.apply(partition, records, position);
        partition.position = position;
        restored += records.length;
      },
    });
    hooks.restored?.(owner, partition.store.name, restored, clock.monotonicMs() - startedMs);
  }

  /** What had reached its end already, and what is empty, gets the date too. */
  private async noteRestored(bounds: readonly Bound[], dateMs: number): Promise<void> {
    for (const { partition, end } of bounds) {
      if (partition.position < end) continue;
      partition.dateMs = dateMs;
      await this.apply(partition, [], partition.position);
    }
  }

  private async apply(partition: GlobalPartition, records: readonly ConsumedRecord[], position: number): Promise<void> {
    const { counters, statistics } = this.environment;
    const entries = records.flatMap(({ key, value, timestampMs }) => (key === null ? [] : [entryOfRecord(key, value, timestampMs)]));
    const { dateMs, topicId } = partition;
    await this.state?.applyRestored(partition.store.name, entries, { offset: position, dateMs, topicId }, positionNameOf(partition));
    counters.recordsDropped += records.length - entries.length;
    statistics.passedOver('nullKey', records.length - entries.length);
  }

  private follow(): void {
    const { clock, logger } = this.environment;
    this.follower = new GlobalFollower(this.broker, clock, logger, this.partitions, {
      apply: (partition, records, position) => this.apply(partition, records, position),
      grown: (found) => this.grown(found),
      fail: (error) => this.environment.fail(error),
    });
    this.follower.start();
  }

  private grown(found: TopicDescription): readonly GlobalPartition[] {
    const known = this.partitions.filter(({ topic }) => topic === found.name).length;
    const globalStore = [...this.environment.topology.globalStores.values()].find(({ topic }) => topic.name === found.name);
    return globalStore === undefined ? [] : partitionsOf(globalStore, found, known);
  }
}

function partitionsOf({ store, topic }: GlobalStore, found: GlobalTopic, from: number): readonly GlobalPartition[] {
  const { name, topicId, partitions } = found;
  const tombstoneRetentionMs = tombstoneRetentionMsOf(topic);
  return Array.from({ length: Math.max(0, partitions - from) }, (_none, index) => ({
    topic: name,
    partition: from + index,
    store,
    topicId,
    tombstoneRetentionMs,
    position: 0,
    dateMs: 0,
  }));
}
