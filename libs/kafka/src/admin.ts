/** Topics, offsets and groups. Every request is bounded by `requestTimeoutMs`, or twice that after an outage. */
import {
  assert,
  type BrokerAdmin,
  BrokerError,
  type CommittedOffset,
  type GroupMember,
  type OffsetSpec,
  partitionName,
  type TopicDescription,
  type TopicPartition,
  type TopicPartitionOffset,
  type TopicSpecification,
} from '@tally/streams';
import { BrokerSupport } from './broker-support.js';
import { ClientLog } from './client-log.js';
import { adminProperties } from './client-properties.js';
import { CommittedOffsets } from './committed-offsets.js';
import { classify, errorNumbers } from './errors.js';
import { GroupDescriptions } from './group-descriptions.js';
import { CallsInFlight, nativeCall } from './native-call.js';
import { type Callback, loadNativeModule, type NativeAdmin, type NativeError, type NativeLogEvent, type NativeOffset } from './native.js';
import type { ResolvedOptions } from './options.js';
import { distinctPartitions, toOffsets, toPartitions } from './topic-partitions.js';

/** The client answers 500 partitions in some 30 ms; more are asked for in several requests. */
const partitionsPerRequest = 500;
const visiblePollMs = 50;
/** The client's error events have no number. */
const allBrokersAway = /all broker connections are down/i;

