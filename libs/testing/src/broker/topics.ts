/** The topics of the simulated cluster: settings, ids and partitions. */
import type { Headers, TopicPartition } from '@tally/streams';
import { simulatedError } from './errors.js';
import { PartitionLog, type RecordToLog } from './log.js';

export interface TopicSettings {
  readonly compact: boolean;
  readonly deletes: boolean;
  readonly retentionMs: number;
  readonly deleteRetentionMs: number;
  readonly maxMessageBytes: number;
  /** How far a record's timestamp may lie after the broker's clock. */
  readonly timestampAfterMaxMs: number;
}

export interface SimulatedTopic {
  readonly name: string;
  readonly topicId: string;
  readonly settings: TopicSettings;
  /** What it was created with. */
  readonly config: Readonly<Record<string, string>>;
  readonly partitions: PartitionLog[];
}

/** A partition that belongs to a certain incarnation of its topic. */
export interface IdentifiedPartition extends TopicPartition {
  readonly topicId: string;
}

export function identityOf(partition: IdentifiedPartition): string {
  return `${partition.topicId}/${partition.partition}`;
}

const weekMs = 7 * 24 * 3_600_000;
const hourMs = 3_600_000;
const topicNames = /^[a-zA-Z0-9._-]{1,249}$/;

export class Topics {
  private readonly byName = new Map<string, SimulatedTopic>();
  private created = 0;

  constructor(private readonly maxMessageBytesDefault: number) {}

  create(name: string, partitions: number, config: Readonly<Record<string, string>> = {}): SimulatedTopic {
    const existing = this.byName.get(name);
    if (existing !== undefined) return existing;
    if (!topicNames.test(name) || name === '.' || name === '..') throw simulatedError('INVALID_TOPIC', { topic: name });
    if (!Number.isInteger(partitions) || partitions < 1) throw simulatedError('INVALID_PARTITIONS', { topic: name });
    this.created += 1;
    const topic: SimulatedTopic = {
      name,
      topicId: Buffer.from(`topic-id-${String(this.created).padStart(7, '0')}`).toString('base64url'),
      settings: parseSettings(name, config, this.maxMessageBytesDefault),
      config,
      partitions: Array.from({ length: partitions }, () => new PartitionLog()),
    };
    this.byName.set(name, topic);
    return topic;
  }

  delete(name: string): void {
    this.byName.delete(name);
  }

  addPartitions(name: string, total: number): void {
    const topic = this.byName.get(name);
    if (topic === undefined) throw simulatedError('UNKNOWN_TOPIC_OR_PARTITION', { topic: name });
    if (total <= topic.partitions.length) throw simulatedError('INVALID_PARTITIONS', { topic: name });
    while (topic.partitions.length < total) topic.partitions.push(new PartitionLog());
  }

  find(name: string): SimulatedTopic | undefined {
    return this.byName.get(name);
  }

  all(): Iterable<SimulatedTopic> {
    return this.byName.values();
  }

  findLog(at: TopicPartition): PartitionLog | undefined {
    return this.byName.get(at.topic)?.partitions[at.partition];
  }

  log(at: TopicPartition): PartitionLog {
    const log = this.findLog(at);
    if (log === undefined) throw simulatedError('UNKNOWN_TOPIC_OR_PARTITION', { topic: at.topic, partition: at.partition });
    return log;
  }

  /** Refuses a batch as the broker does: all of it for one bad record. */
  checkBatch(at: TopicPartition, records: readonly RecordToLog[], nowMs: number): void {
    const topic = this.byName.get(at.topic);
    if (topic?.partitions[at.partition] === undefined) throw simulatedError('UNKNOWN_TOPIC_OR_PARTITION', at, 'recordRefused');
    if (batchBytes(records) > topic.settings.maxMessageBytes) throw simulatedError('MESSAGE_TOO_LARGE', at);
    for (const record of records) {
      if (record.timestampMs > nowMs + topic.settings.timestampAfterMaxMs) throw simulatedError('INVALID_TIMESTAMP', at);
      if (record.key === null && topic.settings.compact) throw simulatedError('INVALID_RECORD', at);
    }
  }
}

const batchHeadBytes = 61;

/** Size of the batch that carries the records: what the broker compares with `max.message.bytes`. */
export function batchBytes(records: readonly RecordToLog[]): number {
  let bytes = batchHeadBytes;
  for (const record of records) bytes += record.bytes;
  return bytes;
}

/** Key, value and headers with the overhead of one record, about as the wire format has it. */
export function recordBytes(key: Uint8Array | null, value: Uint8Array | null, headers: Headers): number {
  const overheadBytes = 12;
  let bytes = overheadBytes + (key?.length ?? 0) + (value?.length ?? 0);
  // An iteration over the frozen list of no headers costs more than all the rest.
  if (headers.length > 0) for (const header of headers) bytes += 3 + Buffer.byteLength(header.name) + header.value.byteLength;
  return bytes;
}

function parseSettings(topic: string, config: Readonly<Record<string, string>>, maxMessageBytesDefault: number): TopicSettings {
  const number = (name: string, otherwise: number): number => {
    const text = config[name];
    if (text === undefined) return otherwise;
    if (!/^-?\d+$/.test(text)) throw simulatedError('INVALID_CONFIG', { topic, option: name });
    return Number(text);
  };
  const policies = (config['cleanup.policy'] ?? 'delete').split(',').map((policy) => policy.trim());
  if (policies.some((policy) => policy !== 'compact' && policy !== 'delete'))
    throw simulatedError('INVALID_CONFIG', { topic, option: 'cleanup.policy' });
  return {
    compact: policies.includes('compact'),
    deletes: policies.includes('delete'),
    retentionMs: number('retention.ms', weekMs),
    deleteRetentionMs: number('delete.retention.ms', 24 * hourMs),
    maxMessageBytes: number('max.message.bytes', maxMessageBytesDefault),
    timestampAfterMaxMs: number('message.timestamp.after.max.ms', hourMs),
  };
}
