/**
 * One consumer group under KIP-848, as the group coordinator keeps it.
 *
 * 1. Members heartbeat; the answer carries the member's epoch and the partitions it may hold now.
 * 2. A change (member, subscription, topic) raises the group's epoch and makes a new target by range.
 * 3. A member first gives up what its target lacks, keeping its epoch; then it takes the target's epoch, and of its new partitions those
 *    that nobody else holds.
 * 4. A member that is silent for the session timeout, or does not give up partitions for the rebalance timeout, is removed.
 */
import type { Clock, GroupMember, OffsetToCommit, TopicPartition } from '@tally/streams';
import { simulatedError } from './errors.js';
import { GroupOffsets, type MembersOffset } from './group-offsets.js';
import { type RangeMember, rangeAssignment } from './range-assignor.js';
import { type IdentifiedPartition, identityOf, type Topics } from './topics.js';

export interface HeartbeatRequest {
  readonly memberId: string;
  /** 0 joins. */
  readonly memberEpoch: number;
  readonly clientId: string;
  readonly topics: readonly string[];
  /** What the client holds, what it is giving up included. */
  readonly owned: readonly IdentifiedPartition[];
  readonly rebalanceTimeoutMs: number;
}

export interface HeartbeatAnswer {
  readonly memberEpoch: number;
  readonly assignment: readonly IdentifiedPartition[];
}

/** A partition that a member holds, with the epoch at which it got it. */
interface Holding {
  readonly partition: IdentifiedPartition;
  readonly epoch: number;
}

interface Member extends RangeMember {
  readonly clientId: string;
  epoch: number;
  previousEpoch: number;
  topics: readonly string[];
  readonly rebalanceTimeoutMs: number;
  assigned: Map<string, Holding>;
  /** Still to be given up. */
  revoking: Map<string, Holding>;
  cancelSession: () => void;
  cancelRevocation: () => void;
}

export interface GroupHost {
  readonly clock: Clock;
  readonly topics: Topics;
  readonly sessionTimeoutMs: number;
  readonly isAvailable: boolean;
}

/** Who commits offsets, as the client knew itself when the request ran. */
export interface CommittingMember {
  readonly groupId: string;
  readonly memberId: string;
  readonly memberEpoch: number;
}

export class ConsumerGroup {
  readonly offsets: GroupOffsets;
  private readonly members = new Map<string, Member>();
  private epoch = 0;
  private shape = '';
  private target = new Map<string, Map<string, IdentifiedPartition>>();

  constructor(
    private readonly host: GroupHost,
    onCommitted?: (offset: MembersOffset) => void,
  ) {
    this.offsets = new GroupOffsets(onCommitted);
  }

  heartbeat(request: HeartbeatRequest): HeartbeatAnswer {
    const member = request.memberEpoch === 0 ? this.join(request) : this.known(request);
    member.topics = request.topics;
    this.watchSession(member);
    this.refreshTarget();
    this.reconcile(member, request.owned);
    return { memberEpoch: member.epoch, assignment: [...member.assigned.values()].map((holding) => holding.partition) };
  }

  leave(memberId: string): void {
    const member = this.members.get(memberId);
    if (member !== undefined) this.remove(member);
  }

  describe(): GroupMember[] {
    return [...this.members.values()].map((member) => ({
      memberId: member.id,
      clientId: member.clientId,
      instanceId: undefined,
      partitions: [...member.assigned.values(), ...member.revoking.values()].map(({ partition }) => ({
        topic: partition.topic,
        partition: partition.partition,
      })),
    }));
  }

  /** The fence of offsets in a transaction. As the protocol has it, a producer that names no member is not fenced at all. */
  checkTransactionalCommit(by: CommittingMember, offsets: readonly OffsetToCommit[]): void {
    if (by.memberEpoch !== -1 || by.memberId !== '') this.checkCommit(by, offsets);
  }

  /**
   * The fence of offset commits. The current epoch may commit anything; an older one only partitions that the member has held since then.
   */
  checkCommit(by: CommittingMember, offsets: readonly OffsetToCommit[]): void {
    if (by.memberEpoch < 0 && this.members.size === 0) return;
    const member = this.members.get(by.memberId);
    if (member === undefined) throw simulatedError('UNKNOWN_MEMBER_ID');
    if (by.memberEpoch === member.epoch) return;
    if (by.memberEpoch > member.epoch) throw simulatedError('STALE_MEMBER_EPOCH');
    for (const { topic, partition } of offsets) {
      const topicId = this.host.topics.find(topic)?.topicId ?? '';
      const identity = identityOf({ topic, partition, topicId });
      const heldSince = (member.assigned.get(identity) ?? member.revoking.get(identity))?.epoch;
      if (heldSince === undefined || by.memberEpoch < heldSince) throw simulatedError('STALE_MEMBER_EPOCH', { topic, partition });
    }
  }

