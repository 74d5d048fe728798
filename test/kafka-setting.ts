/** A real cluster for tests of the native client. */
import { createKafkaBroker, type KafkaBrokerOptions } from '@tally/kafka';
import Kafka from '@confluentinc/kafka-javascript';
import type { BrokerSetting } from '../libs/testing/src/broker.suite.js';

/** Longer than the broker takes to move the partitions of a member that is not polled any more. */
const pollIntervalMs = 2_000;

export function kafkaAddresses(): string {
  const brokers = process.env['KAFKA_BROKERS'];
  if (brokers === undefined || brokers === '')
    throw new Error('Set KAFKA_BROKERS to the addresses of a Kafka cluster, for example 127.0.0.1:9092.');
  return brokers;
}

export async function createKafkaSetting(options: Partial<KafkaBrokerOptions> = {}): Promise<BrokerSetting> {
  const brokers = kafkaAddresses();
  const broker = createKafkaBroker({ brokers, consumer: { 'max.poll.interval.ms': pollIntervalMs }, ...options });
  await broker.connect();
  const sleep = (durationMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, durationMs));
  return {
    broker,
    sleep,
    run: (test) => test(),
    outlastPolling: () => sleep(pollIntervalMs + 1_500),
    deleteTopic: (name) => deleteTopic(brokers, name),
    addPartitions: (topic, total) => adminCall((admin, callback) => admin.createPartitions(topic, total, callback), brokers),
    close: () => broker.close(),
  };
}

function deleteTopic(brokers: string, name: string): Promise<void> {
  return adminCall((admin, callback) => admin.deleteTopic(name, callback), brokers);
}

/** What only a test does to a cluster, with an admin client of its own. */
export function adminCall(
  call: (admin: ReturnType<typeof Kafka.AdminClient.create>, callback: (error: { message: string } | undefined) => void) => void,
  brokers = kafkaAddresses(),
): Promise<void> {
  const admin = Kafka.AdminClient.create({ 'bootstrap.servers': brokers });
  return new Promise((resolve, reject) => {
    call(admin, (error) => {
      admin.disconnect();
      if (error) reject(new Error(error.message));
      else resolve();
    });
  });
}
