/** Records for the topologies of the worker processes: keys spread over all partitions, each record with an id of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type OutputProducer, int64, partitionForKey } from '@tally/streams';
import type { Cluster } from './cluster.js';
import type { TotalsModel } from './model.js';

export interface LoadOptions {
  /** Input topics, with equal numbers of partitions; the records go to them in turn. */
  readonly topics: readonly string[];
  readonly partitions: number;
  /** Default 400. */
  readonly keys?: number;
}

/** Records that are being sent while something else happens. */
export interface Flow {
  /** Goes on until at least so many records have been sent in all; resolves when they have been acknowledged. */
  end(records: number): Promise<void>;
}

interface LoadKey {
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly partition: number;
}

const burstMs = 20;
const value = int64();

export class Load {
  /** Records sent so far; the next one has the next number as its id. */
  sent = 0;
  private isClosed = false;
  private sending: Promise<void> = Promise.resolve();
  /** Ids since the last flush that succeeded. */
  private unacknowledged: number[] = [];
  private readonly keys: readonly LoadKey[];

  private constructor(
    private producer: OutputProducer,
    private readonly cluster: Cluster,
    private readonly options: LoadOptions,
    private readonly model: TotalsModel,
  ) {
    this.keys = Array.from({ length: options.keys ?? 400 }, (_, index) => {
      const text = `key-${index}`;
      const bytes = Buffer.from(text);
      return { text, bytes, partition: partitionForKey(bytes, options.partitions) };
    });
  }

  static async connect(cluster: Cluster, options: LoadOptions, model: TotalsModel): Promise<Load> {
    return new Load(await connectedProducer(cluster), cluster, options, model);
  }

  /**
   * Goes on with another producer, and sends again what has not been acknowledged, which may be in the topics already. For tests that stop the
   * broker: now and then the client's producer never sends again afterwards.
   */
  async renew(): Promise<void> {
    const old = this.producer;
    this.producer = await connectedProducer(this.cluster);
    await old.close();
    for (const id of this.unacknowledged) await this.produce(id);
  }

  /** Sends records as fast as the broker takes them, or so many a second; resolves when all have been acknowledged. */
  async send(records: number, recordsPerSecond = Number.POSITIVE_INFINITY, flushTimeoutMs = 60_000): Promise<void> {
    await this.flow(recordsPerSecond, flushTimeoutMs).end(this.sent + records);
  }

  /** Sends so many records a second, until it is ended. One at a time. */
  flow(recordsPerSecond: number, flushTimeoutMs = 60_000): Flow {
    let sentMin: number | undefined;
    const isOver = (): boolean => this.isClosed || (sentMin !== undefined && this.sent >= sentMin);
    this.sending = this.sendUntil(isOver, recordsPerSecond, flushTimeoutMs);
    // A test that has failed does not look at it any more.
    this.sending.catch(() => {});
    return {
      end: (records) => {
        sentMin = records;
        return this.sending;
      },
    };
  }

  private async sendUntil(isOver: () => boolean, recordsPerSecond: number, flushTimeoutMs: number): Promise<void> {
    const startedMs = performance.now();
    const before = this.sent;
    // The first burst is awaited, so that an end is named before a flow without a rate begins.
    for (await sleep(0); !isOver(); await sleep(burstMs)) {
      const due = before + Math.ceil(((performance.now() - startedMs + burstMs) / 1_000) * recordsPerSecond);
      while (this.sent < due && !isOver()) await this.sendOne();
    }
    await this.flush(flushTimeoutMs);
  }

  /** Resolves when all that was sent is in the topics. @throws BrokerError of kind `retriable` after the timeout */
  async flush(timeoutMs: number): Promise<void> {
    await this.producer.flush(timeoutMs);
    const [failure] = this.producer.takeFailures();
    if (failure !== undefined) throw failure.error;
    this.unacknowledged = [];
  }

  private async sendOne(): Promise<void> {
    const id = ++this.sent;
    this.unacknowledged.push(id);
    await this.produce(id);
    this.model.add(this.keyOf(id).text, id);
  }

  /** Neighbours have different keys, and a key comes back at different distances. */
  private keyOf(id: number): LoadKey {
    const key = this.keys[(id * 7 + Math.floor(id / 97)) % this.keys.length];
    if (key === undefined) throw new Error('a load needs keys');
    return key;
  }

  private async produce(id: number): Promise<void> {
    const { bytes, partition } = this.keyOf(id);
    const topic = this.options.topics[id % this.options.topics.length];
    if (topic === undefined) throw new Error('a load needs topics');
    // A timestamp that grows with the id: over several topics the order of processing is then the order of sending, as far as both are there.
    while (!this.producer.produce(topic, partition, bytes, value.serialize(BigInt(id)), 1_700_000_000_000 + id, [])) await sleep(2);
  }

  /** Ends what is being sent, too. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.sending.catch(() => {});
    await this.producer.close();
  }
}

async function connectedProducer(cluster: Cluster): Promise<OutputProducer> {
  const producer = cluster.broker.createOutputProducer();
  await producer.connect();
  return producer;
}
