/**
 * Kafka's protocol, just enough to write and read records of any shape without the client that is under test.
 *
 *     frame   := size:int32 apiKey:int16 version:int16 correlationId:int32 clientId:string body | size:int32 correlationId:int32 body
 *     string  := length:int16 UTF-8        array := count:int32 element*        bytes := length:int32 octet*
 *
 * Uses Metadata 1, Produce 3 and Fetch 4, which brokers from 2.0 to 4.4 know, and UpdateFeatures 1. Record batches: record-batch.ts.
 */
import { type Socket, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RawRecord, type StoredRecord, decodeBatches, encodeBatch } from './record-batch.js';

export type { RawHeader, RawRecord, StoredRecord } from './record-batch.js';

const apis = { produce: [0, 3], fetch: [1, 4], metadata: [3, 1], updateFeatures: [57, 1] } as const;
/** Its header and body end in lists of tagged fields; the others are older than these. */
const isTagged = (api: keyof typeof apis): boolean => api === 'updateFeatures';
const unsafeDowngrade = 3;
/** Bytes of keys and values in one batch; a larger record has a batch of its own. */
const batchBytesMax = 200_000;
const patienceMs = 60_000;
const retriedErrors: ReadonlySet<number> = new Set([3, 5, 6, 7, 9]);

/** One connection; requests wait for one another. */
class Connection {
  private received = Buffer.alloc(0);
  private waiting: { resolve: (body: Reader) => void; reject: (error: Error) => void } | undefined;
  private readonly opened: Promise<void>;
  private correlationId = 0;

  private constructor(private readonly socket: Socket) {
    this.opened = new Promise((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', (error) => this.waiting?.reject(error));
    socket.on('close', () => this.waiting?.reject(new Error('The broker closed the connection.')));
  }

  static async open(address: string): Promise<Connection> {
    const colon = address.lastIndexOf(':');
    const connection = new Connection(connect(Number(address.slice(colon + 1)), address.slice(0, colon)));
    await connection.opened;
    return connection;
  }

  ask(api: keyof typeof apis, body: Buffer): Promise<Reader> {
    const [key, version] = apis[api];
    const header = concat(int16(key), int16(version), int32(++this.correlationId), text('wire'), isTagged(api) ? noTags : Buffer.alloc(0));
    this.socket.write(concat(int32(header.length + body.length), header, body));
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
    });
  }

  private receive(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk]);
    if (this.received.length < 4 || this.received.length < 4 + this.received.readInt32BE(0)) return;
    const body = new Reader(this.received.subarray(8));
    this.received = Buffer.alloc(0);
    this.waiting?.resolve(body);
  }

  close(): void {
    this.waiting = undefined;
    this.socket.destroy();
  }
}

export class Wire {
  private readonly connections = new Map<string, Promise<Connection>>();
  private readonly leaders = new Map<string, readonly string[]>();

  constructor(private readonly brokers: string) {}

  close(): void {
    for (const connection of this.connections.values()) void connection.then((each) => each.close());
  }

  /** Appends the records in their order, and resolves when the broker has them. */
  async write(topic: string, partition: number, records: readonly RawRecord[]): Promise<void> {
    for (let from = 0; from < records.length;) {
      let until = from;
      let bytes = 0;
      while (until < records.length && (until === from || bytes < batchBytesMax)) {
        bytes += 30 + (records[until]?.key?.length ?? 0) + (records[until]?.value?.length ?? 0);
        until++;
      }
      await this.writeBatch(topic, partition, encodeBatch(records.slice(from, until)));
      from = until;
    }
  }

  private async writeBatch(topic: string, partition: number, batch: Buffer): Promise<void> {
    const body = concat(int16(-1), int16(-1), int32(30_000), int32(1), text(topic), int32(1), int32(partition), int32(batch.length), batch);
    const untilMs = Date.now() + patienceMs;
    for (;;) {
      const answer = await (await this.leaderOf(topic, partition)).ask('produce', body);
      answer.skip(4 + 2 + Buffer.byteLength(topic) + 4 + 4);
      const error = answer.int16();
      if (error === 0) return;
      // A partition that was just made has no leader for a moment.
      if (!retriedErrors.has(error) || Date.now() > untilMs) throw new Error(`Writing to ${topic}-${partition} failed: error ${error}.`);
      this.leaders.delete(topic);
      await sleep(50);
    }
  }

  /** Lowers a feature of the cluster to level 0: switches it off. */
  async switchOff(feature: string): Promise<void> {
    const update = concat(Buffer.from([2, feature.length + 1]), Buffer.from(feature), int16(0), Buffer.from([unsafeDowngrade]), noTags);
    const answer = await (
      await this.connection(this.brokers.split(',')[0] ?? '')
    ).ask('updateFeatures', concat(int32(30_000), update, Buffer.from([0]), noTags));
    answer.skip(1 + 4);
    const error = answer.int16();
    if (error !== 0) throw new Error(`The feature ${feature} cannot be switched off: error ${error}.`);
  }

