/**
 * Committed offsets of groups, read by consumers that never join. The admin client has a request for them too, but when the coordinator that
 * it asked answers that it is none (15, 16), the process crashes: librdkafka has its own group look for the coordinator
 * (`rd_kafka_cgrp_op`), and an admin client has no group.
 *
 * A consumer that reads committed records asks for stable offsets alone. While an open transaction holds one of them its request
 * repeats, and at last times out; "no answer" is never taken for "no offset".
 */
import { BrokerError, type CommittedOffset, partitionName, type TopicPartition } from '@tally/streams';
import { ClientLog } from './client-log.js';
import { committedOffsetProperties } from './client-properties.js';
import { disconnectWhenIdle } from './disconnect.js';
import { classify } from './errors.js';
import { CallsInFlight, nativeCall } from './native-call.js';
import { loadNativeModule, type NativeCommitted, type NativeConsumer } from './native.js';
import type { ResolvedOptions } from './options.js';

/** How long a request waits for offsets to become stable. Each holds a thread of libuv's pool meanwhile. */
const stableTimeoutMs = 1_000;

/**
 * A client of which so many requests in a row have ended without an answer, over so long, makes room for another one: an open transaction explains
 * some of it, a client that is stuck all. Many at once are one sign and not many, and so is a single one after a long time.
 */
const unansweredMax = 10;
const unansweredMsMax = 30_000;

interface GroupClient {
  readonly calls: CallsInFlight;
  readonly client: NativeConsumer;
  /** Since the last answer: requests that have ended without one, and when the first of them was made, in monotonic time. */
  unanswered: number;
  unansweredSinceMs: number;
  /** It gets no more requests. */
  isRetired: boolean;
}

export class CommittedOffsets {
  readonly #options: ResolvedOptions;
  readonly #clients = new Map<string, Promise<GroupClient>>();
  /** Closings of clients that were replaced. */
  readonly #closings = new Set<Promise<void>>();

  constructor(options: ResolvedOptions) {
    this.#options = options;
  }

  /** @throws BrokerError of kind `pending` */
  async read(groupId: string, partitions: readonly TopicPartition[]): Promise<readonly CommittedOffset[]> {
    if (partitions.length === 0) return [];
    const doing = `Reading the offsets of group ${groupId} in ${partitions.map(partitionName).join(', ')}`;
    try {
      let opened = await this.#clientOf(groupId);
      while (opened.isRetired || seemsStuck(opened)) {
        if (!opened.isRetired) this.#retire(groupId, opened);
        opened = await this.#clientOf(groupId);
      }
      // In the same tick as the look whether it is retired: else it might be closing when the call begins.
      const found = await ask(opened, partitions, doing);
      return found.map((each) => committedOffset(each, doing));
    } catch (error) {
      throw asPending(error as BrokerError);
    }
  }

  async close(): Promise<void> {
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    const opened = await Promise.all(clients.map((opening) => opening.catch(() => undefined)));
    await Promise.all([...this.#closings, ...opened.map((each) => each && this.#closeOne(each))]);
  }

  /** It closes when its requests have ended. */
  #retire(groupId: string, opened: GroupClient): void {
    opened.isRetired = true;
    this.#clients.delete(groupId);
    const closing = this.#closeOne(opened);
    this.#closings.add(closing);
    void closing.finally(() => this.#closings.delete(closing));
  }

  #clientOf(groupId: string): Promise<GroupClient> {
    const known = this.#clients.get(groupId);
    if (known !== undefined) return known;
    const opening = this.#open(groupId);
    this.#clients.set(groupId, opening);
    // A client that could not connect is of no more use.
    opening.catch(() => this.#clients.delete(groupId));
    return opening;
  }

  async #open(groupId: string): Promise<GroupClient> {
    const name = `offset client of group ${groupId}`;
    const client = new (loadNativeModule().KafkaConsumer)(committedOffsetProperties(this.#options, groupId));
    new ClientLog(this.#options.logger, name).listen(client);
    await nativeCall<unknown>(
      (thrown) => classify(thrown, 'connect', `Connecting the ${name} to ${this.#options.brokers}`),
      (callback) => client.connect({ allTopics: false, timeout: this.#options.requestTimeoutMs }, callback),
    );
    return { client, calls: new CallsInFlight(), unanswered: 0, unansweredSinceMs: 0, isRetired: false };
  }

  #closeOne({ client, calls }: GroupClient): Promise<void> {
    return disconnectWhenIdle({
      name: 'offset client',
      client: () => client,
      calls,
      timeoutMs: this.#options.closeTimeoutMs,
      logger: this.#options.logger,
      disconnect: (callback) => client.disconnect(callback),
    });
  }
}

async function ask(opened: GroupClient, partitions: readonly TopicPartition[], doing: string): Promise<NativeCommitted[]> {
  const askedAtMs = performance.now();
  try {
    const found = await opened.calls.track(
      nativeCall<NativeCommitted[]>(
        (thrown) => classify(thrown, 'admin', doing),
        (callback) => opened.client.committed(partitions, stableTimeoutMs, callback),
      ),
    );
    opened.unanswered = 0;
    return found;
  } catch (error) {
    const { brokerCode } = error as BrokerError;
    // The client's own errors are negative; others are a broker's answer.
    if (brokerCode !== undefined && brokerCode >= 0) opened.unanswered = 0;
    else if (opened.unanswered++ === 0) opened.unansweredSinceMs = askedAtMs;
    throw error;
  }
}

function seemsStuck({ unanswered, unansweredSinceMs }: GroupClient): boolean {
  return unanswered >= unansweredMax && performance.now() - unansweredSinceMs >= unansweredMsMax;
}

/** "None" is a partition without an offset; a partition that failed is an error without its number. */
function committedOffset(found: NativeCommitted, doing: string): CommittedOffset {
  if (found instanceof Error) throw classify({ code: numberOfText(found.message), message: found.message }, 'admin', doing);
  return { topic: found.topic, partition: found.partition, offset: found.offset, metadata: found.metadata ?? '' };
}

function numberOfText(text: string): number | undefined {
  if (/topic authorization/i.test(text)) return 29;
  return /group authorization/i.test(text) ? 30 : undefined;
}

function asPending(error: BrokerError): BrokerError {
  if (error.kind === 'invalid' || error.kind === 'closed') return error;
  return new BrokerError({
    code: 'OFFSET_PENDING',
    kind: 'pending',
    message: `${error.message} This is no answer, an open transaction may still change the offsets: ask again.`,
    brokerCode: error.brokerCode,
    place: error.place,
    cause: error,
  });
}
