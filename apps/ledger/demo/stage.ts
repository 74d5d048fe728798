/** What the demo works with: the cluster, the topics of this run, and the instances of the ledger. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LedgerInstance, waitFor } from './instance.js';
import { Cluster, type Partition, partitionsOf } from './kafka.js';
import type { Progress } from './progress.js';

export interface StageOptions {
  readonly brokers: string;
  /** The ledger's built entry file. */
  readonly entryFile: string;
  readonly instances: number;
  readonly windowMs: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

const startTimeoutMs = 60_000;

export class Stage {
  readonly cluster: Cluster;
  readonly instances: LedgerInstance[] = [];
  /** Unique, so that a run disturbs nothing else on the cluster. */
  readonly runId = `tally-demo-${Date.now().toString(36)}-${process.pid.toString(36)}`;
  readonly topics = {
    payments: `${this.runId}-payments`,
    postings: `${this.runId}-postings`,
    balances: `${this.runId}-balances`,
    rejected: `${this.runId}-payments-rejected`,
    malformed: `${this.runId}-payments-malformed`,
  };
  readonly inputs: readonly Partition[];
  readonly outputs: readonly Partition[];
  readonly directory: string;
  /** First offset that is not yet processed and committed, by partition. */
  processedOffsets: readonly number[] = [];
  sent = 0;
  /** Output records compared so far; 0 while payments are still being processed. */
  compared = 0;
  /** An instance is about to be killed: payments must flow, for it to have an open transaction. */
  striking = false;
  /** Where the next kill is due, in records: what lies behind it is not sent before. */
  holdAt = Infinity;

  private constructor(readonly options: StageOptions) {
    const partitions = Math.max(4, options.instances * 2);
    const { payments, ...outputs } = this.topics;
    this.inputs = partitionsOf([payments], partitions);
    this.outputs = partitionsOf(Object.values(outputs), partitions);
    this.directory = mkdtempSync(join(tmpdir(), 'tally-demo-'));
    this.cluster = Cluster.connect(options.brokers);
  }

  static async open(options: StageOptions): Promise<Stage> {
    const stage = new Stage(options);
    try {
      await Promise.all(Object.values(stage.topics).map((topic) => stage.cluster.createTopic(topic, stage.inputs.length)));
      for (let number = 1; number <= options.instances; number++) stage.instances.push(await stage.makeInstance(number));
      return stage;
    } catch (error) {
      await stage.close(false);
      throw error;
    }
  }

  get processed(): number {
    return this.processedOffsets.reduce((sum, offset) => sum + offset, 0);
  }

  async startAll(): Promise<void> {
    for (const instance of this.instances) instance.start();
    await this.waitUntilShared();
  }

  /** Waits until every partition is owned and restored by exactly one instance, and every instance owns some. */
  async waitUntilShared(): Promise<void> {
    await waitFor('the instances share all partitions', startTimeoutMs, this.options.signal, async () => {
      const owned = this.instances.flatMap((instance) => instance.stats?.partitions ?? []);
      const everyoneHasSome = this.instances.every(
        (instance) => (instance.stats?.ready ?? false) && (instance.stats?.partitions.length ?? 0) > 0,
      );
      return everyoneHasSome && owned.length === this.inputs.length && new Set(owned).size === this.inputs.length;
    });
  }

  /** Asks the group how far it is, and the instances for their counters. @throws when an instance ended by itself */
  async refresh(): Promise<void> {
    for (const instance of this.instances) {
      instance.check();
      // Not awaited: an instance that is frozen or starting must not hold up the others.
      void instance.refresh();
    }
    this.processedOffsets = await this.readProcessedOffsets();
  }

  async readProcessedOffsets(): Promise<number[]> {
    const offsets = await this.cluster.committedOffsets(this.runId, this.inputs);
    return this.inputs.map(({ partition }) => offsets.find((one) => one.partition === partition)?.offset ?? 0);
  }

  async readSentOffsets(): Promise<number[]> {
    const offsets = await this.cluster.endOffsets(this.inputs, false);
    return this.inputs.map(({ partition }) => offsets.find((one) => one.partition === partition)?.offset ?? 0);
  }

  /** Ends every process at once, and removes what this run made. */
  async close(keep: boolean): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.kill()));
    if (!keep) {
      const topics = (await this.cluster.listTopics()).filter((topic) => topic.startsWith(this.runId));
      await Promise.allSettled(topics.map((topic) => this.cluster.deleteTopic(topic)));
      rmSync(this.directory, { recursive: true, force: true });
    }
    await this.cluster.close();
  }

  private makeInstance(number: number): Promise<LedgerInstance> {
    return LedgerInstance.create({
      name: `ledger-${number}`,
      entryFile: this.options.entryFile,
      directory: this.directory,
      environment: {
        KAFKA_BROKERS: this.options.brokers,
        APPLICATION_ID: this.runId,
        TOPIC_PREFIX: `${this.runId}-`,
        DEDUPLICATION_WINDOW_MS: String(this.options.windowMs),
        UV_THREADPOOL_SIZE: '16',
        NODE_ENV: 'production',
      },
    });
  }
}
