/**
 * Reads partitions outside of any group, for restoring. Events of the end of a partition count transaction markers and aborted records,
 * which records alone do not show; they make the position exact.
 */
import { randomUUID } from 'node:crypto';
import {
  assert,
  BrokerError,
  type ConsumedRecord,
  type PartitionReader,
  partitionName,
  type TopicPartition,
  type TopicPartitionOffset,
} from '@tally/streams';
import { ClientLog } from './client-log.js';
import { readerProperties } from './client-properties.js';
import { consumeVerdict } from './consume-errors.js';
import { consumeBatch } from './consuming.js';
import { disconnectWhenIdle } from './disconnect.js';
import { classify } from './errors.js';
import { CallsInFlight, nativeCall } from './native-call.js';
import { loadNativeModule, type NativeConsumer, type NativeOffset } from './native.js';
import type { ResolvedOptions } from './options.js';
import { kickFetchers } from './positioning.js';
import { RecordMapper } from './record-mapper.js';
import { distinctPartitions, toOffsets, toPartitions } from './topic-partitions.js';

interface ReaderKind {
  /** For messages. */
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
}

export class KafkaPartitionReader implements PartitionReader {
  readonly #options: ResolvedOptions;
  readonly #name: string;
  readonly #properties: Readonly<Record<string, string>>;
  readonly #log: ClientLog;
  readonly #calls = new CallsInFlight();
  readonly #mapper = new RecordMapper();
  readonly #positions = new Map<string, number>();
  #ends: NativeOffset[] = [];
  #client: NativeConsumer | undefined;
  #reading = false;
  #closing: Promise<void> | undefined;

  constructor(options: ResolvedOptions, kind?: ReaderKind) {
    this.#options = options;
    this.#name = kind?.name ?? 'partition reader';
    this.#properties = kind?.properties ?? readerProperties(options, `tally-reader-${randomUUID()}`);
    this.#log = new ClientLog(options.logger, this.#name);
  }

  async connect(): Promise<void> {
    assert(this.#client === undefined, `the ${this.#name} is connected twice`);
    const client = new (loadNativeModule().KafkaConsumer)(this.#properties);
    this.#log.listen(client);
    client.on('partition.eof', (end) => this.#ends.push(end));
    client.setDefaultIsTimeoutOnlyForFirstMessage(true);
    await this.#calls.track(
      nativeCall<unknown>(
        (thrown) => classify(thrown, 'connect', `Connecting the ${this.#name} to ${this.#options.brokers}`),
        (callback) => client.connect({ allTopics: false, timeout: this.#options.requestTimeoutMs }, callback),
      ),
    );
    this.#client = client;
  }

  /** A partition that is assigned already starts again at the given offset. */
  async assign(starts: readonly TopicPartitionOffset[]): Promise<void> {
    const client = this.#between('assign');
    const list = toOffsets(distinctPartitions(starts));
    if (list.length === 0) return;
    await this.unassign(list);
    this.#native('Assigning partitions to', () => client.incrementalAssign(list));
    for (const at of list) this.#positions.set(partitionName(at), at.offset);
    void this.#calls.track(kickFetchers(client, list));
  }

  async unassign(partitions: readonly TopicPartition[]): Promise<void> {
    const client = this.#between('unassign');
    const known = toPartitions(distinctPartitions(partitions)).filter((at) => this.#positions.has(partitionName(at)));
    if (known.length === 0) return;
    this.#native('Unassigning partitions of', () => client.incrementalUnassign(known));
    for (const at of known) this.#positions.delete(partitionName(at));
    // An end that was met before a read that failed says nothing of where the partition is read from next.
    this.#ends = this.#ends.filter((end) => this.#positions.has(partitionName(end)));
  }

  async read(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]> {
    const client = this.#between('read');
    this.#reading = true;
    try {
      const batch = await this.#calls.track(consumeBatch(client, recordsMax, timeoutMs));
      if ('thrown' in batch) return this.#readFailed(batch.thrown);
      const records = this.#mapper.map(batch.messages);
      this.#advance(records);
      return records;
    } finally {
      this.#reading = false;
    }
  }

  #readFailed(thrown: unknown): ConsumedRecord[] {
    const verdict = consumeVerdict(thrown, { name: this.#name, fatalReason: this.#log.fatalReason, lastError: this.#log.lastError });
    // Unlike in the group there is nobody else who would notice: an offset outside of the log would just never end.
    if (verdict.error.kind !== 'retriable') throw verdict.error;
    this.#options.logger.warn(verdict.error.message);
    return [];
  }

  position(partition: TopicPartition): number | undefined {
    return this.#positions.get(partitionName(partition));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #advance(records: readonly ConsumedRecord[]): void {
    for (const record of records) this.#reached(record, record.offset + 1);
    for (const end of this.#ends) this.#reached(end, end.offset);
    this.#ends = [];
  }

  #reached(at: TopicPartition, offset: number): void {
    const key = partitionName(at);
    const before = this.#positions.get(key);
    if (before !== undefined && offset > before) this.#positions.set(key, offset);
  }

  #between(call: string): NativeConsumer {
    assert(!this.#reading, `${call} on the ${this.#name} while a read is under way`);
    if (this.#client !== undefined && this.#closing === undefined) return this.#client;
    throw new BrokerError({ code: 'READER_CLOSED', kind: 'closed', message: `The ${this.#name} is not open.` });
  }

  #native(doing: string, call: () => void): void {
    try {
      call();
    } catch (thrown) {
      throw classify(thrown, 'consume', `${doing} the ${this.#name}`);
    }
  }

  #close(): Promise<void> {
    return disconnectWhenIdle({
      name: this.#name,
      client: () => this.#client,
      calls: this.#calls,
      timeoutMs: this.#options.closeTimeoutMs,
      logger: this.#options.logger,
      disconnect: (callback) => this.#client?.disconnect(callback),
    });
  }
}
