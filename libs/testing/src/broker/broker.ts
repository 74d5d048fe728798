/** The broker port of one simulated process. */
import {
  type Broker,
  BrokerError,
  type Clock,
  type GroupConsumer,
  type GroupConsumerOptions,
  type OutputProducer,
  type PartitionReader,
  type TransactionalProducer,
  type TransactionalProducerOptions,
} from '@tally/streams';
import { SimulatedAdmin } from './admin.js';
import type { SimulatedCluster } from './cluster.js';
import { type ClientSettings, Connection } from './connection.js';
import { SimulatedConsumer } from './consumer.js';
import type { Isolation } from './log.js';
import { SimulatedOutputProducer } from './output-producer.js';
import { SimulatedReader } from './reader.js';
import { type ProducerSettings, SimulatedTransactionalProducer } from './transactional-producer.js';

export interface SimulatedBrokerOptions {
  /** Name of the process, for faults, traces and violations. Default `process`. */
  readonly process?: string;
  /** The process's own clock, where it can be paused or killed. Default: the cluster's. */
  readonly clock?: Clock;
  readonly producer?: Partial<ProducerSettings>;
  /** Longer without a consume, and a consumer leaves its group. Default 300,000 ms. */
  readonly maxPollIntervalMs?: number;
  /** How long the consumer and the admin client wait for an answer. Default 10,000 ms. */
  readonly callTimeoutMs?: number;
  /** What its consumers and readers bring. Default `readCommitted`, as Tally reads. */
  readonly isolation?: Isolation;
  /** Default: as the client of a real cluster, which cannot write the timestamp 0 and copies what it is given. */
  readonly client?: ClientSettings;
}

const callTimeoutMsDefault = 10_000;

/** As the client of a real cluster is set. */
const producerDefaults: ProducerSettings = {
  lingerMs: 5,
  batchBytesMax: 131_072,
  recordBytesMax: 16 * 1_048_576,
  queueRecordsMax: 1_000_000,
  queueBytesMax: 128 * 1_048_576,
  callTimeoutMs: 5_000,
};

export class SimulatedBroker implements Broker {
  readonly name: string;
  readonly admin: SimulatedAdmin;
  readonly unwritableTimestampMs?: number;
  private readonly connection: Connection;
  private readonly producerSettings: ProducerSettings;
  private readonly maxPollIntervalMs: number;
  private readonly callTimeoutMs: number;
  private readonly isolation: Isolation;

  constructor(cluster: SimulatedCluster, options: SimulatedBrokerOptions = {}) {
    const { clock = cluster.clock, process = 'process', client } = options;
    this.connection = new Connection(cluster, clock, process, client);
    if (client?.writesTimestampZero !== true) this.unwritableTimestampMs = 0;
    this.name = `simulated cluster (${this.connection.process})`;
    this.callTimeoutMs = options.callTimeoutMs ?? callTimeoutMsDefault;
    this.admin = new SimulatedAdmin(this.connection, this.callTimeoutMs);
    this.maxPollIntervalMs = options.maxPollIntervalMs ?? 300_000;
    this.isolation = options.isolation ?? 'readCommitted';
    this.producerSettings = { ...producerDefaults, ...options.producer };
  }

  /**
   * Ends the process as SIGKILL does: nothing that it waits for is answered any more, it does not leave its group, and its open
   * transaction stays. What it sent before still takes effect.
   */
  crash(): void {
    this.connection.crash();
  }

  async connect(timeoutMs = this.callTimeoutMs): Promise<void> {
    const { process } = this.connection;
    try {
      const options = { clientId: process, timeoutMs: Math.min(timeoutMs, this.callTimeoutMs) };
      await this.connection.call('connect', options, () => undefined);
    } catch (cause) {
      throw new BrokerError({ code: 'BROKER_UNREACHABLE', kind: 'retriable', message: `The ${this.name} does not answer.`, cause });
    }
  }

  createConsumer(options: GroupConsumerOptions): GroupConsumer {
    return new SimulatedConsumer(this.connection, options, this.maxPollIntervalMs, this.callTimeoutMs, this.isolation);
  }

  createTransactionalProducer(options: TransactionalProducerOptions): TransactionalProducer {
    return new SimulatedTransactionalProducer(this.connection, options, this.producerSettings);
  }

  createOutputProducer(): OutputProducer {
    return new SimulatedOutputProducer(this.connection, this.producerSettings);
  }

  createReader(): PartitionReader {
    return new SimulatedReader(this.connection, this.isolation);
  }

  async close(): Promise<void> {
    this.admin.close();
    await this.connection.sleep(0);
  }
}