  /** All committed records of the topic, by partition and offset; waits for transactions that are open. */
  async read(topic: string): Promise<readonly StoredRecord[]> {
    const records: StoredRecord[] = [];
    for (let partition = 0; partition < (await this.leadersOf(topic)).length; partition++)
      records.push(...(await this.readPartition(topic, partition)));
    return records;
  }

  private async readPartition(topic: string, partition: number): Promise<readonly StoredRecord[]> {
    const records: StoredRecord[] = [];
    const untilMs = Date.now() + patienceMs;
    for (let offset = 0; ;) {
      const place = concat(int32(1), text(topic), int32(1), int32(partition), int64(offset), int32(8_000_000));
      const answer = await (
        await this.leaderOf(topic, partition)
      ).ask('fetch', concat(int32(-1), int32(0), int32(0), int32(8_000_000), Buffer.from([1]), place));
      answer.skip(4 + 4 + 2 + Buffer.byteLength(topic) + 4 + 4);
      const error = answer.int16();
      if (error !== 0) throw new Error(`Reading ${topic}-${partition} at ${offset} failed: error ${error}.`);
      const end = answer.int64();
      answer.skip(8);
      const aborted = Array.from({ length: Math.max(0, answer.int32()) }, () => ({
        producerId: answer.int64(),
        firstOffset: answer.int64(),
      }));
      const decoded = decodeBatches(answer.bytes(), partition, offset, aborted);
      records.push(...decoded.records);
      offset = decoded.nextOffset;
      if (offset >= end) return records;
      if (Date.now() > untilMs) throw new Error(`${topic}-${partition} cannot be read beyond ${offset} of ${end}: is a transaction open?`);
      if (decoded.isEmpty) await sleep(20);
    }
  }

  private async leaderOf(topic: string, partition: number): Promise<Connection> {
    const address = (await this.leadersOf(topic))[partition];
    if (address === undefined) throw new Error(`There is no partition ${partition} of '${topic}'.`);
    return this.connection(address);
  }

  private async leadersOf(topic: string): Promise<readonly string[]> {
    const untilMs = Date.now() + patienceMs;
    for (let known = this.leaders.get(topic); ; known = this.leaders.get(topic)) {
      if (known !== undefined) return known;
      const addresses = await this.askForLeaders(topic);
      if (addresses.length > 0 && addresses.every((address) => address !== undefined)) this.leaders.set(topic, addresses);
      else if (Date.now() > untilMs) throw new Error(`'${topic}' has no leaders.`);
      else await sleep(50);
    }
  }

  private async askForLeaders(topic: string): Promise<readonly (string | undefined)[]> {
    const answer = await (await this.connection(this.brokers.split(',')[0] ?? '')).ask('metadata', concat(int32(1), text(topic)));
    const nodes = new Map<number, string>();
    for (let count = answer.int32(); count > 0; count--) {
      const node = answer.int32();
      nodes.set(node, `${answer.text()}:${answer.int32()}`);
      answer.text();
    }
    answer.skip(4 + 4 + 2);
    answer.text();
    answer.skip(1);
    const leaders: (string | undefined)[] = [];
    for (let count = answer.int32(); count > 0; count--) {
      answer.skip(2);
      leaders[answer.int32()] = nodes.get(answer.int32());
      answer.skip(4 * answer.int32());
      answer.skip(4 * answer.int32());
    }
    return leaders;
  }

  private connection(address: string): Promise<Connection> {
    const known = this.connections.get(address) ?? Connection.open(address);
    this.connections.set(address, known);
    return known;
  }
}

class Reader {
  private at = 0;

  constructor(private readonly data: Buffer) {}

  skip(bytes: number): void {
    this.at += bytes;
  }

  int16(): number {
    return this.data.readInt16BE((this.at += 2) - 2);
  }

  int32(): number {
    return this.data.readInt32BE((this.at += 4) - 4);
  }

  int64(): number {
    return Number(this.data.readBigInt64BE((this.at += 8) - 8));
  }

  text(): string {
    const length = Math.max(0, this.int16());
    return this.data.toString('utf8', this.at, (this.at += length));
  }

  bytes(): Buffer {
    const length = Math.max(0, this.int32());
    return this.data.subarray(this.at, (this.at += length));
  }
}

const noTags = Buffer.from([0]);
const concat = (...parts: readonly Buffer[]): Buffer => Buffer.concat(parts);
const int16 = (value: number): Buffer => {
  const buffer = Buffer.alloc(2);
  buffer.writeInt16BE(value);
  return buffer;
};
const int32 = (value: number): Buffer => {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
};
const int64 = (value: number): Buffer => {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(BigInt(value));
  return buffer;
};
const text = (value: string): Buffer => concat(int16(Buffer.byteLength(value)), Buffer.from(value));
