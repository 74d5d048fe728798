/**
 * The group consumer (KIP-848). Invariants:
 *
 * 1. One consume is under way at a time; assign, unassign, pause, resume and seek run only between consumes: two beside each other would
 *    deliver stale records.
 * 2. The listener is called outside of consumes, in the order of the group's events.
 * 3. The client's incremental unassign is called only as the answer to a revocation, once for all partitions named (see ownership.ts).
 * 4. The client is disconnected once, with nothing under way and no rebalance unanswered: else it hangs or crashes.
 * 5. A client that is stuck is replaced by another one, a new member. What the old one owned counts as lost, and the new one is made only when
 *    the runtime has let go of all of it: so that no offsets of before are sent by a member that owns the same partitions anew.
 */
import {
  assert,
  BrokerError,
  type BrokerAdmin,
  type ConsumedRecord,
  type GroupConsumer,
  type GroupConsumerOptions,
  type OffsetToCommit,
  partitionName,
  type RebalanceListener,
  type TopicPartition,
  type TopicPartitionOffset,
} from '@tally/streams';
import { ClientLog } from './client-log.js';
import { groupConsumerProperties } from './client-properties.js';
import { consumeVerdict } from './consume-errors.js';
import { consumeBatch } from './consuming.js';
import { disconnectWhenIdle } from './disconnect.js';
import { classify, errorNumbers, numberOf } from './errors.js';
import { ListenerQueue } from './listener-queue.js';
import { CallsInFlight, nativeCall } from './native-call.js';
import { loadNativeModule, type NativeConsumer } from './native.js';
import { OffsetCommits } from './offset-commits.js';
import type { ResolvedOptions } from './options.js';
import { type Owned, Ownership } from './ownership.js';
import { kickFetchers, seekAll } from './positioning.js';
import type { QueueWatch } from './queue-watch.js';
import { RecordMapper } from './record-mapper.js';
import { StallWatch } from './stall-watch.js';
import { toOffsets, toPartitions } from './topic-partitions.js';

const servePollMs = 10;

export class KafkaGroupConsumer implements GroupConsumer {
  readonly #options: ResolvedOptions;
  readonly #group: GroupConsumerOptions;
  readonly #listener: RebalanceListener;
  readonly #name: string;
  readonly #log: ClientLog;
  readonly #queues: QueueWatch;
  #unfollow: () => void = () => {};
  readonly #calls = new CallsInFlight();
  readonly #ownership = new Ownership();
  readonly #mapper = new RecordMapper();
  readonly #watch: StallWatch;
  readonly #commits: OffsetCommits;
  readonly #events: ListenerQueue;
  #client: NativeConsumer | undefined;
  /** Ends of partitions that consumes have reached and that are not counted yet. */
  #ends: TopicPartitionOffset[] = [];
  #consuming = false;
  /** A short consume of this class's own, which the runtime's next call waits for. */
  #serving: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #topics: readonly string[] = [];
  /** The client is stuck: its partitions are being let go, or have been, and the next consume makes another client. */
  #renewal: 'lettingGo' | 'due' | undefined;
  /** Closings of clients that were replaced. */
  readonly #retired: Promise<void>[] = [];
  /** What such a client still holds, until it asks for it when it closes. */
  readonly #left = new Map<NativeConsumer, readonly TopicPartition[]>();

