/** A real cluster as a ground for random commands: topics and readers that many sequences use, one after another. */
import { randomUUID } from 'node:crypto';
import { createKafkaBroker, type KafkaBroker } from '@tally/kafka';
import type { PartitionReader } from '@tally/streams';
import { resolveOptions } from '../../libs/kafka/src/options.js';
import { KafkaPartitionReader } from '../../libs/kafka/src/reader.js';
import { execute, type Ground, type Sequence, topicSettings } from '../../libs/testing/src/broker-suite/random-commands.suite.js';
import { adminCall, kafkaAddresses } from '../kafka-setting.js';

/** Each group costs the admin side of a broker a client, kept until it closes: after so many sequences a new one is made. */
const sequencesPerBroker = 10;

interface Clients {
  readonly broker: KafkaBroker;
  readonly committedReader: PartitionReader;
  readonly uncommittedReader: PartitionReader;
}

export class KafkaGround implements Ground {
  private readonly prefix = `random-${randomUUID().slice(0, 8)}`;
  private readonly topics = { plain: `${this.prefix}-plain`, compacted: `${this.prefix}-compacted` };
  private clients: Clients | undefined;
  private sequences = 0;

  async run(sequence: Sequence) {
    if (this.sequences % sequencesPerBroker === 0) await this.renew();
    const { broker, committedReader, uncommittedReader } = this.clients!;
    return execute(sequence, {
      broker,
      topics: this.topics,
      committedReader,
      uncommittedReader,
      prefix: `${this.prefix}-${this.sequences++}`,
      addPartitions: (topic, total) => adminCall((admin, callback) => admin.createPartitions(topic, total, callback)),
      deleteTopic: (topic) => adminCall((admin, callback) => admin.deleteTopic(topic, callback)),
      sleep: (durationMs) => new Promise((resolve) => setTimeout(resolve, durationMs)),
      nowMs: () => performance.now(),
    });
  }

  async close(): Promise<void> {
    await this.closeClients();
    for (const topic of Object.values(this.topics)) await adminCall((admin, callback) => admin.deleteTopic(topic, callback));
  }

  private async renew(): Promise<void> {
    await this.closeClients();
    const brokers = kafkaAddresses();
    const broker = createKafkaBroker({ brokers });
    // The options of a broker refuse another isolation, for Tally must never read so.
    const uncommitted = { ...resolveOptions({ brokers }), consumer: { 'isolation.level': 'read_uncommitted' } };
    const [committedReader, uncommittedReader] = [broker.createReader(), new KafkaPartitionReader(uncommitted)];
    await Promise.all([committedReader.connect(), uncommittedReader.connect()]);
    this.clients = { broker, committedReader, uncommittedReader };
    if (this.sequences > 0) return;
    for (const role of ['plain', 'compacted'] as const)
      await broker.admin.createTopic({ name: this.topics[role], replicationFactor: -1, ...topicSettings[role] });
  }

  private async closeClients(): Promise<void> {
    if (this.clients === undefined) return;
    const { broker, committedReader, uncommittedReader } = this.clients;
    await Promise.all([committedReader.close(), uncommittedReader.close()]);
    await broker.close();
  }
}
