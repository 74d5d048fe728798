/** What the demo asks of the cluster, over the plain client. */
import { setTimeout } from 'node:timers/promises';
import kafka, { type IAdminClient, type KafkaConsumer, type LibrdKafkaError, type Message } from '@confluentinc/kafka-javascript';
import type { RawRecord } from './model.js';

export interface Partition {
  readonly topic: string;
  readonly partition: number;
}

export interface PartitionOffset extends Partition {
  readonly offset: number;
}

type Answer<T> = (error: LibrdKafkaError | null | undefined, result: T) => void;

const topicExistsCode = 36;
const deadlineMs = 10_000;
const attemptsMax = 10;
const pauseMs = 500;

export function partitionsOf(topics: readonly string[], partitions: number): Partition[] {
  return topics.flatMap((topic) => Array.from({ length: partitions }, (_, partition) => ({ topic, partition })));
}

export class Cluster {
  /** Made when offsets are asked for first. The demo has one group. */
  private observer: KafkaConsumer | undefined;

  private constructor(
    private readonly brokers: string,
    private readonly admin: IAdminClient,
  ) {}

  static connect(brokers: string): Cluster {
    return new Cluster(brokers, kafka.AdminClient.create({ 'bootstrap.servers': brokers, 'client.id': 'ledger-demo' }));
  }

  async close(): Promise<void> {
    const { observer } = this;
    this.observer = undefined;
    if (observer !== undefined) await new Promise((resolve) => observer.disconnect(resolve));
    this.admin.disconnect();
  }

  /** Records of payments made long ago must not be deleted for their age while they are being counted. */
  async createTopic(topic: string, partitions: number): Promise<void> {
    await this.ask<void>('create a topic', (answer) => {
      const config = { 'retention.ms': '-1' };
      this.admin.createTopic({ topic, num_partitions: partitions, replication_factor: -1, config }, deadlineMs, (error) => {
        answer(error?.code === topicExistsCode ? undefined : error);
      });
    });
  }

  async deleteTopic(topic: string): Promise<void> {
    await this.ask<void>('delete a topic', (answer) => this.admin.deleteTopic(topic, deadlineMs, (error) => answer(error)));
  }

  listTopics(): Promise<string[]> {
    return this.ask('list topics', (answer) => this.admin.listTopics({ timeout: deadlineMs }, answer));
  }

  /** The offset after the last record; with `committed`, after the last one that no open transaction holds back. */
  async endOffsets(partitions: readonly Partition[], committed: boolean): Promise<PartitionOffset[]> {
    const { LATEST } = kafka.OffsetSpec;
    const isolationLevel = committed ? kafka.IsolationLevel.READ_COMMITTED : kafka.IsolationLevel.READ_UNCOMMITTED;
    const specs = partitions.map(({ topic, partition }) => ({ topic, partition, offset: LATEST }));
    const found = await patiently(() =>
      this.ask<{ topic: string; partition: number; offset: number }[]>('list offsets', (answer) =>
        this.admin.listOffsets(specs, { timeout: deadlineMs, isolationLevel }, answer),
      ),
    );
    return found.map(({ topic, partition, offset }) => ({ topic, partition, offset }));
  }

  /**
   * Offsets that the group has committed; 0 where it has not yet. Asked by a consumer that never joins: the answer to an admin client ends
   * the process when the group's coordinator is not ready.
   */
  async committedOffsets(groupId: string, partitions: readonly Partition[]): Promise<PartitionOffset[]> {
    const found = await patiently(async () => {
      this.observer ??= await this.observe(groupId);
      const { observer } = this;
      return this.ask<readonly { topic: string; partition: number; offset?: number }[]>('list committed offsets', (answer) =>
        observer.committed([...partitions], deadlineMs, answer),
      );
    });
    return found.map(({ topic, partition, offset }) => ({ topic, partition, offset: Math.max(0, offset ?? 0) }));
  }

  private async observe(groupId: string): Promise<KafkaConsumer> {
    const observer = new kafka.KafkaConsumer(
      { 'bootstrap.servers': this.brokers, 'group.id': groupId, 'enable.auto.commit': false, 'isolation.level': 'read_uncommitted' },
      {},
    );
    await this.ask<unknown>('connect an observer', (answer) => observer.connect({ timeout: deadlineMs }, answer));
    return observer;
  }

  /** Hands over every record of the partitions from the given offsets to the end, each partition in its order. */
  async read(starts: readonly PartitionOffset[], committed: boolean, onRecord: (record: RawRecord) => void): Promise<void> {
    if (starts.length === 0) return;
    const consumer = new kafka.KafkaConsumer(
      {
        'bootstrap.servers': this.brokers,
        'group.id': 'ledger-demo-reader',
        'enable.auto.commit': false,
        'enable.partition.eof': true,
        'isolation.level': committed ? 'read_committed' : 'read_uncommitted',
        'fetch.wait.max.ms': 50,
        // By default fetching rests for a second whenever the queue was full.
        'fetch.queue.backoff.ms': 10,
      },
      { 'auto.offset.reset': 'error' },
    );
    const open = new Set(starts.map(({ topic, partition }) => `${topic} ${partition}`));
    consumer.on('partition.eof', ({ topic, partition }) => open.delete(`${topic} ${partition}`));
    consumer.setDefaultConsumeTimeout(100);
    await this.ask<unknown>('connect a reader', (answer) => consumer.connect({ timeout: deadlineMs }, answer));
    try {
      consumer.assign(starts.map(({ topic, partition, offset }) => ({ topic, partition, offset })));
      while (open.size > 0) {
        const messages = await this.ask<Message[]>('read', (answer) => consumer.consume(5_000, answer));
        for (const message of messages) onRecord(toRecord(message));
      }
    } finally {
      await new Promise((resolve) => consumer.disconnect(resolve));
    }
  }

  private ask<T>(what: string, call: (answer: (error: LibrdKafkaError | null | undefined, result?: T) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer: Answer<T | undefined> = (error, result) => {
        if (error === null || error === undefined) resolve(result as T);
        else reject(new Error(`cannot ${what} at ${this.brokers}: ${error.message}`));
      };
      call(answer);
    });
  }
}

/** A broker that has just started, or is busy, is asked again. */
async function patiently<T>(action: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      if (attempt === attemptsMax) throw error;
      await setTimeout(pauseMs);
    }
  }
}

function toRecord(message: Message): RawRecord {
  const { topic, partition, offset, timestamp, key, value } = message;
  return {
    topic,
    partition,
    offset,
    timestampMs: timestamp ?? -1,
    key: key === null || key === undefined ? null : Buffer.from(key),
    value,
  };
}
