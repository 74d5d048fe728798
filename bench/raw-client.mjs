// @ts-check
/**
 * The ceiling: what the client underneath Tally does without Tally. Consumes payments and passes each on, exactly-once, one transaction per commit
 * interval, no state. While a transaction commits, the next batches are collected; they are produced once the next one has begun.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import kafka from '@confluentinc/kafka-javascript';
import { answer, takeWhatIsThere } from './cluster.mjs';
import { serviceArguments } from './service-arguments.mjs';

/** @typedef {import('@confluentinc/kafka-javascript').Message} Message */

const queueFull = -184;
const recordsPerConsume = 2_000;
const waitingRecordsMax = 100_000;
const callTimeoutMs = 10_000;

const { brokers, application, input, output, commitMs } = serviceArguments(process.argv.slice(2));

const consumer = new kafka.KafkaConsumer(
  {
    'metadata.broker.list': brokers,
    'group.id': application,
    'group.protocol': 'consumer',
    'group.remote.assignor': 'range',
    'enable.auto.commit': false,
    'isolation.level': 'read_committed',
    'fetch.queue.backoff.ms': 10,
    'fetch.wait.max.ms': 50,
    'queued.min.messages': 50_000,
    rebalance_cb: true,
  },
  { 'auto.offset.reset': 'earliest' },
);
const producer = new kafka.Producer({
  'metadata.broker.list': brokers,
  'transactional.id': application,
  'linger.ms': 5,
  'batch.size': 262_144,
  'queue.buffering.max.messages': 500_000,
  // A small back-off: the first offsets after a commit would else wait for 100 ms.
  'retry.backoff.ms': 5,
  // A report of a success keeps its record in the queue until it is fetched; a failure fails the commit.
  'delivery.report.only.error': true,
});

/** @type {Message[]} */
const waiting = [];
/** Next offset of each partition, of what was produced in the open transaction. */
const positions = new Map();
const state = { transactionOpen: false, stopping: false };
process.once('SIGTERM', () => (state.stopping = true));

await answer((done) => producer.connect({}, done));
await answer((done) => producer.initTransactions(callTimeoutMs, done));
await answer((done) => consumer.connect({}, done));
consumer.setDefaultConsumeTimeout(20);
takeWhatIsThere(consumer);
consumer.once('rebalance', () => process.stdout.write('state running\n'));
consumer.subscribe([input]);

await answer((done) => producer.beginTransaction(done));
state.transactionOpen = true;
await Promise.all([consumeLoop(), commitLoop()]);
await answer((done) => consumer.disconnect(done));
await answer((done) => producer.disconnect(callTimeoutMs, done));

async function consumeLoop() {
  let next = consume();
  while (!state.stopping) {
    const messages = await next;
    next = consume();
    for (const message of messages) waiting.push(message);
    if (state.transactionOpen) await produceWaiting();
    // Nobody else produces what waits.
    while (waiting.length > waitingRecordsMax && !state.stopping) {
      await sleep(1);
      if (state.transactionOpen) await produceWaiting();
    }
  }
  await next;
}

async function produceWaiting() {
  let done = 0;
  for (const message of waiting) {
    if (!state.transactionOpen || !produce(message)) break;
    positions.set(message.partition, message.offset + 1);
    done++;
  }
  waiting.splice(0, done);
  if (waiting.length > 0) await sleep(1);
}

/** @param {Message} message @returns {boolean} false when the producer's queue is full */
function produce({ partition, key, value, timestamp }) {
  try {
    producer.produce(output, partition, value, key, timestamp);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === queueFull) return false;
    throw error;
  }
}

async function commitLoop() {
  while (!state.stopping) {
    await sleep(commitMs);
    if (positions.size === 0) continue;
    state.transactionOpen = false;
    const offsets = Array.from(positions, ([partition, offset]) => ({ topic: input, partition, offset }));
    positions.clear();
    await answer((done) => producer.sendOffsetsToTransaction(offsets, consumer, callTimeoutMs, done));
    await answer((done) => producer.commitTransaction(callTimeoutMs, done));
    await answer((done) => producer.beginTransaction(done));
    state.transactionOpen = true;
  }
  state.transactionOpen = false;
  await answer((done) => producer.abortTransaction(callTimeoutMs, done));
}

/** @returns {Promise<Message[]>} */
function consume() {
  return answer((done) => consumer.consume(recordsPerConsume, done));
}
