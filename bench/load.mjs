// @ts-check
/**
 * Writes the payments: as fast as they go (`rate=0`), or open-loop at a fixed rate, where each record carries the time at which it was due, so that
 * a load program that falls behind makes latencies look worse, never better. Prints how many it wrote; SIGTERM ends it early.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import kafka from '@confluentinc/kafka-javascript';
import { answer } from './cluster.mjs';
import { accountName, paymentJson, paymentSource } from './payments.mjs';
import { wordReader } from './service-arguments.mjs';

const queueFull = -184;

/** @typedef {(at: { payment: ReturnType<import('./payments.mjs').PaymentSource['next']>, timestampMs: number }) => boolean} Send */

const read = wordReader(process.argv.slice(2));
const topic = read('topic');
const records = Number(read('records'));
const rate = Number(read('rate'));
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

const producer = new kafka.Producer({
  'metadata.broker.list': read('brokers'),
  'enable.idempotence': true,
  'linger.ms': rate === 0 ? 20 : 1,
  'batch.size': 131_072,
  'queue.buffering.max.messages': 200_000,
  partitioner: 'murmur2_random',
  // A report of a success keeps its record in the queue until it is fetched.
  'delivery.report.only.error': true,
  dr_cb: true,
});
producer.on('delivery-report', (error) => {
  if (error) throw new Error(`A payment was not written: ${error.message}`);
});
producer.setPollInterval(100);
await answer((done) => producer.connect({}, done));
const written = await (rate === 0 ? writeFast() : writeAtRate());
await answer((done) => producer.flush(60_000, done));
await answer((done) => producer.disconnect(5_000, done));
process.stdout.write(`written ${written}\n`);

/** @type {Send} */
function send({ payment, timestampMs }) {
  try {
    producer.produce(topic, -1, Buffer.from(paymentJson(payment)), Buffer.from(accountName(payment.account)), timestampMs);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === queueFull) return false;
    throw error;
  }
}

async function writeFast() {
  const source = paymentSource(Number(read('seed')), Number(read('keys')));
  let sent = 0;
  for (; sent < records && !stop.signal.aborted; sent++) {
    const payment = source.next();
    while (!send({ payment, timestampMs: Date.now() })) await sleep(5);
  }
  return sent;
}

async function writeAtRate() {
  const source = paymentSource(Number(read('seed')), Number(read('keys')));
  const startMs = Date.now();
  let sent = 0;
  while (sent < records && !stop.signal.aborted) {
    const due = Math.min(records, Math.floor(((Date.now() - startMs) * rate) / 1_000));
    for (; sent < due; sent++) {
      const payment = source.next();
      const timestampMs = Math.floor(startMs + (sent * 1_000) / rate);
      while (!send({ payment, timestampMs })) await sleep(1);
    }
    await sleep(1);
  }
  return sent;
}
