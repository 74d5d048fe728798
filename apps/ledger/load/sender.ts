/** Sends the load with the plain Kafka client: idempotent, in order, at a bounded rate, and only as far ahead as the gate allows. */
import { setTimeout as sleep } from 'node:timers/promises';
import kafka, { type Producer } from '@confluentinc/kafka-javascript';
import type { LoadRecord } from './payments.js';
import { tracedSend } from './traced-send.js';

export interface SendOptions {
  readonly brokers: string;
  readonly topic: string;
  /** Records per second at most; asked before each burst. */
  readonly ratePerSecond: () => number;
  readonly signal: AbortSignal;
  /** How many records may have been sent by now; asked before each burst. */
  readonly sendableMax?: () => number;
  readonly onProgress?: (sent: number) => void;
}

const queueFullCode = -184;
const burstRecordsMax = 1_000;
const gateClosedPauseMs = 10;

/** @returns the number of records sent, all of them acknowledged; fewer than given when the signal aborted. */
export async function sendLoad(records: Iterable<LoadRecord>, options: SendOptions): Promise<number> {
  const producer = await connect(options.brokers);
  try {
    const sent = await sendPaced(producer, records, options);
    await flush(producer);
    return sent;
  } finally {
    await new Promise((resolve) => producer.disconnect(resolve));
  }
}

async function sendPaced(producer: Producer, records: Iterable<LoadRecord>, options: SendOptions): Promise<number> {
  const iterator = records[Symbol.iterator]();
  let next = iterator.next();
  let sent = 0;
  let allowed = 0;
  let lastMs = performance.now();
  while (next.done !== true && !options.signal.aborted) {
    const nowMs = performance.now();
    // What was not used while the gate was closed is not made up for: at most one burst is saved.
    allowed = Math.min(burstRecordsMax, allowed + ((nowMs - lastMs) / 1_000) * options.ratePerSecond());
    lastMs = nowMs;
    const gate = (options.sendableMax?.() ?? Infinity) - sent;
    for (let left = Math.floor(Math.min(allowed, gate)); left > 0 && next.done !== true; left--) {
      if (!produce(producer, options.topic, next.value)) break;
      sent++;
      allowed--;
      next = iterator.next();
    }
    options.onProgress?.(sent);
    await sleep(gate > 0 ? 1 : gateClosedPauseMs);
  }
  return sent;
}

/** @returns false when the queue is full. */
function produce(producer: Producer, topic: string, record: LoadRecord): boolean {
  try {
    tracedSend(topic, record.key, (headers) => {
      producer.produce(topic, null, Buffer.from(record.value), Buffer.from(record.key), record.timestampMs, undefined, headers);
    });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === queueFullCode) return false;
    throw error;
  }
}

function connect(brokers: string): Promise<Producer> {
  const producer = new kafka.Producer({
    'bootstrap.servers': brokers,
    'client.id': 'ledger-load',
    'enable.idempotence': true,
    // As Java's producers place keys.
    partitioner: 'murmur2_random',
    'linger.ms': 5,
    'compression.type': 'lz4',
  });
  producer.setPollInterval(100);
  return new Promise((resolve, reject) => {
    producer.connect({ timeout: 10_000 }, (error) => {
      if (error === null || error === undefined) resolve(producer);
      else reject(new Error(`cannot reach Kafka at ${brokers}: ${error.message}`));
    });
  });
}

function flush(producer: Producer): Promise<void> {
  return new Promise((resolve, reject) => {
    producer.flush(30_000, (error) => {
      if (error === null || error === undefined) resolve();
      else reject(new Error(`the broker did not acknowledge all payments: ${error.message}`));
    });
  });
}
