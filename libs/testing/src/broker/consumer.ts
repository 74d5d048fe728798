/** The group consumer of a simulated process. */
import type {
  BrokerError,
  ConsumedRecord,
  GroupConsumer,
  GroupConsumerOptions,
  OffsetToCommit,
  TopicPartition,
  TopicPartitionOffset,
} from '@tally/streams';
import type { Connection } from './connection.js';
import { closedError, simulatedError } from './errors.js';
import { Fetcher } from './fetcher.js';
import type { CommittingMember } from './group.js';
import type { Isolation } from './log.js';
import { Membership, type MembershipEvent } from './membership.js';
import { checkOffsets } from './offset-check.js';
import { commitOffsets } from './requests/index.js';

export class SimulatedConsumer implements GroupConsumer {
  private readonly fetcher: Fetcher;
  private membership: Membership | undefined;
  private readonly events: MembershipEvent[] = [];
  private readonly errors: BrokerError[] = [];
  private lastPollMs = 0;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly options: GroupConsumerOptions,
    /** As `max.poll.interval.ms`: longer without a consume, and the client leaves the group. */
    private readonly maxPollIntervalMs: number,
    private readonly callTimeoutMs: number,
    isolation: Isolation,
  ) {
    this.fetcher = new Fetcher({
      connection,
      clientId: options.clientId,
      isolation,
      outOfRange: (error) => this.errors.push(error),
      suspended: () => this.membership?.answerDue === true,
      waitsForRelease: true,
    });
  }

  /** @throws BrokerError of kind `staleMember` when the consumer does not hold all of the partitions, or is not connected. */
  requireHeld(partitions: readonly TopicPartition[]): void {
    const { membership } = this;
    const missing = partitions.find((partition) => membership?.holds(partition) !== true);
    if (membership === undefined || this.closing !== undefined || missing !== undefined) throw simulatedError('UNKNOWN_MEMBER_ID', missing);
  }

  /** How the consumer knows itself in its group now; the producer's `sendOffsets` reads it when it runs. */
  identity(): CommittingMember {
    if (this.closing !== undefined || this.membership === undefined) throw simulatedError('UNKNOWN_MEMBER_ID');
    return this.membership.identity;
  }

  async subscribe(topics: readonly string[]): Promise<void> {
    this.requireOpen();
    if (topics.length === 0) throw this.violation('subscribe without a topic');
    const { connection, options } = this;
    if (this.membership !== undefined) {
      this.membership.subscribe(topics);
      return;
    }
    await connection.call('connect', { clientId: options.clientId, timeoutMs: this.callTimeoutMs }, () => undefined);
    this.membership = new Membership({
      connection,
      groupId: options.groupId,
      clientId: options.clientId,
      memberId: connection.cluster.newMemberId(),
      rebalanceTimeoutMs: this.maxPollIntervalMs,
      announce: (event) => this.announce(event),
    });
    this.lastPollMs = connection.clock.monotonicMs();
    this.watchPolls(this.maxPollIntervalMs);
    this.membership.subscribe(topics);
  }

  async consume(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]> {
    this.joined('consume').polled();
    const records = await this.fetcher.read(recordsMax, timeoutMs);
    this.lastPollMs = this.connection.clock.monotonicMs();
    this.deliver();
    return records;
  }

  async assign(starts: readonly TopicPartitionOffset[], options: { readonly paused: boolean }): Promise<void> {
    const membership = this.between('assign');
    // What the group took back meanwhile is about to be revoked.
    const kept = starts.filter((start) => membership.keeps(start));
    this.fetcher.add(kept, options.paused);
    this.fetcher.seek(kept);
    this.fetcher.setPaused(kept, options.paused);
    await this.connection.sleep(0);
  }

  async unassign(partitions: readonly TopicPartition[]): Promise<void> {
    const membership = this.between('unassign');
    this.fetcher.setPaused(this.added(partitions.filter((partition) => membership.keeps(partition))), true);
    this.fetcher.remove(this.added(membership.release(partitions)));
    await this.connection.sleep(0);
  }

  async pause(partitions: readonly TopicPartition[]): Promise<void> {
    this.between('pause');
    this.fetcher.setPaused(this.added(partitions), true);
    await this.connection.sleep(0);
  }

  async resume(partitions: readonly TopicPartition[]): Promise<void> {
    this.between('resume');
    this.fetcher.setPaused(this.added(partitions), false);
    await this.connection.sleep(0);
  }

  async seek(positions: readonly TopicPartitionOffset[]): Promise<void> {
    this.between('seek');
    this.fetcher.seek(positions.filter((position) => this.fetcher.has(position)));
    await this.connection.sleep(0);
  }

  position(partition: TopicPartition): number | undefined {
    return this.fetcher.position(partition);
  }

  async commitOffsets(offsets: readonly OffsetToCommit[]): Promise<void> {
    this.joined('commitOffsets');
    const problem = checkOffsets(offsets);
    if (problem !== undefined) throw this.connection.invalidArgument(`commitOffsets: ${problem}`);
    if (offsets.length === 0) return;
    const { connection, options } = this;
    const copies = offsets.map((offset) => ({ ...offset }));
    // As with sendOffsets, the epoch is the one at the time of sending.
    await connection.sleep(0);
    const identity = this.identity();
    await connection.call('commitOffsets', { clientId: options.clientId, timeoutMs: this.callTimeoutMs }, () =>
      commitOffsets(connection.cluster, identity, copies),
    );
  }

  close(): Promise<void> {
    this.closing ??= this.finish();
    return this.closing;
  }

  private async finish(): Promise<void> {
    this.fetcher.interruptRead();
    while (this.fetcher.reading) await this.connection.sleep(1);
    await this.membership?.leave(this.callTimeoutMs);
  }

  /** One timer that moves on to when the next consume is due. */
  private watchPolls(delayMs: number): void {
    this.connection.after(delayMs, () => {
      if (this.closing !== undefined) return;
      const { connection, maxPollIntervalMs } = this;
      const silentMs = this.fetcher.reading ? 0 : connection.clock.monotonicMs() - this.lastPollMs;
      const overdue = silentMs >= maxPollIntervalMs;
      if (overdue) this.membership?.leaveUntilPolled();
      this.watchPolls(overdue ? maxPollIntervalMs : maxPollIntervalMs - silentMs);
    });
  }

  private announce(event: MembershipEvent): void {
    this.events.push(event);
    // A consume that waits ends early, as the client's queue wakes up for a rebalance.
    if (this.fetcher.reading) this.fetcher.interruptRead();
    else this.connection.after(0, () => this.deliver());
  }

  /** Calls the listener, which must not happen while a consume is in flight. */
  private deliver(): void {
    if (this.fetcher.reading || this.closing !== undefined) return;
    const { listener } = this.options;
    for (const event of this.events.splice(0)) {
      listener[event.kind](event.partitions.map(({ topic, partition }) => ({ topic, partition })));
    }
    for (const error of this.errors.splice(0)) listener.failed(error);
  }

  private added<P extends TopicPartition>(partitions: readonly P[]): P[] {
    return partitions.filter((partition) => this.fetcher.has(partition));
  }

  private between(call: string): Membership {
    if (this.fetcher.reading) throw this.violation(`${call} while a consume is in flight`);
    return this.joined(call);
  }

  private joined(call: string): Membership {
    this.requireOpen();
    if (this.membership === undefined) throw this.violation(`${call} before subscribe`);
    return this.membership;
  }

  private requireOpen(): void {
    if (this.closing !== undefined) throw closedError('CONSUMER_CLOSED', `The consumer ${this.options.clientId}`);
  }

  private violation(message: string): Error {
    return this.connection.violation(`${this.options.clientId}: ${message}`);
  }
}
