/** The broker port on a real cluster. */
import type {
  Broker,
  BrokerAdmin,
  ClientQueues,
  GroupConsumer,
  GroupConsumerOptions,
  OutputProducer,
  PartitionReader,
  TransactionalProducer,
  TransactionalProducerOptions,
} from '@tally/streams';
import { KafkaAdmin } from './admin.js';
import { checkClientProperties } from './client-properties.js';
import { KafkaGroupConsumer } from './consumer.js';
import { type KafkaBrokerOptions, type ResolvedOptions, resolveOptions } from './options.js';
import { programFile } from './fetch-process.js';
import { KafkaOutputProducer } from './output-producer.js';
import { KafkaPartitionReader } from './reader.js';
import { QueueWatch } from './queue-watch.js';
import { threadPoolAdvice } from './thread-pool.js';
import { KafkaTransactionalProducer } from './transactional-producer.js';

export class KafkaBroker implements Broker {
  readonly name: string;
  /** librdkafka takes 0 for "now". */
  readonly unwritableTimestampMs = 0;
  readonly #options: ResolvedOptions;
  readonly #admin: KafkaAdmin;
  readonly #queues = new QueueWatch();

  /** @throws BrokerError of kind `invalid`, naming the option. */
  constructor(options: KafkaBrokerOptions) {
    this.#options = resolveOptions(options);
    checkClientProperties(this.#options);
    if (this.#options.fetchProcess) programFile();
    this.name = this.#options.brokers;
    this.#admin = new KafkaAdmin(this.#options);
  }

  get admin(): BrokerAdmin {
    return this.#admin;
  }

  /** @throws BrokerError `BROKER_UNREACHABLE`, or `UNSUPPORTED_BROKER` when it is older than Kafka 4.0. */
  async connect(timeoutMs?: number): Promise<void> {
    const advice = threadPoolAdvice();
    if (advice !== undefined) this.#options.logger.warn(advice);
    await this.#admin.connect(timeoutMs);
  }

  createConsumer(options: GroupConsumerOptions): GroupConsumer {
    return new KafkaGroupConsumer(this.#options, options, this.#admin, this.#queues);
  }

  createTransactionalProducer(options: TransactionalProducerOptions): TransactionalProducer {
    return new KafkaTransactionalProducer(this.#options, options, this.#queues);
  }

  createOutputProducer(): OutputProducer {
    return new KafkaOutputProducer(this.#options, this.#queues);
  }

  createReader(): PartitionReader {
    return new KafkaPartitionReader(this.#options);
  }

  /** Counts as of a few seconds ago; 0 where no telemetry was on when the clients were made. */
  clientQueues(): ClientQueues {
    return this.#queues.queues;
  }

  close(): Promise<void> {
    return this.#admin.close();
  }
}

/**
 * The broker port over the native client.
 * @throws BrokerError of kind `invalid` that names the option which is wrong.
 */
export function createKafkaBroker(options: KafkaBrokerOptions): KafkaBroker {
  return new KafkaBroker(options);
}
