/** What the scenarios of the conformance suite are written with. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import {
  type Broker,
  BrokerError,
  type CommittedOffset,
  type ConsumedRecord,
  type ErrorKind,
  type GroupConsumer,
  type Headers,
  noHeaders,
  type OutputProducer,
  type PartitionReader,
  type TopicPartition,
  type TopicPartitionOffset,
  type TransactionalProducer,
} from '@tally/streams';

/** A connected broker and what a test needs beside the port. */
export interface BrokerSetting {
  readonly broker: Broker;
  /** Pauses by the broker's clock, in milliseconds. */
  sleep(durationMs: number): Promise<void>;
  /** Runs the test; a simulated clock advances meanwhile. */
  run(test: () => Promise<void>): Promise<void>;
  /** Resolves when the group has given up a member that is not polled any more, though its process lives. */
  outlastPolling(): Promise<void>;
  deleteTopic(name: string): Promise<void>;
  addPartitions(topic: string, total: number): Promise<void>;
  close(): Promise<void>;
}

export type CreateSetting = () => Promise<BrokerSetting>;

/** How often a scenario asks for something that takes a moment, before it fails. */
const attemptsMax = 400;
const pauseMs = 25;

/** A test's body: sets up a broker and a scene for it, and tears both down. */
export function scenario(create: CreateSetting, test: (scene: Scene) => Promise<void>): () => Promise<void> {
  return async () => {
    const setting = await create();
    const scene = new Scene(setting);
    try {
      await setting.run(async () => {
        try {
          await test(scene);
        } finally {
          await scene.close();
        }
      });
    } finally {
      await setting.close();
    }
  };
}

export interface ProducedRecord {
  readonly partition?: number;
  readonly key?: Uint8Array | null;
  readonly value?: Uint8Array | null;
  readonly timestampMs?: number;
  readonly headers?: Headers;
}

export class Scene {
  readonly setting: BrokerSetting;
  readonly broker: Broker;
  readonly id = `conformance-${randomUUID().slice(0, 13)}`;
  readonly #closers: (() => Promise<void>)[] = [];
  readonly #topics = new Set<string>();
  #count = 0;

  constructor(setting: BrokerSetting) {
    this.setting = setting;
    this.broker = setting.broker;
  }

  async topic(partitions = 1, config: Readonly<Record<string, string>> = {}): Promise<string> {
    const name = `${this.id}-topic-${this.#count++}`;
    this.#topics.add(name);
    // Most records here are of long ago: a broker deletes them, now and then, as soon as they are written.
    const kept = { 'retention.ms': '-1', ...config };
    await this.broker.admin.createTopic({ name, partitions, replicationFactor: -1, config: kept });
    return name;
  }

  async producer(transactionalId = `${this.id}-producer-${this.#count++}`, transactionTimeoutMs = 10_000): Promise<TransactionalProducer> {
    const producer = this.broker.createTransactionalProducer({ transactionalId, transactionTimeoutMs, clientId: this.id });
    this.#closers.push(() => producer.close());
    await this.until('the producer is initialised', async () => {
      try {
        await producer.init();
        return true;
      } catch (error) {
        if (error instanceof BrokerError && error.kind === 'retriable') return false;
        throw error;
      }
    });
    return producer;
  }

  async output(): Promise<OutputProducer> {
    const producer = this.broker.createOutputProducer();
    this.#closers.push(() => producer.close());
    await producer.connect();
    return producer;
  }

  async reader(): Promise<PartitionReader> {
    const reader = this.broker.createReader();
    this.#closers.push(() => reader.close());
    await reader.connect();
    return reader;
  }

  async member(topics: readonly string[], options: { groupId?: string; clientId?: string } = {}): Promise<Member> {
    const member = new Member(this, options.groupId ?? this.id, options.clientId ?? `${this.id}-member-${this.#count++}`);
    this.#closers.push(() => member.close());
    await member.consumer.subscribe(topics);
    return member;
  }

  async deleteTopic(name: string): Promise<void> {
    this.#topics.delete(name);
    await this.setting.deleteTopic(name);
  }

  /** Commits the records in a transaction of its own. */
  async write(topic: string, records: readonly ProducedRecord[], producer?: TransactionalProducer): Promise<void> {
    const own = producer ?? (await this.producer());
    await own.begin();
    for (const record of records) send(own, topic, record);
    await own.commit();
    if (producer === undefined) await own.close();
  }

  async readAll(topic: string, partitions = 1): Promise<ConsumedRecord[]> {
    const list = range(topic, partitions);
    const ends = await this.settledEnds(topic, partitions);
    const reader = await this.reader();
    await reader.assign(list.map((at) => ({ ...at, offset: 0 })));
    const records: ConsumedRecord[] = [];
    await this.until(`${topic} is read to its end`, async () => {
      records.push(...(await reader.read(1_000, 25)));
      return ends.every((end) => (reader.position(end) ?? 0) >= end.offset);
    });
    await reader.close();
    return records;
  }

  /** The ends of the partitions, once no transaction is open: a commit returns before its markers are written. */
  async settledEnds(topic: string, partitions = 1): Promise<readonly TopicPartitionOffset[]> {
    const list = range(topic, partitions);
    let ends: readonly TopicPartitionOffset[] = [];
    await this.until(`no transaction holds ${topic}`, async () => {
      const stable = await this.broker.admin.listOffsets(list, 'lastStable');
      ends = await this.broker.admin.listOffsets(list, 'highWatermark');
      return ends.every((end, index) => end.offset === stable[index]?.offset);
    });
    return ends;
  }

