/** librdkafka's properties for each kind of client, with the reason for each value that is not its default. */
import { errorOf, type GroupConsumerOptions, isInstrumented, type TransactionalProducerOptions } from '@tally/streams';
import { type ClientProperties, loadNativeModule } from './native.js';
import { invalidOption, type ResolvedOptions } from './options.js';

/** How long a fetch waits at the broker. Seeks on a busy client wait for it, so it is short. */
const fetchWaitMs = 50;

/** Below every sensible `max.message.bytes`: a larger batch of small records would be refused as a whole. */
const batchBytesMax = 524_288;

/**
 * How long records of a transaction wait for more, in milliseconds; a commit sends what is left at once. While a partition's request is under
 * way and more of its records have lingered, librdkafka's thread polls without pausing: so this is longer than a request takes.
 */
const transactionLingerMs = '50';

/** Of outputs that are visible as soon as they are written. */
const outputLingerMs = '5';

/** The client's own limit of one record; the topic's limit is for the broker to judge. */
export const clientRecordBytesMax = 16 * 1_048_576;

/** Telemetry reads how many records wait in the client. */
const statisticsIntervalMs = '5000';

function common(options: ResolvedOptions, clientId: string): Record<string, string> {
  return {
    'bootstrap.servers': options.brokers,
    'client.id': clientId,
    'socket.keepalive.enable': 'true',
    'reconnect.backoff.ms': '50',
    // The default of 10 s is how long a commit would wait after the link is back.
    'reconnect.backoff.max.ms': '1000',
    // A broker that shuts down in an orderly way tells its clients that it is gone. Where it was the only one, they know none any more, and
    // at the default of 300,000 would not come back to the addresses that they were given for five minutes.
    'metadata.recovery.rebootstrap.trigger.ms': '1000',
    ...(isInstrumented() ? { 'statistics.interval.ms': statisticsIntervalMs } : {}),
    ...options.client,
  };
}

function consuming(options: ResolvedOptions, clientId: string): Record<string, string> {
  return {
    ...common(options, clientId),
    'enable.auto.commit': 'false',
    'enable.auto.offset.store': 'false',
    // Where a partition starts is explicit; silently starting elsewhere would lose or repeat records.
    'auto.offset.reset': 'error',
    'isolation.level': 'read_committed',
    'fetch.wait.max.ms': String(fetchWaitMs),
    // 0 makes the client's thread spin, the default of 1,000 makes throughput stutter.
    'fetch.queue.backoff.ms': '10',
    'fetch.error.backoff.ms': '100',
  };
}

/**
 * Per partition. At the defaults, 100,000 records and 1 MiB at a time, each record has left the processor's cache by the time it is asked for
 * (docs/decisions/012). A larger record, or batch of them, still comes whole (KIP-74); brokers that are far away want more at a time.
 */
const fetchesInSmallParts = { 'queued.min.messages': '10000', 'fetch.message.max.bytes': '65536' };

export function groupConsumerProperties(options: ResolvedOptions, group: GroupConsumerOptions): Record<string, string> {
  return {
    ...consuming(options, group.clientId),
    ...fetchesInSmallParts,
    ...options.consumer,
    'group.id': group.groupId,
    // So that positions count transaction markers behind the last record, which records alone do not show.
    'enable.partition.eof': 'true',
    'group.protocol': 'consumer',
    'group.remote.assignor': 'range',
  };
}

/** Readers are in no group, but the client wants an id; nothing is ever committed under it. */
export function readerProperties(options: ResolvedOptions, unusedGroupId: string): Record<string, string> {
  return {
    ...consuming(options, `${options.clientId}-reader`),
    'fetch.message.max.bytes': '4194304',
    'queued.min.messages': '200000',
    ...options.consumer,
    'group.id': unusedGroupId,
    'enable.partition.eof': 'true',
    // It is polled as restoring needs it, and the client wants this to exceed the session timeout of a group that there is not.
    'max.poll.interval.ms': '300000',
  };
}

/** A consumer that reads for a member of the group in another process, and is none itself. */
export function fetcherProperties(options: ResolvedOptions, groupId: string): Record<string, string> {
  return {
    ...consuming(options, `${options.clientId}-fetch`),
    ...fetchesInSmallParts,
    ...options.consumer,
    'group.id': groupId,
    'enable.partition.eof': 'true',
    // It reads only as fast as the other process takes.
    'max.poll.interval.ms': '86400000',
  };
}

/** A consumer that only asks for the group's offsets and never joins it. */
export function committedOffsetProperties(options: ResolvedOptions, groupId: string): Record<string, string> {
  return {
    ...consuming(options, `${options.clientId}-offsets`),
    ...options.consumer,
    'group.id': groupId,
    'max.poll.interval.ms': '300000',
  };
}

function producing(options: ResolvedOptions, clientId: string, lingerMs: string): Record<string, string> {
  return {
    ...common(options, clientId),
    'enable.idempotence': 'true',
    'message.max.bytes': String(clientRecordBytesMax),
    'batch.size': String(batchBytesMax),
    'linger.ms': lingerMs,
    'queue.buffering.max.messages': '1000000',
    'queue.buffering.max.kbytes': '131072',
    // At the default of 100 ms the first offsets after a commit would wait that long.
    'retry.backoff.ms': '5',
    'retry.backoff.max.ms': '500',
    // At the default of 30 s a record for a topic that does not exist would hold its commit that long.
    'topic.metadata.propagation.max.ms': '2000',
    // At the default of 5 minutes a producer would not see added partitions for so long; nor that a partition has a leader again, where the last
    // that it heard from a broker which shut down was that there is none.
    'topic.metadata.refresh.interval.ms': '5000',
    'delivery.report.only.error': 'true',
    ...options.producer,
  };
}

export function transactionalProducerProperties(options: ResolvedOptions, producer: TransactionalProducerOptions): Record<string, string> {
  return {
    ...producing(options, producer.clientId, transactionLingerMs),
    'transactional.id': producer.transactionalId,
    'transaction.timeout.ms': String(producer.transactionTimeoutMs),
  };
}

export function outputProducerProperties(options: ResolvedOptions): Record<string, string> {
  return producing(options, `${options.clientId}-output`, outputLingerMs);
}

/** `feature` makes the client log which requests a broker supports, and in which versions: its API does not tell. */
export function adminProperties(options: ResolvedOptions): Record<string, string> {
  return { ...common(options, `${options.clientId}-admin`), debug: 'feature' };
}

export function groupAdminProperties(options: ResolvedOptions): Record<string, string> {
  return common(options, `${options.clientId}-groups`);
}

/**
 * Makes one client of each kind without connecting it: the client knows its properties and names the wrong one.
 * @throws BrokerError of kind `invalid`, naming the option.
 */
export function checkClientProperties(options: ResolvedOptions): void {
  const native = loadNativeModule();
  const probes: readonly [option: string, make: () => unknown][] = [
    ['client', () => new native.Producer(stringsOnly(common(options, options.clientId)))],
    ['consumer', () => new native.KafkaConsumer(stringsOnly(readerProperties(options, 'check')))],
    ['producer', () => new native.Producer(stringsOnly(outputProducerProperties(options)))],
  ];
  for (const [option, make] of probes) {
    try {
      make();
    } catch (cause) {
      throw invalidOption(option, `The option \`${option}\` has a property that the client refuses: ${errorOf(cause).message}.`, cause);
    }
  }
}

function stringsOnly(properties: Record<string, string>): ClientProperties {
  return properties;
}
