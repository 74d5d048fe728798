/**
 * The members of one group and what they hold. Which member gets which partitions is a matter of their ids, so members are told apart by
 * what they hold. Where a partition is read next is kept here: a member that gets it goes on where the last one was, on every broker.
 */
import type { BrokerError, ConsumedRecord, GroupConsumer, TopicPartition } from '@tally/streams';
import { type Answer, nameOf } from './answers.suite.js';
import { type Place, places } from './commands.suite.js';
import type { World } from './world.suite.js';

export const consumeMs = 25;

interface Rebalance {
  readonly kind: 'assigned' | 'revoked' | 'lost';
  readonly partitions: readonly TopicPartition[];
}

export class Member {
  readonly consumer: GroupConsumer;
  readonly held = new Set<Place>();
  readonly asked: Rebalance[] = [];
  readonly failures: BrokerError[] = [];
  lost = 0;

  constructor(world: World, clientId: string) {
    const ask = (kind: Rebalance['kind']) => (partitions: readonly TopicPartition[]) => void this.asked.push({ kind, partitions });
    this.consumer = world.broker.createConsumer({
      groupId: world.playground.prefix,
      clientId,
      listener: {
        assigned: ask('assigned'),
        revoked: ask('revoked'),
        lost: ask('lost'),
        failed: (error) => void this.failures.push(error),
      },
    });
  }
}

/** What was taken from a member while partitions moved, beside what it held before. */
interface Moved {
  readonly before: ReadonlySet<Place>;
  readonly revoked: Place[];
}

export class Members {
  all: Member[] = [];
  /** By commands. */
  readonly paused = new Set<Place>();
  /** Absolute offsets. */
  private readonly positions = new Map<Place, number>();

  constructor(private readonly world: World) {}

  holderOf(place: Place): Member | undefined {
    return this.all.find((member) => member.held.has(place));
  }

  positionOf(place: Place): number {
    const position = this.holderOf(place)?.consumer.position(this.world.partitionOf(place));
    return position ?? this.positions.get(place) ?? this.world.baseOf(place);
  }

  /** Where the next holder goes on. */
  setPosition(place: Place, offset: number): void {
    this.positions.set(place, offset);
  }

  remember(member: Member, at: Iterable<Place>): void {
    for (const place of at) {
      const position = member.consumer.position(this.world.partitionOf(place));
      if (position !== undefined) this.positions.set(place, position);
    }
  }

  /** What arrives while partitions move about would be a matter of time, so nothing does. */
  async pauseAll(): Promise<void> {
    for (const { consumer, held } of this.all) await consumer.pause([...held].map((place) => this.world.partitionOf(place)));
  }

  /** Turns until every wanted partition has an owner and the members have equal shares, and goes on with what is not paused. */
  async settle(wanted: readonly Place[]): Promise<Answer> {
    const stray: ConsumedRecord[] = [];
    const moves = new Map<Member, Moved>(this.all.map((member) => [member, { before: new Set(member.held), revoked: [] }]));
    const isSettled = await this.world.until(async () => {
      for (const [member, { revoked }] of moves) {
        stray.push(...(await member.consumer.consume(100, consumeMs)));
        await this.answerRebalances(member, revoked);
      }
      return this.isBalanced(wanted);
    });
    for (const { consumer, held } of this.all)
      await consumer.resume([...held].filter((place) => !this.paused.has(place)).map((place) => this.world.partitionOf(place)));
    return {
      isSettled,
      shares: this.all.map(({ held }) => [...held].sort()).sort(byText),
      // A partition that stays with its member must not be taken from it meanwhile.
      disturbed: [...moves].flatMap(([{ held }, { before, revoked }]) => revoked.filter((place) => before.has(place) && held.has(place))),
      lost: this.all.reduce((sum, member) => sum + member.lost, 0),
      failures: this.all.flatMap(({ failures }) => failures.map(nameOf)),
      stray: stray.length,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((member) => member.consumer.close()));
  }

  private isBalanced(wanted: readonly Place[]): boolean {
    const held = this.all.flatMap((member) => [...member.held]);
    if (this.all.some(({ asked }) => asked.length > 0)) return false;
    if (held.length !== wanted.length || !wanted.every((place) => held.includes(place))) return false;
    const shares = this.all.map((member) => places.filter((place) => place.startsWith('plain') && member.held.has(place)).length);
    return Math.max(...shares) - Math.min(...shares) <= 1;
  }

  private async answerRebalances(member: Member, revoked: Place[]): Promise<void> {
    for (let next = member.asked.shift(); next !== undefined; next = member.asked.shift()) {
      const named = next.partitions.map((partition) => this.world.placeOf(partition));
      if (next.kind === 'assigned') {
        const starts = named.map((place) => ({ ...this.world.partitionOf(place), offset: this.positionOf(place) }));
        await member.consumer.assign(starts, { paused: true });
        for (const place of named) member.held.add(place);
        continue;
      }
      if (next.kind === 'lost') member.lost += 1;
      this.remember(member, named);
      await member.consumer.unassign(next.partitions);
      revoked.push(...named);
      for (const place of named) member.held.delete(place);
    }
  }
}

export function byText(left: unknown, right: unknown): number {
  return JSON.stringify(left) < JSON.stringify(right) ? -1 : 1;
}
