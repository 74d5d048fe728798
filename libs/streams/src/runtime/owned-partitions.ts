/** The partitions that the group has given to this worker, and where the consumer stands in them. */
import { assert } from '../core/assert.js';
import { sleep } from '../core/clock.js';
import { TallyError } from '../core/errors.js';
import { type TopicPartition, type TopicPartitionOffset, partitionName } from '../core/record.js';
import type { BrokerAdmin } from './broker.js';
import type { ConsumerGate } from './consumer-gate.js';
import type { TaskEnvironment } from './environment.js';
import type { Input } from './input.js';

interface OwnedPartition extends TopicPartition {
  /** Where the consumer stands while nothing has been read; undefined once it may have moved. */
  untouchedAt: number | undefined;
}

const retryDelayMs = 200;

export class OwnedPartitions {
  private readonly owned = new Map<string, OwnedPartition>();

  constructor(
    private readonly environment: TaskEnvironment,
    private readonly gate: ConsumerGate,
  ) {}

  get all(): readonly TopicPartition[] {
    return [...this.owned.values()];
  }

  has(partition: TopicPartition): boolean {
    return this.owned.has(partitionName(partition));
  }

  /** Answers an assignment: the partitions are taken, paused. */
  async assign(admin: BrokerAdmin, partitions: readonly TopicPartition[]): Promise<void> {
    const starts = await this.startsOf(admin, partitions);
    await this.gate.betweenConsumes(() => this.gate.consumer.assign(starts, { paused: true }));
    for (const start of starts)
      this.owned.set(partitionName(start), { topic: start.topic, partition: start.partition, untouchedAt: start.offset });
  }

  /** Where the consumer is to stand until the opening has decided: the committed offset where it is known already. */
  private async startsOf(admin: BrokerAdmin, partitions: readonly TopicPartition[]): Promise<readonly TopicPartitionOffset[]> {
    const earliest = await this.keepTrying(() => admin.listOffsets(partitions, 'earliest'));
    const starts = new Map(earliest.map((each) => [partitionName(each), each.offset]));
    try {
      for (const { topic, partition, offset } of await admin.stableOffsets(this.environment.options.applicationId, partitions)) {
        if (offset !== undefined) starts.set(partitionName({ topic, partition }), offset);
      }
    } catch {
      // Pending: the opening asks again, and moves the consumer there.
    }
    return partitions.map(({ topic, partition }) => ({ topic, partition, offset: starts.get(partitionName({ topic, partition })) ?? 0 }));
  }

  /** Gives partitions back; the tasks that used them have been closed before. */
  async unassign(partitions: readonly TopicPartition[]): Promise<void> {
    for (const partition of partitions) this.owned.delete(partitionName(partition));
    await this.gate.betweenConsumes(() => this.gate.consumer.unassign(partitions));
  }

  /** Those of the partitions that stay owned bring nothing until they are positioned again. */
  async pause(partitions: readonly TopicPartition[]): Promise<void> {
    const owned = partitions.filter((each) => this.has(each));
    if (owned.length > 0) await this.gate.betweenConsumes(() => this.gate.consumer.pause(owned));
  }

  /** Moves the consumer to the positions of the inputs and opens them to routing; they are asked for between consumes. */
  position(inputs: () => readonly Input[]): Promise<void> {
    return this.gate.betweenConsumes(() => this.moveTo(inputs()));
  }

  private async moveTo(inputs: readonly Input[]): Promise<void> {
    const { consumer } = this.gate;
    const moved = inputs.filter((input) => this.owned.get(partitionName(input))?.untouchedAt !== input.tail);
    if (moved.length > 0) await consumer.seek(moved.map(({ topic, partition, tail }) => ({ topic, partition, offset: tail })));
    for (const input of inputs) {
      const owned = this.owned.get(partitionName(input));
      assert(owned !== undefined, `${partitionName(input)} is owned while its task runs`);
      owned.untouchedAt = undefined;
    }
    const paused = inputs.filter((input) => input.paused);
    if (paused.length > 0) await consumer.resume(paused);
    for (const input of inputs) {
      input.paused = false;
      // What a worker that stops would take in now is left to a successor.
      input.open = !this.environment.isStopping;
    }
  }

  /** Again and again while the cluster cannot answer. */
  async keepTrying<T>(action: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        if (!(error instanceof TallyError) || error.kind !== 'retriable' || this.environment.isStopping) throw error;
        await sleep(this.environment.clock, retryDelayMs);
      }
    }
  }
}
