/** A process that uses one client of each kind, closes them and has nothing left to do. */
import { createKafkaBroker } from '@tally/kafka';

const id = `exit-${process.pid}-${Date.now()}`;
const broker = createKafkaBroker({ brokers: process.env['KAFKA_BROKERS'] ?? '' });
await broker.connect();
await broker.admin.createTopic({ name: id, partitions: 2, replicationFactor: -1, config: {} });
const producer = broker.createTransactionalProducer({ transactionalId: id, transactionTimeoutMs: 10_000, clientId: id });
await producer.init();
await producer.begin();
producer.produce(id, 0, null, new Uint8Array([1]), 1, []);
const output = broker.createOutputProducer();
await output.connect();
output.produce(id, 1, null, new Uint8Array([1]), 1, []);
const consumer = broker.createConsumer({ groupId: id, clientId: id, listener: { assigned() {}, revoked() {}, lost() {}, failed() {} } });
await consumer.subscribe([id]);
for (let count = 0; count < 20; count++) await consumer.consume(10, 25);
const reader = broker.createReader();
await reader.connect();
await reader.assign([{ topic: id, partition: 0, offset: 0 }]);
await reader.read(10, 25);
await Promise.all([producer.close(), output.close(), consumer.close(), reader.close(), broker.close()]);
console.log('closed');
