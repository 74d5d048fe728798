/**
 * The group consumer (KIP-848). Invariants:
 *
 * 1. One consume is under way at a time; assign, unassign, pause, resume and seek run only between consumes: two beside each other would
 *    deliver stale records.
 * 2. The listener is called outside of consumes, in the order of the group's events.
 * 3. A revocation is answered once for all partitions named, when the runtime has let go of them (see ownership.ts).
 * 4. A client that is stuck is replaced by another one, a new member. What the old one owned counts as lost, and the new one is made only when
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
import { consumeVerdict } from './consume-errors.js';
import { ClientFetching } from './client-fetching.js';
import { classify, errorNumbers, numberOf } from './errors.js';
import type { Fetched, Fetching } from './fetching.js';
import { GroupMember, type RebalanceEvent } from './group-member.js';
import { ListenerQueue } from './listener-queue.js';
import { OffsetCommits } from './offset-commits.js';
import type { ResolvedOptions } from './options.js';
import { type Owned, Ownership } from './ownership.js';
import { ProcessFetching } from './process-fetching.js';
import type { QueueWatch } from './queue-watch.js';
import { StallWatch } from './stall-watch.js';
import { toOffsets } from './topic-partitions.js';

const servePollMs = 10;
/**
 * A member whose offsets the group has refused so often and for so long, and which has not heard of any change meanwhile, does not hear the group: a
 * heartbeat would have told it within seconds.
 */
const refusalsMax = 3;
const refusedMsMax = 10_000;

export class KafkaGroupConsumer implements GroupConsumer {
  readonly #options: ResolvedOptions;
  readonly #group: GroupConsumerOptions;
  readonly #listener: RebalanceListener;
  readonly #name: string;
  readonly #queues: QueueWatch;
  readonly #admin: BrokerAdmin;
  readonly #ownership = new Ownership();
  readonly #fetching: Fetching;
  readonly #watch: StallWatch;
  readonly #commits: OffsetCommits;
  readonly #events: ListenerQueue;
  /** Those that have not left the group yet: the one in use, and those that it has replaced. */
  readonly #members = new Set<GroupMember>();
  #member: GroupMember | undefined;
  /** Ends of partitions that consumes have reached and that are not counted yet. */
  #ends: TopicPartitionOffset[] = [];
  /** Since the group was last heard, or took offsets. */
  #refusals: { readonly sinceMs: number; readonly count: number } | undefined;
  #consuming = false;
  /** Calls that wait for the client, or are under way: no consume of this class's own begins beside them. */
  #calling = 0;
  /** A short consume of this class's own, which the runtime's next call waits for. */
  #serving: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #topics: readonly string[] = [];

