/** The cluster as seen from outside of the application under test: topics, committed records, offsets. */
import { createKafkaBroker } from '@tally/kafka';
import { type Broker, type ConsumedRecord, TallyError, type TopicPartition, partitionName } from '@tally/streams';
import { setTimeout as sleep } from 'node:timers/promises';

const readPatienceMs = 60_000;
const attemptsMax = 6;

export class Cluster {
  private constructor(
    readonly broker: Broker,
    readonly brokers: string,
  ) {}

  static async connect(brokers: string): Promise<Cluster> {
    const broker = createKafkaBroker({ brokers });
    await broker.connect();
    return new Cluster(broker, brokers);
  }

  async createTopic(name: string, partitions: number, config: Readonly<Record<string, string>> = {}): Promise<void> {
    // The loads have timestamps of long ago: with a retention the broker deletes them at its next look for what has expired.
    const kept = { 'retention.ms': '-1', ...config };
    await again(() => this.broker.admin.createTopic({ name, partitions, replicationFactor: -1, config: kept }));
    while (!(await again(() => this.broker.admin.describeTopics([name]))).has(name)) await sleep(20);
  }

  async partitionsOf(topic: string): Promise<readonly TopicPartition[]> {
    const found = (await again(() => this.broker.admin.describeTopics([topic]))).get(topic);
    if (found === undefined) throw new Error(`There is no topic '${topic}'.`);
    return Array.from({ length: found.partitions }, (_, partition) => ({ topic, partition }));
  }

  /** All committed records of the topic, each partition in its order; waits for transactions that are open. */
  async read(topic: string): Promise<readonly ConsumedRecord[]> {
    const partitions = await this.partitionsOf(topic);
    const ends = await again(() => this.broker.admin.listOffsets(partitions, 'highWatermark'));
    const begins = await again(() => this.broker.admin.listOffsets(partitions, 'earliest'));
    const reader = this.broker.createReader();
    const records: ConsumedRecord[] = [];
    const untilMs = Date.now() + readPatienceMs;
    const missing = (): boolean => ends.some((end) => end.offset > 0 && (reader.position(end) ?? 0) < end.offset);
    try {
      await reader.connect();
      await reader.assign(begins);
      while (missing()) {
        records.push(...(await reader.read(10_000, 50)));
        if (Date.now() > untilMs && missing()) throw new Error(`'${topic}' cannot be read to its end: is a transaction open?`);
      }
    } finally {
      await reader.close();
    }
    return records;
  }

  /** Partitions whose committed offset of the group is not yet at the end, and those with open transactions on the topics. */
  async unfinished(group: string, inputs: readonly string[], outputs: readonly string[]): Promise<readonly string[]> {
    const { admin } = this.broker;
    const places = (await Promise.all(inputs.map((topic) => this.partitionsOf(topic)))).flat();
    const ends = new Map((await again(() => admin.listOffsets(places, 'highWatermark'))).map((each) => [partitionName(each), each.offset]));
    const unfinished: string[] = [];
    try {
      for (const { topic, partition, offset = 0 } of await admin.stableOffsets(group, places)) {
        const end = ends.get(partitionName({ topic, partition })) ?? 0;
        if (offset < end) unfinished.push(`${topic}-${partition}: ${offset} of ${end}`);
      }
    } catch (error) {
      unfinished.push(`committed offsets are pending: ${String(error)}`);
    }
    const written = (await Promise.all(outputs.map((topic) => this.partitionsOf(topic)))).flat();
    const open = await this.inTransaction(written);
    return [...unfinished, ...open.map((each) => `${partitionName(each)} has an open transaction`)];
  }

  /** Those of the partitions that hold records of a transaction that has not ended. */
  async inTransaction(partitions: readonly TopicPartition[]): Promise<readonly TopicPartition[]> {
    const { admin } = this.broker;
    // In this order: a transaction that begins between the two is not overlooked.
    const stable = await again(() => admin.listOffsets(partitions, 'lastStable'));
    const high = await again(() => admin.listOffsets(partitions, 'highWatermark'));
    const ends = new Map(high.map((each) => [partitionName(each), each.offset]));
    return stable.filter((each) => each.offset < (ends.get(partitionName(each)) ?? 0));
  }

  close(): Promise<void> {
    return this.broker.close();
  }
}

/** Repeats a request that the cluster did not answer: the machine may be busy, and that is not what is tested. */
async function again<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof TallyError) || error.kind !== 'retriable' || attempt === attemptsMax) throw error;
      await sleep(100);
    }
  }
}