  /** The offsets with who commits them. */
  attributed({ memberId }: CommittingMember, offsets: readonly OffsetToCommit[]): readonly MembersOffset[] {
    const member = this.members.get(memberId);
    return offsets.map((offset) => ({
      ...offset,
      by: { memberId, heldSince: member === undefined ? undefined : heldByName(member, offset)?.epoch },
    }));
  }

  private join(request: HeartbeatRequest): Member {
    const existing = this.members.get(request.memberId);
    if (existing !== undefined) this.remove(existing);
    const member: Member = {
      id: request.memberId,
      clientId: request.clientId,
      epoch: 0,
      previousEpoch: -1,
      topics: request.topics,
      rebalanceTimeoutMs: request.rebalanceTimeoutMs,
      assigned: new Map(),
      revoking: new Map(),
      cancelSession: () => {},
      cancelRevocation: () => {},
    };
    this.members.set(member.id, member);
    return member;
  }

  private known({ memberId, memberEpoch, owned }: HeartbeatRequest): Member {
    const member = this.members.get(memberId);
    if (member === undefined) throw simulatedError('UNKNOWN_MEMBER_ID');
    // The answer that carried the newer epoch may have been lost: the client then repeats itself with the older one.
    const repeats = memberEpoch === member.previousEpoch && owned.every((partition) => member.assigned.has(identityOf(partition)));
    if (memberEpoch !== member.epoch && !repeats) throw simulatedError('FENCED_MEMBER_EPOCH');
    return member;
  }

  private remove(member: Member): void {
    member.cancelSession();
    member.cancelRevocation();
    this.members.delete(member.id);
    this.refreshTarget();
  }

  private watchSession(member: Member): void {
    member.cancelSession();
    member.cancelSession = this.host.clock.after(this.host.sessionTimeoutMs, () => {
      // A coordinator that was away gives every session its full time again.
      if (this.host.isAvailable) this.remove(member);
      else this.watchSession(member);
    });
  }

  private refreshTarget(): void {
    const shape = this.describeShape();
    if (shape === this.shape) return;
    this.shape = shape;
    this.epoch += 1;
    this.target = rangeAssignment([...this.members.values()], this.host.topics);
  }

  /** All that a target depends on. */
  private describeShape(): string {
    const members = [...this.members.values()].map((member) => `${member.id}:${member.topics.join(',')}`);
    const names = new Set([...this.members.values()].flatMap((member) => member.topics));
    const topics = [...names].map((name) => {
      const topic = this.host.topics.find(name);
      return `${name}:${topic?.topicId ?? ''}:${topic?.partitions.length ?? 0}`;
    });
    return [...members.toSorted(), ...topics.toSorted()].join(';');
  }

  private reconcile(member: Member, owned: readonly IdentifiedPartition[]): void {
    if (member.revoking.size > 0) {
      if (owned.some((partition) => member.revoking.has(identityOf(partition)))) return;
      member.revoking.clear();
      member.cancelRevocation();
    }
    const target = this.target.get(member.id) ?? new Map<string, IdentifiedPartition>();
    for (const [identity, holding] of member.assigned) {
      if (target.has(identity)) continue;
      member.assigned.delete(identity);
      // What the client has not learned of when it sends a heartbeat, it will not learn of any more.
      if (owned.some((partition) => identityOf(partition) === identity)) member.revoking.set(identity, holding);
    }
    if (member.revoking.size > 0) {
      this.watchRevocation(member);
      return;
    }
    if (member.epoch !== this.epoch) {
      member.previousEpoch = member.epoch;
      member.epoch = this.epoch;
    }
    for (const [identity, partition] of target) {
      if (!member.assigned.has(identity) && this.isFree(identity)) member.assigned.set(identity, { partition, epoch: member.epoch });
    }
  }

  private watchRevocation(member: Member): void {
    member.cancelRevocation();
    member.cancelRevocation = this.host.clock.after(member.rebalanceTimeoutMs, () => this.remove(member));
  }

  private isFree(identity: string): boolean {
    for (const member of this.members.values()) if (member.assigned.has(identity) || member.revoking.has(identity)) return false;
    return true;
  }
}

/** What the member holds of the name, also of a topic that was deleted meanwhile. */
function heldByName({ assigned, revoking }: Member, { topic, partition }: TopicPartition): Holding | undefined {
  const isMeant = ({ partition: held }: Holding): boolean => held.topic === topic && held.partition === partition;
  return [...assigned.values()].find(isMeant) ?? [...revoking.values()].find(isMeant);
}