  constructor(options: ResolvedOptions, group: GroupConsumerOptions, admin: BrokerAdmin, queues: QueueWatch) {
    this.#queues = queues;
    this.#options = options;
    this.#group = group;
    this.#listener = group.listener;
    this.#name = `consumer of group ${group.groupId}`;
    this.#log = new ClientLog(options.logger, this.#name);
    this.#events = new ListenerQueue({
      logger: options.logger,
      name: this.#name,
      mayTell: () => !this.#consuming && this.#closing === undefined,
    });
    this.#watch = new StallWatch({
      admin,
      logger: options.logger,
      active: () => this.#ownership.active(),
      failed: (error) => this.#events.add('failed', () => this.#listener.failed(error)),
      stuck: () => this.#giveUpClient(),
    });
    this.#commits = new OffsetCommits({
      commit: (offsets) => this.#open().commit(offsets),
      serve: () => this.#serveCommits(),
      timeoutMs: options.requestTimeoutMs,
    });
  }

  async subscribe(topics: readonly string[]): Promise<void> {
    assert(topics.length > 0, 'subscribe needs a topic');
    const client = this.#client ?? (await this.#connect());
    this.#client = client;
    this.#topics = topics;
    this.#subscribe(client);
  }

  async consume(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]> {
    await this.#serving?.catch(() => undefined);
    if (this.#renewal === 'due') await this.#renewClient();
    if (this.#renewal !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, timeoutMs));
      return [];
    }
    const stashed = this.#commits.takeStashed(recordsMax, (record) => this.#delivers(record));
    if (stashed.length > 0) return this.#counted(stashed);
    this.#watch.tick();
    return this.#counted(await this.#consume(recordsMax, timeoutMs));
  }

  /** Behind records that are kept back an end would count what nobody has seen yet: it waits for them, or until its partition is resumed. */
  #counted(records: ConsumedRecord[]): ConsumedRecord[] {
    this.#ownership.advance(records);
    const counts = (end: TopicPartition): boolean => this.#delivers(end) && !this.#commits.keeps(end);
    this.#ownership.reached(this.#ends.filter(counts));
    this.#ends = this.#ends.filter((end) => !counts(end) && this.#ownership.get(end) !== undefined);
    return records;
  }

  position(partition: TopicPartition): number | undefined {
    return this.#ownership.get(partition)?.position;
  }

  async assign(starts: readonly TopicPartitionOffset[], options: { readonly paused: boolean }): Promise<void> {
    const client = await this.#between('assign');
    const owned = toOffsets(starts).flatMap((start) => {
      const at = this.#ownership.get(start);
      // What the group took back meanwhile is about to be revoked; adding it would be answered by an error.
      return at === undefined || at.leaving ? [] : [{ at, start }];
    });
    const fresh = owned.filter(({ at }) => !at.added);
    const again = owned.filter(({ at }) => at.added);
    this.#native(`Assigning partitions to the ${this.#name}`, () => {
      if (fresh.length > 0) client.incrementalAssign(fresh.map(({ start }) => start));
      // In the same tick, so that nothing is delivered in between.
      if (fresh.length > 0 && options.paused) client.pause(fresh.map(({ start }) => start));
    });
    for (const { at, start } of fresh) Object.assign(at, { added: true, paused: options.paused, position: start.offset });
    if (again.length > 0) await this.seek(again.map(({ start }) => start));
    const changed = again.filter(({ at }) => at.paused !== options.paused).map(({ at }) => at);
    if (options.paused) await this.pause(changed);
    else await this.resume(changed);
    if (!options.paused) this.#kick(fresh.map(({ at }) => at));
  }

  async unassign(partitions: readonly TopicPartition[]): Promise<void> {
    const client = await this.#between('unassign');
    this.#forgetConsumed(partitions);
    const staying = this.#ownedOf(partitions).filter((owned) => owned.added && !owned.leaving && !owned.paused);
    if (staying.length > 0) await this.pause(staying);
    if (!this.#ownership.release(partitions)) return;
    if (this.#renewal === undefined) this.#answerLeaving(client);
    else {
      this.#left.set(client, this.#ownership.answered());
      this.#renewal = 'due';
    }
  }

  async pause(partitions: readonly TopicPartition[]): Promise<void> {
    const client = await this.#between('pause');
    const owned = this.#ownedOf(partitions).filter((at) => at.added);
    if (owned.length === 0) return;
    this.#native(`Pausing partitions of the ${this.#name}`, () => client.pause(toPartitions(owned)));
    for (const at of owned) at.paused = true;
  }

  async resume(partitions: readonly TopicPartition[]): Promise<void> {
    const client = await this.#between('resume');
    const owned = this.#ownedOf(partitions).filter((at) => at.added);
    if (owned.length === 0) return;
    this.#native(`Resuming partitions of the ${this.#name}`, () => client.resume(toPartitions(owned)));
    for (const at of owned) at.paused = false;
    this.#kick(owned);
  }

  async seek(positions: readonly TopicPartitionOffset[]): Promise<void> {
    const client = await this.#between('seek');
    this.#forgetConsumed(positions);
    const targets = toOffsets(positions).filter((at) => this.#ownership.get(at)?.added);
    await this.#calls.track(seekAll(client, targets, this.#options.requestTimeoutMs));
    for (const target of targets) {
      const owned = this.#ownership.get(target);
      if (owned) owned.position = target.offset;
    }
  }

  async commitOffsets(offsets: readonly OffsetToCommit[]): Promise<void> {
    this.#open();
    await this.#calls.track(this.#commits.commit(offsets));
  }

  close(): Promise<void> {
    this.#unfollow();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * The connected client, for sending offsets of partitions that the group gave to this member.
   * @throws BrokerError of kind `staleMember`
   */
  memberFor(partitions: readonly TopicPartition[]): NativeConsumer {
    const client = this.#client;
    const missing = partitions.find((at) => this.#ownership.get(at) === undefined);
    if (client?.isConnected() && this.#closing === undefined && missing === undefined) return client;
    throw new BrokerError({
      code: 'STALE_MEMBER',
      kind: 'staleMember',
      message: `Offsets cannot be sent: the ${this.#name} ${missing ? `does not own ${partitionName(missing)} any more` : 'is not connected'}. Abort the transaction.`,
      place: missing,
    });
  }

  /** Holds back `close` until the call has ended: the native side would read a consumer that is gone. */
  whileOpen<T>(call: Promise<T>): Promise<T> {
    return this.#calls.track(call);
  }

  async #connect(): Promise<NativeConsumer> {
    const properties = groupConsumerProperties(this.#options, this.#group);
    const client = new (loadNativeModule().KafkaConsumer)({
      ...properties,
      rebalance_cb: (event: unknown, partitions: readonly TopicPartition[]) => this.#rebalanced(client, event, partitions),
      offset_commit_cb: (error: unknown) => {
        if (client === this.#client) this.#commits.answered(error);
      },
    });
    this.#log.listen(client);
    client.on('partition.eof', (end) => {
      if (client === this.#client) this.#ends.push(end);
    });
    client.setDefaultIsTimeoutOnlyForFirstMessage(true);
    const connected = nativeCall<unknown>(
      (thrown) => classify(thrown, 'connect', `Connecting the ${this.#name} to ${this.#options.brokers}`),
      (callback) => client.connect({ allTopics: false, timeout: this.#options.requestTimeoutMs }, callback),
    );
    await this.#calls.track(connected);
    this.#unfollow();
    this.#unfollow = this.#queues.follow(client);
    return client;
  }

  #subscribe(client: NativeConsumer): void {
    try {
      client.subscribe([...this.#topics]);
    } catch (thrown) {
      throw this.#failure(thrown, `Subscribing the ${this.#name}`);
    }
  }

  /** A client that brings nothing would not hear either that its partitions are somebody else's by now. */
  #giveUpClient(): void {
    if (this.#closing !== undefined || this.#renewal !== undefined || this.#ownership.answerDue) return;
    const partitions = this.#ownership.all().map(({ topic, partition }) => ({ topic, partition }));
    this.#options.logger.warn(
      `The ${this.#name} brings nothing although there are records, and is replaced by a new member: its partitions count as lost.`,
    );
    this.#renewal = 'lettingGo';
    this.#ownership.leaving(partitions);
    this.#events.add('lost', () => this.#listener.lost(partitions));
  }

  /** Between two consumes, when the runtime has let go of everything. */
  async #renewClient(): Promise<void> {
    const old = this.#open();
    const client = await this.#connect();
    // What closes meanwhile closes the old one.
    if (this.#closing !== undefined) return this.#retire(client);
    this.#client = client;
    this.#renewal = undefined;
    this.#retire(old);
    this.#subscribe(client);
  }

  /** Of a client that is, or is about to be, replaced. */
  #answerForRetired(client: NativeConsumer, event: unknown): void {
    const left = this.#left.get(client) ?? [];
    if (numberOf(event) === errorNumbers.assignPartitions) this.#tryToAnswer(() => client.incrementalAssign([]));
    else this.#tryToAnswer(() => client.incrementalUnassign(left));
    this.#left.delete(client);
  }

  /** In the background: a client that is stuck may not answer any more. */
  #retire(client: NativeConsumer): void {
    const closed = disconnectWhenIdle({
      name: `${this.#name} that was stuck`,
      client: () => client,
      calls: this.#calls,
      timeoutMs: this.#options.closeTimeoutMs,
      logger: this.#options.logger,
      disconnect: (callback) => client.disconnect(callback),
    });
    this.#retired.push(closed);
  }

  async #consume(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]> {
    const client = this.#open();
    assert(!this.#consuming, `two consumes at once on the ${this.#name}`);
    this.#consuming = true;
    try {
      const batch = await this.#calls.track(consumeBatch(client, recordsMax, timeoutMs));
      return 'thrown' in batch ? await this.#consumeFailed(batch.thrown) : this.#mapper.map(batch.messages);
    } finally {
      this.#consuming = false;
      this.#events.deliver();
    }
  }

  async #consumeFailed(thrown: unknown): Promise<ConsumedRecord[]> {
    if (numberOf(thrown) === errorNumbers.fatal) await this.#log.fatalReasonHeard();
    const verdict = consumeVerdict(thrown, { name: this.#name, fatalReason: this.#log.fatalReason, lastError: this.#log.lastError });
    if (verdict.report) throw verdict.error;
    this.#options.logger.warn(verdict.error.message);
    if (verdict.error.brokerCode === errorNumbers.autoOffsetReset) void this.#calls.track(this.#watch.suspect());
    return [];
  }

  /** Called by the client on the main thread, while a consume or the close is under way, and now and then when it has closed. */
  #rebalanced(client: NativeConsumer, event: unknown, partitions: readonly TopicPartition[]): void {
    if (client !== this.#client || this.#renewal !== undefined) return this.#answerForRetired(client, event);
    const list = partitions.map(({ topic, partition }) => ({ topic, partition }));
    const isAssignment = numberOf(event) === errorNumbers.assignPartitions;
    if (!isAssignment) this.#ownership.leaving(list);
    if (this.#closing !== undefined) {
      const known = this.#ownership.answered();
      return this.#tryToAnswer(() => client.incrementalUnassign(known));
    }
    if (isAssignment) {
      this.#ownership.granted(list);
      this.#native(`Taking partitions into the ${this.#name}`, () => client.incrementalAssign([]));
      if (list.length > 0) this.#events.add('assigned', () => this.#listener.assigned(list));
    } else {
      // Only in here the client tells a loss from a revocation.
      const lost = client.assignmentLost();
      if (!this.#ownership.answerDue) this.#answerLeaving(client);
      const what = lost ? 'lost' : 'revoked';
      if (list.length > 0) this.#events.add(what, () => this.#listener[what](list));
    }
  }

  /**
   * A client that closes takes a release for the answer to anything. One that has closed takes nothing any more, and to ask it whether its
   * partitions were lost would crash the process: the event was on its way to this thread meanwhile.
   */
  #tryToAnswer(answer: () => void): void {
    try {
      answer();
    } catch (thrown) {
      this.#options.logger.debug(`A rebalance came when the ${this.#name} had closed: ${String(thrown)}`);
    }
  }

  #answerLeaving(client: NativeConsumer): void {
    const leaving = this.#ownership.answered();
    this.#native(`Letting partitions of the ${this.#name} go`, () => client.incrementalUnassign(leaving));
    // The client had paused all partitions until this answer.
    if (this.#closing === undefined) this.#kick(this.#ownership.active());
  }

  /** Commits are answered only while the client is polled. Between consumes a short one does it; a record it brings is kept. */
  async #serveCommits(): Promise<void> {
    if (this.#consuming) {
      await new Promise((resolve) => setTimeout(resolve, servePollMs));
      return;
    }
    this.#serving = this.#consume(1, servePollMs).then((records) => this.#commits.stash(records));
    try {
      await this.#serving;
    } finally {
      this.#serving = undefined;
    }
  }

  /** What has been consumed of the partitions and not been given out yet. */
  #forgetConsumed(partitions: readonly TopicPartition[]): void {
    this.#commits.dropStashed(partitions);
    const names = new Set(partitions.map(partitionName));
    this.#ends = this.#ends.filter((end) => !names.has(partitionName(end)));
  }

  #delivers(partition: TopicPartition): boolean {
    const owned = this.#ownership.get(partition);
    return owned !== undefined && owned.added && !owned.paused;
  }

  #ownedOf(partitions: readonly TopicPartition[]): Owned[] {
    return partitions.flatMap((at) => this.#ownership.get(at) ?? []);
  }

  #kick(partitions: readonly Owned[]): void {
    const client = this.#client;
    if (client && partitions.length > 0)
      void this.#calls.track(
        kickFetchers(
          client,
          partitions.filter((at) => !at.paused),
        ),
      );
  }

  #open(): NativeConsumer {
    if (this.#client !== undefined && this.#closing === undefined) return this.#client;
    throw new BrokerError({ code: 'CONSUMER_CLOSED', kind: 'closed', message: `The ${this.#name} is not open.` });
  }

  async #between(call: string): Promise<NativeConsumer> {
    await this.#serving?.catch(() => undefined);
    assert(!this.#consuming, `${call} on the ${this.#name} while a consume is under way`);
    return this.#open();
  }

  #native(doing: string, call: () => void): void {
    try {
      call();
    } catch (thrown) {
      throw this.#failure(thrown, doing);
    }
  }

  #failure(thrown: unknown, doing: string): BrokerError {
    return classify(thrown, 'consume', doing);
  }

  async #close(): Promise<void> {
    const client = this.#client;
    await disconnectWhenIdle({
      name: this.#name,
      client: () => client,
      calls: this.#calls,
      timeoutMs: this.#options.closeTimeoutMs,
      logger: this.#options.logger,
      before: () => {
        if (client && this.#ownership.answerDue) this.#answerLeaving(client);
      },
      disconnect: (callback) => client?.disconnect(callback),
    });
    await Promise.all(this.#retired);
  }
}