  constructor(options: ResolvedOptions, group: GroupConsumerOptions, admin: BrokerAdmin, queues: QueueWatch) {
    this.#queues = queues;
    this.#admin = admin;
    this.#options = options;
    this.#group = group;
    this.#listener = group.listener;
    this.#name = `consumer of group ${group.groupId}`;
    this.#events = new ListenerQueue({
      logger: options.logger,
      name: this.#name,
      mayTell: () => !this.#consuming && this.#closing === undefined,
    });
    this.#fetching = options.fetchProcess
      ? new ProcessFetching({ options, groupId: group.groupId, name: this.#name, queues, endReached: (end) => this.#ends.push(end) })
      : new ClientFetching(options.requestTimeoutMs);
    this.#watch = new StallWatch({
      admin,
      logger: options.logger,
      active: () => this.#ownership.active(),
      isHeld: () => this.#ownership.answerDue,
      failed: (error) => this.#events.add('failed', () => this.#listener.failed(error)),
      rouse: (silent) => this.#rouse(silent),
      stuck: (silent) => this.#giveUpMember(`brings nothing of ${silent.map(partitionName).join(', ')} although there are records`),
    });
    this.#commits = new OffsetCommits({
      commit: (offsets) => this.#open().client.commit(offsets),
      serve: () => this.#serveCommits(),
      timeoutMs: options.requestTimeoutMs,
    });
  }

  async subscribe(topics: readonly string[]): Promise<void> {
    assert(topics.length > 0, 'subscribe needs a topic');
    this.#topics = topics;
    this.#member ??= await this.#connect();
    this.#subscribe(this.#open());
  }

  async consume(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]> {
    await this.#serving?.catch(() => undefined);
    if (this.#open().isReleased) await this.#replaceMember();
    if (this.#member?.isGivenUp === true) {
      await new Promise((resolve) => setTimeout(resolve, timeoutMs));
      return [];
    }
    const stashed = this.#commits.takeStashed(recordsMax, (record) => this.#delivers(record));
    if (stashed.length > 0) return this.#counted(stashed);
    this.#watch.tick();
    return this.#counted(await this.#consume((member) => this.#fetching.consume(member, recordsMax, timeoutMs)));
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
    const member = await this.#between('assign');
    const owned = toOffsets(starts).flatMap((start) => {
      const at = this.#ownership.get(start);
      // What the group took back meanwhile is about to be revoked; adding it would be answered by an error.
      return at === undefined || at.leaving ? [] : [{ at, start }];
    });
    const fresh = owned.filter(({ at }) => !at.added);
    const again = owned.filter(({ at }) => at.added);
    this.#native(`Assigning partitions to the ${this.#name}`, () => {
      const added = fresh.map(({ start }) => start);
      if (added.length > 0) this.#fetching.add(member, added, options.paused);
    });
    for (const { at, start } of fresh) Object.assign(at, { added: true, paused: options.paused, position: start.offset });
    if (again.length > 0) await this.seek(again.map(({ start }) => start));
    const changed = again.filter(({ at }) => at.paused !== options.paused).map(({ at }) => at);
    if (options.paused) await this.pause(changed);
    else await this.resume(changed);
    if (!options.paused) this.#kick(fresh.map(({ at }) => at));
  }

  async unassign(partitions: readonly TopicPartition[]): Promise<void> {
    const member = await this.#between('unassign');
    this.#forgetConsumed(partitions);
    this.#fetching.remove(partitions);
    const staying = this.#ownedOf(partitions).filter((owned) => owned.added && !owned.leaving && !owned.paused);
    if (staying.length > 0) await this.pause(staying);
    if (!this.#ownership.release(partitions)) return;
    if (member.isGivenUp) member.release(this.#ownership.answered());
    else this.#answerLeaving(member);
  }

  async pause(partitions: readonly TopicPartition[]): Promise<void> {
    const member = await this.#between('pause');
    const owned = this.#ownedOf(partitions).filter((at) => at.added);
    if (owned.length === 0) return;
    this.#native(`Pausing partitions of the ${this.#name}`, () => this.#fetching.pause(member, owned));
    for (const at of owned) at.paused = true;
  }

  async resume(partitions: readonly TopicPartition[]): Promise<void> {
    const member = await this.#between('resume');
    const owned = this.#ownedOf(partitions).filter((at) => at.added);
    if (owned.length === 0) return;
    this.#native(`Resuming partitions of the ${this.#name}`, () => this.#fetching.resume(member, owned));
    for (const at of owned) at.paused = false;
    this.#kick(owned);
  }

  async seek(positions: readonly TopicPartitionOffset[]): Promise<void> {
    const member = await this.#between('seek');
    this.#forgetConsumed(positions);
    const targets = toOffsets(positions).filter((at) => this.#ownership.get(at)?.added);
    this.#calling++;
    try {
      await this.#fetching.seek(member, targets, (target) => this.#ownership.get(target)?.paused !== false);
    } finally {
      this.#calling--;
    }
    for (const target of targets) {
      const owned = this.#ownership.get(target);
      if (owned) owned.position = target.offset;
    }
  }

  async commitOffsets(offsets: readonly OffsetToCommit[]): Promise<void> {
    try {
      await this.#open().calls.track(this.#commits.commit(offsets));
    } catch (error) {
      if (error instanceof BrokerError) await this.#notCommitted(error, offsets);
      throw error;
    }
    this.accepted();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * The member, for sending offsets of partitions that the group gave to it. Its client must not close before they have been answered.
   * @throws BrokerError of kind `staleMember`
   */
  memberFor(partitions: readonly TopicPartition[]): GroupMember {
    const member = this.#member;
    const missing = partitions.find((at) => this.#ownership.get(at) === undefined);
    if (member?.client.isConnected() && this.#closing === undefined && missing === undefined) return member;
    throw new BrokerError({
      code: 'STALE_MEMBER',
      kind: 'staleMember',
      message: `Offsets cannot be sent: the ${this.#name} ${missing ? `does not own ${partitionName(missing)} any more` : 'is not connected'}. Abort the transaction.`,
      place: missing,
    });
  }

  /** The group has taken offsets of the member. */
  accepted(): void {
    this.#refusals = undefined;
  }

  /** The group has refused offsets as of a member that it does not know. Where another process reads, only this shows that the group is not heard. */
  refused(): void {
    if (!this.#fetching.isApart) return;
    const nowMs = performance.now();
    const { sinceMs, count } = this.#refusals ?? { sinceMs: nowMs, count: 0 };
    this.#refusals = { sinceMs, count: count + 1 };
    if (count + 1 < refusalsMax || nowMs - sinceMs < refusedMsMax) return;
    this.#refusals = undefined;
    this.#giveUpMember('does not hear that its group refuses it');
  }

  /** A member that the group does not know is told so, or gets no answer, though the broker answers others. */
  async #notCommitted({ kind, code }: BrokerError, offsets: readonly TopicPartition[]): Promise<void> {
    if (!this.#fetching.isApart || (kind !== 'staleMember' && code !== 'TIMED_OUT')) return;
    const isBrokerThere = await this.#admin.listOffsets(offsets, 'lastStable').then(
      () => true,
      () => false,
    );
    if (isBrokerThere) this.refused();
  }

  async #connect(): Promise<GroupMember> {
    const member = new GroupMember({
      options: this.#options,
      group: this.#group,
      queues: this.#queues,
      rebalanced: (from, event, partitions) => this.#rebalanced(from, event, partitions),
      committed: (error) => this.#commits.answered(error),
      endReached: (end) => {
        if (!this.#fetching.isApart) this.#ends.push(end);
      },
    });
    this.#members.add(member);
    try {
      await member.connect();
      return member;
    } catch (error) {
      this.#members.delete(member);
      throw error;
    }
  }

  #subscribe(member: GroupMember): void {
    this.#native(`Subscribing the ${this.#name}`, () => member.subscribe(this.#topics));
  }

  #rouse(silent: readonly Owned[]): void {
    try {
      this.#fetching.rouse(this.#open(), silent);
    } catch (thrown) {
      this.#options.logger.debug(`Partitions of the ${this.#name} could not be roused: ${String(thrown)}`);
    }
    this.#kick(silent);
  }

  /** A client that brings nothing would not hear either that its partitions are somebody else's by now. */
  #giveUpMember(reason: string): void {
    const member = this.#member;
    if (!member || member.isGivenUp || this.#closing !== undefined || this.#ownership.answerDue) return;
    this.#options.logger.warn(`The ${this.#name} ${reason}, and is replaced by a new member: all of its partitions count as lost.`);
    const partitions = this.#ownership.all().map(({ topic, partition }) => ({ topic, partition }));
    member.giveUp();
    this.#ownership.leaving(partitions);
    this.#events.add('lost', () => this.#listener.lost(partitions));
  }

  /** Between two consumes, when the runtime has let go of everything. */
  async #replaceMember(): Promise<void> {
    const old = this.#open();
    const member = await this.#connect();
    // What closes meanwhile closes both.
    if (this.#closing !== undefined) return;
    try {
      this.#subscribe(member);
    } catch (error) {
      this.#retire(member);
      throw error;
    }
    this.#member = member;
    this.#retire(old);
  }

  /** In the background: a client that is stuck may not answer any more. */
  #retire(member: GroupMember): void {
    void member.close(() => []).finally(() => this.#members.delete(member));
  }

  async #consume(fetch: (member: GroupMember) => Promise<Fetched>): Promise<ConsumedRecord[]> {
    const member = this.#open();
    assert(!this.#consuming, `two consumes at once on the ${this.#name}`);
    this.#consuming = true;
    try {
      const fetched = await fetch(member);
      return 'thrown' in fetched ? await this.#consumeFailed(member, fetched.thrown) : fetched.records;
    } finally {
      this.#consuming = false;
      this.#events.deliver();
    }
  }

  async #consumeFailed({ log }: GroupMember, thrown: unknown): Promise<ConsumedRecord[]> {
    if (numberOf(thrown) === errorNumbers.fatal) await log.fatalReasonHeard();
    const verdict = consumeVerdict(thrown, { name: this.#name, fatalReason: log.fatalReason, lastError: log.lastError });
    if (verdict.report) throw verdict.error;
    this.#options.logger.warn(verdict.error.message);
    if (verdict.error.brokerCode === errorNumbers.autoOffsetReset) void this.#watch.suspect();
    return [];
  }

  #rebalanced(member: GroupMember, event: RebalanceEvent, partitions: readonly TopicPartition[]): void {
    this.#refusals = undefined;
    if (event === 'assigned') this.#ownership.granted(partitions);
    else {
      this.#ownership.leaving(partitions);
      if (!this.#ownership.answerDue) this.#answerLeaving(member);
    }
    if (partitions.length > 0) this.#events.add(event, () => this.#listener[event](partitions));
  }

  #answerLeaving(member: GroupMember): void {
    const leaving = this.#ownership.answered();
    this.#native(`Letting partitions of the ${this.#name} go`, () => member.letGo(leaving));
    // The client had paused all partitions until this answer.
    this.#kick(this.#ownership.active());
  }

  /** Commits are answered only while the client is polled. Between consumes a short one does it; a record it brings is kept. */
  async #serveCommits(): Promise<void> {
    // Calls that have waited for the last one run first.
    await new Promise(setImmediate);
    if (this.#consuming || this.#calling > 0 || this.#member?.isReleased === true) {
      await new Promise((resolve) => setTimeout(resolve, servePollMs));
      return;
    }
    const member = this.#open();
    this.#serving = this.#consume((served) => this.#fetching.serve(served, servePollMs)).then((records) => {
      // A member in its place reads them anew.
      if (!member.isGivenUp) this.#commits.stash(records);
    });
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
    const member = this.#member;
    const toWake = partitions.filter((at) => !at.paused);
    if (member && partitions.length > 0) this.#fetching.wake(member, toWake);
  }

  #open(): GroupMember {
    if (this.#member !== undefined && this.#closing === undefined) return this.#member;
    throw new BrokerError({ code: 'CONSUMER_CLOSED', kind: 'closed', message: `The ${this.#name} is not open.` });
  }

  async #between(call: string): Promise<GroupMember> {
    this.#calling++;
    try {
      await this.#serving?.catch(() => undefined);
      await this.#fetching.between();
    } finally {
      this.#calling--;
    }
    assert(!this.#consuming, `${call} on the ${this.#name} while a consume is under way`);
    return this.#open();
  }

  #native(doing: string, call: () => void): void {
    try {
      call();
    } catch (thrown) {
      throw classify(thrown, 'consume', doing);
    }
  }

  async #close(): Promise<void> {
    const members = [...this.#members].map((member) => member.close(() => (member === this.#member ? this.#letAllGo() : [])));
    await Promise.all([this.#fetching.close(), ...members]);
  }

  #letAllGo(): readonly TopicPartition[] {
    this.#ownership.leaving(this.#ownership.all());
    return this.#ownership.answered();
  }
}
