/**
 * The client's side of a KIP-848 group: heartbeats, and one change of the assignment at a time, revocations first.
 *
 * 1. New partitions are answered for at once; they are read when the application has added them. Partitions that are revoked or lost are
 *    answered for when all of them have been let go, and until then nothing else changes. Heartbeats go on meanwhile.
 * 2. A member that the group no longer knows loses all it has; it joins again once that has been answered.
 */
import { partitionName, type TopicPartition } from '@tally/streams';
import type { Connection } from './connection.js';
import { isBrokerError } from './errors.js';
import type { CommittingMember, HeartbeatAnswer, HeartbeatRequest } from './group.js';
import { heartbeat, leaveGroup } from './requests/index.js';
import { type IdentifiedPartition, identityOf } from './topics.js';

export interface MembershipEvent {
  readonly kind: 'assigned' | 'revoked' | 'lost';
  readonly partitions: readonly IdentifiedPartition[];
}

export interface MembershipOptions {
  readonly connection: Connection;
  readonly groupId: string;
  readonly clientId: string;
  readonly memberId: string;
  readonly rebalanceTimeoutMs: number;
  readonly announce: (event: MembershipEvent) => void;
}

interface Held {
  readonly partition: IdentifiedPartition;
  /** Named by a revocation or loss that has not been answered. */
  leaving: boolean;
  /** Let go by the application. */
  released: boolean;
}

const retryBackoffMs = 100;

export class Membership {
  private epoch = 0;
  /** Raised when the group has forgotten the member: answers to earlier heartbeats mean nothing then. */
  private generation = 0;
  private readonly held = new Map<string, Held>();
  private expelled = false;
  private losing = false;
  private left = false;
  private awaitsPoll = false;
  private topics: readonly string[] = [];
  private beating = false;
  private beatAgain = false;
  private cancelBeat: () => void = () => {};

  constructor(private readonly options: MembershipOptions) {}

  /** How the member knows itself now: read this when a request runs. */
  get identity(): CommittingMember {
    return { groupId: this.options.groupId, memberId: this.options.memberId, memberEpoch: this.epoch };
  }

  /** Whether a revocation or loss waits for its answer; meanwhile the client reads nothing. */
  get answerDue(): boolean {
    return [...this.held.values()].some((held) => held.leaving);
  }

  /** Held, and not being given up. */
  keeps(partition: TopicPartition): boolean {
    return this.find(partition)?.leaving === false;
  }

  holds(partition: TopicPartition): boolean {
    return this.find(partition) !== undefined;
  }

  /** Joins the group, or tells it of a changed subscription. */
  subscribe(topics: readonly string[]): void {
    this.topics = topics;
    void this.heartbeat();
  }

  /** The application consumes again after it had not for too long. */
  polled(): void {
    if (!this.awaitsPoll) return;
    this.awaitsPoll = false;
    void this.heartbeat();
  }

  /** The application does not consume: the client leaves the group, what it has is lost, and it joins again when it is polled. */
  leaveUntilPolled(): void {
    if (this.awaitsPoll || this.left) return;
    this.awaitsPoll = true;
    void this.sendLeave(this.options.connection.cluster.sessionTimeoutMs);
    this.expel();
  }

  /** Lets go of what is to leave. @returns what has left with the answer that this completes; empty before. */
  release(partitions: readonly TopicPartition[]): readonly TopicPartition[] {
    for (const partition of partitions) {
      const held = this.find(partition);
      if (held?.leaving === true) held.released = true;
    }
    const leaving = [...this.held].filter(([, held]) => held.leaving);
    if (leaving.length === 0 || leaving.some(([, held]) => !held.released)) return [];
    for (const [identity] of leaving) this.held.delete(identity);
    this.losing = false;
    if (this.expelled) this.loseAll();
    else void this.heartbeat();
    return leaving.map(([, held]) => held.partition);
  }

  /** Ends the heartbeats and tells the group. */
  async leave(timeoutMs: number): Promise<void> {
    this.left = true;
    this.cancelBeat();
    await this.sendLeave(timeoutMs);
  }

  private find(wanted: TopicPartition): Held | undefined {
    const name = partitionName(wanted);
    for (const held of this.held.values()) if (partitionName(held.partition) === name) return held;
    return undefined;
  }

  private async heartbeat(): Promise<void> {
    if (this.beating) {
      this.beatAgain = true;
      return;
    }
    this.cancelBeat();
    if (this.left || this.expelled || this.losing || this.awaitsPoll) return;
    this.beating = true;
    const delayMs = await this.beat();
    this.beating = false;
    const again = this.beatAgain;
    this.beatAgain = false;
    if (again) void this.heartbeat();
    else if (!this.left) this.cancelBeat = this.options.connection.after(delayMs, () => void this.heartbeat());
  }

  /** @returns when the next heartbeat is due. */
  private async beat(): Promise<number> {
    const { connection, clientId, groupId } = this.options;
    const { heartbeatIntervalMs } = connection.cluster;
    const sent = this.request();
    const { generation } = this;
    try {
      const options = { clientId, timeoutMs: heartbeatIntervalMs, detail: `epoch ${sent.memberEpoch}` };
      const answer = await connection.call('heartbeat', options, () => heartbeat(connection.cluster, groupId, sent));
      if (generation === this.generation && !this.left) this.take(answer);
      return heartbeatIntervalMs;
    } catch (error) {
      const unknown = isBrokerError(error, 'UNKNOWN_MEMBER_ID') || isBrokerError(error, 'FENCED_MEMBER_EPOCH');
      if (unknown && generation === this.generation) this.expel();
      return retryBackoffMs;
    }
  }

  private request(): HeartbeatRequest {
    const { memberId, clientId, rebalanceTimeoutMs } = this.options;
    const owned = [...this.held.values()].map((held) => held.partition);
    return { memberId, memberEpoch: this.epoch, clientId, topics: this.topics, owned, rebalanceTimeoutMs };
  }

  private take(answer: HeartbeatAnswer): void {
    this.epoch = answer.memberEpoch;
    if (this.answerDue) return;
    const target = new Map(answer.assignment.map((partition) => [identityOf(partition), partition]));
    const surplus = [...this.held].filter(([identity]) => !target.has(identity)).map(([, held]) => held);
    if (surplus.length > 0) {
      this.announceLeaving('revoked', surplus);
      return;
    }
    const fresh = [...target].filter(([identity]) => !this.held.has(identity));
    if (fresh.length === 0) return;
    for (const [identity, partition] of fresh) this.held.set(identity, { partition, leaving: false, released: false });
    this.options.announce({ kind: 'assigned', partitions: fresh.map(([, partition]) => partition) });
    void this.heartbeat();
  }

  private async sendLeave(timeoutMs: number): Promise<void> {
    const { connection, groupId, clientId, memberId } = this.options;
    // Unanswered, it is as if the member had fallen silent.
    await connection.call('leaveGroup', { clientId, timeoutMs }, () => leaveGroup(connection.cluster, groupId, memberId)).catch(() => {});
  }

  private expel(): void {
    this.expelled = true;
    this.generation += 1;
    this.epoch = 0;
    if (!this.answerDue) this.loseAll();
  }

  private loseAll(): void {
    this.expelled = false;
    if (this.left) return;
    if (this.held.size === 0) {
      void this.heartbeat();
      return;
    }
    this.losing = true;
    this.announceLeaving('lost', [...this.held.values()]);
  }

  private announceLeaving(kind: 'revoked' | 'lost', leaving: readonly Held[]): void {
    for (const held of leaving) held.leaving = true;
    this.options.announce({ kind, partitions: leaving.map((held) => held.partition) });
  }
}
