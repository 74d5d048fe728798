/**
 * Finds partitions that can no longer be read, and clients that read nothing any more. The client reports an offset outside of the log without
 * saying of which partition, or not at all when it happens behind other records of a batch; the partition then just stalls. And a client that met a
 * broker which went away may never fetch again, nor hear of its group. So a partition that was silent for an interval is compared with its log.
 */
import { BrokerError, type BrokerAdmin, type Logger, partitionName, type TopicPartitionOffset } from '@tally/streams';
import type { Owned } from './ownership.js';

/** From the end of one check to the next: else those that an outage has held up would follow one another at once. */
const intervalMs = 10_000;
/** So many checks in a row have found records that a client does not bring, before it counts as stuck: less may be a rebalance or a busy broker. */
const checksUntilStuck = 3;
/** The same while other partitions go on: one partition is a weaker sign, and a new member interrupts them all. */
const checksUntilStuckBesideOthers = 30;
/** Where a new member has met the same silence, the next one is waited for twice as long, up to so many times: it helps as little. */
const patienceMax = 64;
/** A partition that waits is roused at its second check, and then now and again: all that is missing may be the report of its end. */
const isRousing = (checks: number): boolean => checks % 10 === 2;

interface Parts {
  readonly admin: BrokerAdmin;
  readonly logger: Logger;
  readonly active: () => readonly Owned[];
  /** A rebalance waits for its answer, until which the client brings nothing. */
  readonly isHeld: () => boolean;
  readonly failed: (error: BrokerError) => void;
  /** Has the client read on the partitions from where they are. Called between two consumes. */
  readonly rouse: (partitions: readonly Owned[]) => void;
  /** Nothing has come of these for half a minute, nor of any other, or for minutes beside others: although the broker answers and there are records. */
  readonly stuck: (partitions: readonly Owned[]) => void;
  /** Monotonic time; the process's own unless given. */
  readonly nowMs?: () => number;
}

/** Given the partitions that are still silent, and inside of their logs. */
type Judge = (silent: readonly Owned[]) => Promise<void>;