export class KafkaAdmin implements BrokerAdmin {
  readonly #options: ResolvedOptions;
  readonly #log: ClientLog;
  readonly #calls = new CallsInFlight();
  readonly #support = new BrokerSupport();
  /**
   * No broker can be reached, as far as is known. Most requests make the client connect again and again without a pause until one answers,
   * which takes a processor or two; asking for metadata does not, and so goes first.
   */
  #isAway = false;
  readonly #committed: CommittedOffsets;
  readonly #groups: GroupDescriptions;
  #client: NativeAdmin | undefined;
  #closed = false;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#log = new ClientLog(options.logger, 'admin client');
    this.#committed = new CommittedOffsets(options);
    this.#groups = new GroupDescriptions(options);
  }

  /** Reaches the cluster, within `timeoutMs` if that is less than what any request may take, and checks its version. */
  async connect(timeoutMs = this.#options.requestTimeoutMs): Promise<void> {
    const boundMs = Math.min(Math.floor(timeoutMs), this.#options.requestTimeoutMs);
    try {
      await this.#reach('Reaching the cluster', boundMs);
    } catch (error) {
      throw this.#unreachable(error as BrokerError, boundMs);
    }
    // The lines come by another way than the answer.
    for (let turns = 0; turns < 50 && !this.#support.known; turns++) await pause(visiblePollMs / 5);
    if (!this.#support.known)
      this.#options.logger.warn(
        'The broker does not tell which requests it supports; whether it is new enough shows when the group is joined.',
      );
    this.#support.check(this.#options.brokers);
  }

  listTopics(): Promise<readonly string[]> {
    const timeout = this.#options.requestTimeoutMs;
    return this.#request('Listing topics', (client, callback: Callback<string[]>) => client.listTopics({ timeout }, callback));
  }

  async describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    const found = new Map<string, TopicDescription>();
    for (const some of inChunks([...new Set(names)])) {
      const timeout = this.#options.requestTimeoutMs;
      const topics = await this.#request('Describing topics', (client, callback: Callback<Described[]>) =>
        client.describeTopics(some, { timeout }, callback),
      );
      for (const topic of topics) {
        if (topic.error?.code === errorNumbers.unknownTopicOrPartition) continue;
        if (topic.error) throw classify(topic.error, 'admin', `Describing topic ${topic.name}`, { topic: topic.name });
        if (topic.partitions.length === 0) throw unanswered('Describing', { topic: topic.name });
        found.set(topic.name, { name: topic.name, topicId: topic.topicId.base64, partitions: topic.partitions.length });
      }
    }
    return found;
  }

  async createTopic(topic: TopicSpecification): Promise<void> {
    const specification = {
      topic: topic.name,
      num_partitions: topic.partitions,
      replication_factor: topic.replicationFactor,
      config: textValues(topic),
    };
    try {
      await this.#request<void>(
        `Creating topic ${topic.name}`,
        (client, callback) => client.createTopic(specification, this.#options.requestTimeoutMs, callback),
        {
          topic: topic.name,
        },
      );
    } catch (error) {
      if ((error as BrokerError).brokerCode !== errorNumbers.topicExists) throw error;
    }
    await this.#visible(topic.name);
  }

  async listOffsets(partitions: readonly TopicPartition[], spec: OffsetSpec): Promise<readonly TopicPartitionOffset[]> {
    const offsets = new Map<string, number>();
    for (const some of inChunks(distinctPartitions(toPartitions(partitions)))) {
      for (const at of await this.#whenLed(some, () => this.#listOffsets(some, spec))) offsets.set(partitionName(at), at.offset);
    }
    return partitions.map((at) => {
      const offset = offsets.get(partitionName(at));
      if (offset === undefined) throw missing([at]);
      return { topic: at.topic, partition: at.partition, offset };
    });
  }

  async stableOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<readonly CommittedOffset[]> {
    const distinct = distinctPartitions(toPartitions(partitions));
    if (this.#closed) throw closed(`Reading the offsets of group ${groupId}`);
    const found = new Map<string, CommittedOffset>();
    for (const some of inChunks(distinct)) {
      for (const committed of await this.#committed.read(groupId, some)) found.set(partitionName(committed), committed);
    }
    return partitions.map((at) => {
      const committed = found.get(partitionName(at));
      assert(committed !== undefined, `the client did not answer for ${partitionName(at)}`);
      return committed;
    });
  }

  async deleteRecords(before: readonly TopicPartitionOffset[]): Promise<void> {
    const list = toOffsets(distinctPartitions(before));
    if (list.length === 0) return;
    const timeout = this.#options.requestTimeoutMs;
    await this.#whenLed(list, async () => {
      const results = await this.#request('Deleting records', (client, callback: Callback<Deleted[]>) =>
        client.deleteRecords(list, { timeout, operationTimeout: timeout }, callback),
      );
      const failed = results.find((result) => result.error);
      if (failed)
        throw classify(failed.error, 'admin', `Deleting records of ${partitionName(failed)}`, {
          topic: failed.topic,
          partition: failed.partition,
        });
    });
  }

  async describeGroup(groupId: string): Promise<readonly GroupMember[]> {
    if (this.#closed) throw closed(`Describing group ${groupId}`);
    return this.#groups.describe(groupId);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([this.#committed.close(), this.#groups.close()]);
    const idle = await this.#calls.idle(this.#options.closeTimeoutMs);
    if (this.#client === undefined) return;
    if (idle) this.#client.disconnect();
    else
      this.#options.logger.error(`The admin client is left behind: a request has not answered within ${this.#options.closeTimeoutMs} ms.`);
  }

  /**
   * Partitions that were just made, or whose broker just left, have no leader for a moment. The client would go on asking the leader of
   * before, for minutes, unless it is made to look again.
   */
  async #whenLed<T>(partitions: readonly TopicPartition[], ask: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#options.requestTimeoutMs;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        // One unknown partition fails the whole request, without its name.
        const absent = await this.#findMissing(partitions, error as BrokerError);
        if (absent !== undefined) throw absent;
        if ((error as BrokerError).code !== 'LEADER_UNAVAILABLE' || performance.now() > deadline) throw error;
        await this.#lookAgain(new Set(partitions.map((at) => at.topic)));
        await pause(visiblePollMs);
      }
    }
  }

  async #lookAgain(topics: ReadonlySet<string>): Promise<void> {
    const timeout = this.#options.requestTimeoutMs;
    for (const topic of topics) {
      const looked = this.#request<unknown>(`Looking for the leaders of topic ${topic}`, (client, callback) =>
        client.getMetadata({ topic, allTopics: false, timeout }, callback),
      );
      // The request that is repeated says what is wrong.
      await looked.catch(() => undefined);
    }
  }

  async #listOffsets(partitions: readonly TopicPartition[], spec: OffsetSpec): Promise<readonly NativeOffset[]> {
    const { OffsetSpec: specs, IsolationLevel: levels } = loadNativeModule().AdminClient;
    const asked = partitions.map((at) => ({ ...at, offset: spec === 'earliest' ? specs.EARLIEST : specs.LATEST }));
    const isolationLevel = spec === 'lastStable' ? levels.READ_COMMITTED : levels.READ_UNCOMMITTED;
    const options = { timeout: this.#options.requestTimeoutMs, isolationLevel };
    const results = await this.#request('Listing offsets', (client, callback: Callback<(NativeOffset & { error?: NativeError })[]>) =>
      client.listOffsets(asked, options, callback),
    );
    const failed = results.find((result) => result.error);
    if (failed)
      throw classify(failed.error, 'admin', `Listing the offset of ${partitionName(failed)}`, {
        topic: failed.topic,
        partition: failed.partition,
      });
    // While a broker is away the client now and then reports success without an offset; its -1001 must never pass for one.
    const without = results.find((result) => !(result.offset >= 0));
    if (without) throw unanswered('Listing the offset of', { topic: without.topic, partition: without.partition });
    return results;
  }

  async #findMissing(partitions: readonly TopicPartition[], error: BrokerError): Promise<BrokerError | undefined> {
    const unknown: readonly (number | undefined)[] = [
      errorNumbers.unknownTopicOrPartition,
      errorNumbers.unknownPartition,
      errorNumbers.unknownTopic,
      // What the client answers when it knows no leader of any of the partitions. They may have none for a moment, too.
      errorNumbers.noEntry,
    ];
    if (!unknown.includes(error.brokerCode)) return undefined;
    // Where this is not answered either, the error itself says enough.
    const topics = await this.describeTopics(partitions.map((at) => at.topic)).catch(() => undefined);
    if (topics === undefined) return undefined;
    const absent = partitions.filter((at) => at.partition >= (topics.get(at.topic)?.partitions ?? 0));
    return absent.length === 0 ? undefined : missing(absent);
  }

  /** A topic that was just made is not known to every broker at once. */
  async #visible(topic: string): Promise<void> {
    const deadline = performance.now() + this.#options.requestTimeoutMs;
    while (!(await this.describeTopics([topic])).has(topic)) {
      if (performance.now() > deadline) {
        throw new BrokerError({
          code: 'TIMED_OUT',
          kind: 'retriable',
          message: `Topic ${topic} was created, but the cluster does not show it yet.`,
          place: { topic },
        });
      }
      await pause(visiblePollMs);
    }
  }

  async #request<T>(doing: string, start: (client: NativeAdmin, callback: Callback<T>) => void, place?: { topic: string }): Promise<T> {
    if (this.#isAway) await this.#reach(doing, this.#options.requestTimeoutMs, place);
    try {
      return await this.#call(doing, start, place);
    } catch (error) {
      if ((error as BrokerError).brokerCode === errorNumbers.timedOut) this.#isAway = true;
      throw error;
    }
  }

  async #reach(doing: string, timeoutMs: number, place?: { topic: string }): Promise<void> {
    this.#isAway = true;
    await this.#call<unknown>(doing, (client, callback) => client.getMetadata({ allTopics: false, timeout: timeoutMs }, callback), place);
    this.#isAway = false;
  }

  #call<T>(doing: string, start: (client: NativeAdmin, callback: Callback<T>) => void, place?: { topic: string }): Promise<T> {
    if (this.#closed) return Promise.reject(closed(doing));
    return this.#calls.track(
      nativeCall<T>(
        (thrown) => classify(thrown, 'admin', doing, place),
        (callback) => start(this.#connected(), callback),
      ),
    );
  }

  #connected(): NativeAdmin {
    this.#client ??= loadNativeModule().AdminClient.create(adminProperties(this.#options), {
      'event.error': (error: Error) => {
        if (allBrokersAway.test(error.message)) this.#isAway = true;
        this.#log.error(error);
      },
      'event.log': (log: NativeLogEvent) => {
        this.#log.line(log);
        this.#support.line(log.fac, log.message);
      },
    });
    return this.#client;
  }

  #unreachable(error: BrokerError, timeoutMs: number): BrokerError {
    if (error.kind === 'closed') return error;
    const said = this.#log.lastError === undefined ? '' : ` The client says: ${this.#log.lastError}.`;
    return new BrokerError({
      code: error.kind === 'invalid' ? error.code : 'BROKER_UNREACHABLE',
      kind: error.kind,
      message:
        `The Kafka cluster at ${this.#options.brokers} did not answer within ${timeoutMs} ms.${said} ` +
        'Check that it runs, that the option `brokers` names it, and that the security settings in the option `client` are its own.',
      brokerCode: error.brokerCode,
      place: { option: 'brokers' },
      cause: error,
    });
  }
}

