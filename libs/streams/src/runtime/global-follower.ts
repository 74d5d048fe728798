/**
 * Keeps global stores up with their topics, on a reader of its own, for as long as the worker runs.
 *
 * Invariants
 * 1. One partition's records are applied in their order, and those of a batch with the position behind them.
 * 2. What cannot be read for a while leaves the stores as they are: they are behind, never wrong. What can never be read stops the worker.
 */
import { type Clock, sleep } from '../core/clock.js';
import { InvalidConfigurationError, errorOf } from '../core/errors.js';
import { partitionName } from '../core/record.js';
import type { Broker, ConsumedRecord, PartitionReader, TopicDescription } from './broker.js';
import type { GlobalPartition } from './global-partition.js';
import type { Logger } from './hooks.js';
import { KeptReader } from './kept-reader.js';
import { groupByPartition } from './restore.js';

export interface FollowerSteps {
  /** Writes a batch; `position` is the offset behind it. */
  apply(partition: GlobalPartition, records: readonly ConsumedRecord[], position: number): Promise<void>;
  /** The topic has more partitions than are followed. */
  grown(topic: TopicDescription): readonly GlobalPartition[];
  fail(error: Error): void;
}

/** Records of all partitions that are read at once. */
const recordsPerRead = 2_000;
const readTimeoutMs = 100;
const retryDelayMs = 500;
const checkIntervalMs = 10_000;
const askAgainMs = 2_000;

export class GlobalFollower {
  private readonly reader: KeptReader;
  private readonly assigned = new Set<GlobalPartition>();
  /** Positions at the last check, of partitions that were behind then. */
  private behind = new Map<GlobalPartition, number>();
  private nextCheckMs: number;
  private isFailing = false;
  private closed = false;
  private running: Promise<void> | undefined;

  constructor(
    private readonly broker: Broker,
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly partitions: GlobalPartition[],
    private readonly steps: FollowerSteps,
  ) {
    this.reader = new KeptReader(broker, logger, 'reader of global tables');
    this.nextCheckMs = clock.monotonicMs() + checkIntervalMs;
  }

  start(): void {
    this.running ??= this.run();
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.running;
    await this.closeReader();
  }

  private async run(): Promise<void> {
    while (!this.closed) {
      try {
        await this.turn();
        this.isFailing = false;
      } catch (error) {
        await this.failed(errorOf(error));
      }
      await this.clock.yieldNow();
    }
  }

  private async turn(): Promise<void> {
    const reader = await this.reader.connected();
    await this.assignNew(reader);
    const records = groupByPartition(await reader.read(recordsPerRead, readTimeoutMs));
    for (const partition of this.partitions) {
      const position = reader.position(partition) ?? partition.position;
      const batch = records.get(partitionName(partition)) ?? [];
      if (batch.length > 0) await this.steps.apply(partition, batch, position);
      partition.position = Math.max(partition.position, position);
    }
    if (this.clock.monotonicMs() < this.nextCheckMs) return;
    this.nextCheckMs = this.clock.monotonicMs() + checkIntervalMs;
    await this.check();
  }

  /** Said once for each trouble, however long it lasts. */
  private async failed(error: Error): Promise<void> {
    if (error instanceof InvalidConfigurationError) {
      this.closed = true;
      this.steps.fail(error);
      return;
    }
    const message = `Global tables are not kept up for the moment: ${error.message}`;
    if (this.isFailing) this.logger.debug(message);
    else this.logger.warn(message);
    this.isFailing = true;
    await this.closeReader();
    if (!this.closed) await sleep(this.clock, retryDelayMs);
  }

  private async closeReader(): Promise<void> {
    this.assigned.clear();
    await this.reader.close();
  }

  private async assignNew(reader: PartitionReader): Promise<void> {
    const fresh = this.partitions.filter((partition) => !this.assigned.has(partition));
    if (fresh.length === 0) return;
    await reader.assign(fresh.map(({ topic, partition, position }) => ({ topic, partition, offset: position })));
    for (const partition of fresh) this.assigned.add(partition);
  }

  // ---- now and then ----------------------------------------------------------------------------------------------------------------

  private async check(): Promise<void> {
    for (const topic of await this.described()) this.partitions.push(...this.steps.grown(topic));
    const nowMs = this.clock.nowMs();
    const { admin } = this.broker;
    const firsts = offsetsByName(await admin.listOffsets(this.partitions, 'earliest'));
    const ends = offsetsByName(await admin.listOffsets(this.partitions, 'lastStable'));
    const behind = new Map<GlobalPartition, number>();
    for (const partition of this.partitions) {
      const name = partitionName(partition);
      if (partition.position < (firsts.get(name) ?? 0)) throw recordsLost(partition, firsts.get(name) ?? 0);
      if (partition.position >= (ends.get(name) ?? 0)) await this.noteEnd(partition, nowMs);
      else behind.set(partition, partition.position);
    }
    // A client that met a broker which died in between may never fetch again.
    const isStuck = [...behind].some(([partition, position]) => this.behind.get(partition) === position);
    this.behind = behind;
    if (isStuck) await this.closeReader();
  }

  /** A topic that was made anew may only look so while a broker starts: only a second answer counts. */
  private async described(): Promise<readonly TopicDescription[]> {
    const topics = new Map(this.partitions.map(({ topic, topicId }) => [topic, topicId]));
    const names = [...topics.keys()];
    const isSame = (found: ReadonlyMap<string, TopicDescription>): boolean =>
      names.every((name) => found.get(name)?.topicId === topics.get(name));
    let found = await this.broker.admin.describeTopics(names);
    if (!isSame(found)) {
      await sleep(this.clock, askAgainMs);
      found = await this.broker.admin.describeTopics(names);
    }
    if (isSame(found)) return [...found.values()];
    const topic = names.find((name) => found.get(name)?.topicId !== topics.get(name));
    throw new InvalidConfigurationError(
      'TOPIC_RECREATED',
      `The global topic '${topic ?? ''}' was deleted, or deleted and created again, while it was being read. Start the worker again: the table is then made of the new topic.`,
      { topic },
    );
  }

  /** The date is kept young, or the position would look too old to be trusted after a quiet time. */
  private async noteEnd(partition: GlobalPartition, nowMs: number): Promise<void> {
    const isOld = nowMs - partition.dateMs > partition.tombstoneRetentionMs / 2;
    if (!isOld) return;
    partition.dateMs = nowMs;
    await this.steps.apply(partition, [], partition.position);
  }
}

function offsetsByName(
  offsets: readonly { readonly topic: string; readonly partition: number; readonly offset: number }[],
): ReadonlyMap<string, number> {
  return new Map(offsets.map((each) => [partitionName(each), each.offset]));
}

function recordsLost({ topic, partition, position }: GlobalPartition, first: number): InvalidConfigurationError {
  return new InvalidConfigurationError(
    'OFFSET_OUT_OF_RANGE',
    `Records ${position} to ${first - 1} of the global topic ${topic}-${partition} were deleted (by retention or by hand) before they were read. Start the worker again: the table is then made anew of what the topic holds.`,
    { topic, partition, offset: position },
  );
}