export class StallWatch {
  readonly #parts: Parts;
  readonly #nowMs: () => number;
  readonly #seen = new Map<string, number | undefined>();
  #nextAtMs: number;
  /** Checks in a row in which nothing had come of any partition, and some had records. */
  #idleChecks = 0;
  /** By partition: checks in a row that have found records of it which do not come. */
  readonly #waitingChecks = new Map<string, number>();
  /** Partitions to be roused before the next consume. */
  #drowsy: readonly Owned[] = [];
  /** Where partitions stood when they last counted as stuck, and by how much later they do when they stand there still. */
  #stuckAt: ReadonlyMap<string, number | undefined> = new Map();
  #patience = 1;
  #checking: Promise<void> | undefined;
  #isSuspected = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#nowMs = parts.nowMs ?? (() => performance.now());
    this.#nextAtMs = this.#nowMs() + intervalMs;
  }

  /** Called before every consume; cheap unless a check is due. */
  tick(): void {
    if (this.#parts.isHeld()) return this.#beginAnew();
    this.#rouse();
    if (this.#checking !== undefined) return;
    if (this.#isSuspected) return void this.suspect();
    if (this.#nowMs() < this.#nextAtMs) return;
    const active = this.#parts.active();
    const silent = active.filter(
      (owned) => this.#seen.has(partitionName(owned)) && this.#seen.get(partitionName(owned)) === owned.position,
    );
    this.#seen.clear();
    for (const owned of active) this.#seen.set(partitionName(owned), owned.position);
    const isAllSilent = silent.length > 0 && silent.length === active.length;
    if (!isAllSilent) this.#idleChecks = 0;
    const names = new Set(silent.map(partitionName));
    for (const name of this.#waitingChecks.keys()) if (!names.has(name)) this.#waitingChecks.delete(name);
    void this.#check(silent, (still) => this.#judge(still, isAllSilent));
  }

  /** The client said that some partition's offset is out of range. */
  suspect(): Promise<void> {
    this.#isSuspected = this.#checking !== undefined;
    return this.#checking ?? this.#check(this.#parts.active());
  }

  /** Resolves when the check that was begun has ended. */
  async settled(): Promise<void> {
    await this.#checking;
  }

  /** What was counted is no sign of anything; a check that is under way counts for nothing either, for the next one finds nothing silent. */
  #beginAnew(): void {
    this.#seen.clear();
    this.#waitingChecks.clear();
    this.#idleChecks = 0;
    this.#drowsy = [];
    this.#nextAtMs = this.#nowMs() + intervalMs;
  }

  #rouse(): void {
    if (this.#drowsy.length === 0) return;
    const active = new Set(this.#parts.active());
    const drowsy = this.#drowsy.filter((owned) => active.has(owned));
    this.#drowsy = [];
    if (drowsy.length > 0) this.#parts.rouse(drowsy);
  }

  /** One at a time. */
  #check(partitions: readonly Owned[], judge?: Judge): Promise<void> {
    const checking = this.#compare(partitions, judge).finally(() => {
      this.#checking = undefined;
      if (judge) this.#nextAtMs = this.#nowMs() + intervalMs;
    });
    this.#checking = checking;
    return checking;
  }

  async #compare(partitions: readonly Owned[], judge?: Judge): Promise<void> {
    if (partitions.length === 0) return;
    const before = new Map(partitions.map((owned) => [owned, owned.position]));
    const waits = (owned: Owned): boolean => !owned.leaving && owned.position === before.get(owned);
    try {
      const earliest = await this.#parts.admin.listOffsets(partitions, 'earliest');
      const end = await this.#parts.admin.listOffsets(partitions, 'highWatermark');
      const outside = partitions.filter((owned, index) => waits(owned) && !this.#isInside(owned, earliest[index], end[index]));
      if (outside.length === 0) await judge?.(partitions.filter(waits));
    } catch (error) {
      this.#beginAnew();
      // The check repeats; a broker that is away says so elsewhere.
      this.#parts.logger.debug(`Silent partitions could not be compared with their logs: ${String(error)}`);
    }
  }

  /** All that may be read of the partitions lies before their last stable offsets. */
  async #judge(silent: readonly Owned[], isAllSilent: boolean): Promise<void> {
    const counts = this.#waitingChecks;
    const before = silent.map(({ position }) => position);
    const stable = await this.#parts.admin.listOffsets(silent, 'lastStable');
    const waiting = silent.filter(({ position, leaving }, index) => {
      const hasMoved = leaving || position === undefined || position !== before[index];
      return !hasMoved && position < (stable[index]?.offset ?? 0);
    });
    for (const owned of silent) if (!waiting.includes(owned)) counts.delete(partitionName(owned));
    for (const name of waiting.map(partitionName)) counts.set(name, (counts.get(name) ?? 0) + 1);
    this.#idleChecks = isAllSilent && waiting.length > 0 ? this.#idleChecks + 1 : 0;
    const countOf = (owned: Owned): number => counts.get(partitionName(owned)) ?? 0;
    this.#drowsy = waiting.filter((owned) => isRousing(countOf(owned)));
    const patienceFor = (owned: Owned): number => (this.#stuckAt.get(partitionName(owned)) === owned.position ? this.#patience : 1);
    const isIdle = waiting.some((owned) => this.#idleChecks >= checksUntilStuck * patienceFor(owned));
    const stuck = waiting.filter((owned) => isIdle || countOf(owned) >= checksUntilStuckBesideOthers * patienceFor(owned));
    if (stuck.length === 0) return;
    this.#patience = stuck.every((owned) => patienceFor(owned) === this.#patience) ? Math.min(this.#patience * 2, patienceMax) : 2;
    this.#stuckAt = new Map(stuck.map((owned) => [partitionName(owned), owned.position]));
    this.#beginAnew();
    this.#parts.stuck(stuck);
  }

  /** Says so where the partition's position is outside of its log. */
  #isInside(owned: Owned, earliest: TopicPartitionOffset | undefined, end: TopicPartitionOffset | undefined): boolean {
    const { position } = owned;
    if (position === undefined || !earliest || !end) return true;
    if (position >= earliest.offset && position <= end.offset) return true;
    this.#parts.failed(
      new BrokerError({
        code: 'OFFSET_OUT_OF_RANGE',
        kind: 'invalid',
        message:
          `The next record of ${partitionName(owned)} should have offset ${position}, but its log holds ${earliest.offset} to ${end.offset}: ` +
          'records expired before they were read, or the topic was made again.',
        place: { topic: owned.topic, partition: owned.partition, offset: position },
      }),
    );
    return false;
  }
}