type Described = NonNullable<Parameters<Parameters<NativeAdmin['describeTopics']>[2]>[1]>[number];
type Deleted = TopicPartition & { readonly error?: NativeError };

function unanswered(doing: string, place: { readonly topic: string; readonly partition?: number }): BrokerError {
  const what = place.partition === undefined ? `topic ${place.topic}` : partitionName({ topic: place.topic, partition: place.partition });
  return new BrokerError({
    code: 'LEADER_UNAVAILABLE',
    kind: 'retriable',
    message: `${doing} ${what} brought no answer. The same call may succeed later.`,
    place,
  });
}

function closed(doing: string): BrokerError {
  return new BrokerError({ code: 'ADMIN_CLOSED', kind: 'closed', message: `${doing} failed: the broker is closed.` });
}

function missing(partitions: readonly TopicPartition[]): BrokerError {
  const first = partitions[0];
  return new BrokerError({
    code: 'UNKNOWN_TOPIC',
    kind: 'invalid',
    message: `There is no ${partitions.map(partitionName).join(', ')} in the cluster. Create the topic with enough partitions, or correct its name.`,
    brokerCode: errorNumbers.unknownTopicOrPartition,
    place: first && { topic: first.topic, partition: first.partition },
  });
}

function textValues(topic: TopicSpecification): Record<string, string> {
  return Object.fromEntries(Object.entries(topic.config).map(([name, value]) => [name, String(value)]));
}

function inChunks<T>(items: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let from = 0; from < items.length; from += partitionsPerRequest) chunks.push(items.slice(from, from + partitionsPerRequest));
  return chunks;
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
