/** Sets a group's committed offsets from outside, as kafka-consumer-groups.sh --reset-offsets does: while nobody is in the group. */
import Kafka from '@confluentinc/kafka-javascript';
import { kafkaAddresses } from '../kafka-setting.js';

export async function resetOffsets(
  groupId: string,
  offsets: readonly { readonly topic: string; readonly partition: number; readonly offset: number }[],
): Promise<void> {
  const consumer = new Kafka.KafkaConsumer({ 'bootstrap.servers': kafkaAddresses(), 'group.id': groupId, 'enable.auto.commit': false }, {});
  await new Promise<void>((resolve, reject) => {
    consumer.connect({}, (error) => (error ? reject(new Error(error.message)) : resolve()));
  });
  try {
    consumer.commitSync(offsets.map((each) => ({ ...each })));
  } finally {
    await new Promise<void>((resolve) => {
      consumer.disconnect(() => resolve());
    });
  }
}