  /** Stable offsets, once no transaction holds them. */
  async stableOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<readonly CommittedOffset[]> {
    let offsets: readonly CommittedOffset[] | undefined;
    await this.until('the offsets are stable', async () => {
      try {
        offsets = await this.broker.admin.stableOffsets(groupId, partitions);
      } catch (error) {
        if (!(error instanceof BrokerError) || error.kind !== 'pending') throw error;
      }
      return offsets !== undefined;
    });
    return offsets ?? [];
  }

  async until(what: string, reached: () => boolean | Promise<boolean>): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      if (await reached()) return;
      await this.setting.sleep(pauseMs);
    }
    throw new Error(`It never came to pass that ${what}.`);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close();
    // Leftovers would burden a cluster that is shared; a test that failed may have left less than it wanted.
    for (const topic of this.#topics) await this.setting.deleteTopic(topic).catch(() => undefined);
  }
}

interface Rebalance {
  readonly kind: 'assigned' | 'revoked' | 'lost';
  readonly partitions: readonly TopicPartition[];
}

/** A member of a group that answers rebalances only when it is told to. */
export class Member {
  readonly consumer: GroupConsumer;
  readonly clientId: string;
  readonly held = new Set<string>();
  readonly history: string[] = [];
  readonly failures: BrokerError[] = [];
  readonly records: ConsumedRecord[] = [];
  /** Rebalances that were not answered yet. */
  readonly asked: Rebalance[] = [];
  /** Calls made from within the listener: the port allows them there, for no consume is under way. */
  readonly #callsInListener: Promise<void>[] = [];
  readonly #scene: Scene;

  constructor(scene: Scene, groupId: string, clientId: string) {
    this.#scene = scene;
    this.clientId = clientId;
    this.consumer = scene.broker.createConsumer({
      groupId,
      clientId,
      listener: {
        assigned: (partitions) => this.#ask('assigned', partitions),
        revoked: (partitions) => this.#ask('revoked', partitions),
        lost: (partitions) => this.#ask('lost', partitions),
        failed: (error) => void this.failures.push(error),
      },
    });
  }

  async consume(): Promise<ConsumedRecord[]> {
    const records = await this.consumer.consume(500, 25);
    await Promise.all(this.#callsInListener);
    this.records.push(...records);
    return records;
  }

  async answer(options: { paused?: boolean; offset?: number } = {}): Promise<void> {
    for (let next = this.asked.shift(); next !== undefined; next = this.asked.shift()) {
      if (next.kind === 'assigned') {
        await this.consumer.assign(
          next.partitions.map((at) => ({ ...at, offset: options.offset ?? 0 })),
          { paused: options.paused ?? false },
        );
        for (const at of next.partitions) this.held.add(named(at));
      } else {
        await this.consumer.unassign(next.partitions);
        for (const at of next.partitions) this.held.delete(named(at));
      }
    }
  }

  /** Consumes and answers until the member holds that many partitions. */
  async holds(count: number, options: { paused?: boolean } = {}): Promise<void> {
    await this.#scene.until(`${this.clientId} holds ${count} partitions`, async () => {
      await this.turn(options);
      return this.held.size === count;
    });
  }

  async turn(options: { paused?: boolean } = {}): Promise<void> {
    await this.consume();
    await this.answer(options);
  }

  async receives(count: number): Promise<ConsumedRecord[]> {
    await this.#scene.until(`${this.clientId} receives ${count} records`, async () => {
      await this.consume();
      return this.records.length >= count;
    });
    return this.records.splice(0);
  }

  close(): Promise<void> {
    return this.consumer.close();
  }

  #ask(kind: Rebalance['kind'], partitions: readonly TopicPartition[]): void {
    this.#callsInListener.push(this.consumer.pause([]));
    this.asked.push({ kind, partitions });
    this.history.push(`${kind} ${partitions.map(named).sort().join(' ')}`);
  }
}

export function send(producer: TransactionalProducer | OutputProducer, topic: string, record: ProducedRecord): void {
  const queued = producer.produce(
    topic,
    record.partition ?? 0,
    record.key ?? null,
    record.value === undefined ? bytes('value') : record.value,
    record.timestampMs ?? 1_700_000_000_000,
    record.headers ?? noHeaders,
  );
  expect(queued, 'the record is queued').toBe(true);
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function texts(records: readonly ConsumedRecord[]): string[] {
  return records.map((record) => new TextDecoder().decode(record.value ?? bytes('null')));
}

export function range(topic: string, partitions: number): TopicPartition[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topic, partition }));
}

export function named(at: TopicPartition): string {
  return `${at.topic}/${at.partition}`;
}

export async function failureOf(call: Promise<unknown> | (() => unknown)): Promise<BrokerError> {
  try {
    await (typeof call === 'function' ? call() : call);
  } catch (error) {
    expect(error).toBeInstanceOf(BrokerError);
    return error as BrokerError;
  }
  throw new Error('The call should have failed.');
}

export function expectKind(error: BrokerError, kind: ErrorKind): void {
  expect(`${error.kind}: ${error.message}`).toMatch(new RegExp(`^${kind}: `));
}
