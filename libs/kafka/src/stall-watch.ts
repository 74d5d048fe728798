/**
 * Finds partitions that can no longer be read, and clients that read nothing any more. The client reports an offset outside of the log without
 * saying of which partition, or not at all when it happens behind other records of a batch; the partition then just stalls. And a client that met a
 * broker which went away may never fetch again, nor hear of its group. So a partition that was silent for an interval is compared with its log.
 */
import { BrokerError, type BrokerAdmin, type Logger, partitionName, type TopicPartitionOffset } from '@tally/streams';
import type { Owned } from './ownership.js';

const intervalMs = 10_000;
/** So many checks in a row have found records that a client does not bring, before it counts as stuck: less may be a rebalance or a busy broker. */
const checksUntilStuck = 3;

interface Parts {
  readonly admin: BrokerAdmin;
  readonly logger: Logger;
  readonly active: () => readonly Owned[];
  readonly failed: (error: BrokerError) => void;
  /** Nothing has come for half a minute, of any partition, although the broker answers and there are records. */
  readonly stuck: () => void;
  /** Monotonic time; the process's own unless given. */
  readonly nowMs?: () => number;
}

export class StallWatch {
  readonly #admin: BrokerAdmin;
  readonly #logger: Logger;
  readonly #active: () => readonly Owned[];
  readonly #failed: (error: BrokerError) => void;
  readonly #stuck: () => void;
  readonly #nowMs: () => number;
  readonly #seen = new Map<string, number | undefined>();
  #nextAtMs: number;
  /** Checks in a row that have found records which do not come. */
  #waitingChecks = 0;
  #checking: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#admin = parts.admin;
    this.#logger = parts.logger;
    this.#active = parts.active;
    this.#failed = parts.failed;
    this.#stuck = parts.stuck;
    this.#nowMs = parts.nowMs ?? (() => performance.now());
    this.#nextAtMs = this.#nowMs() + intervalMs;
  }

  /** Called with every consume; cheap unless a check is due. */
  tick(): void {
    const now = this.#nowMs();
    if (now < this.#nextAtMs) return;
    this.#nextAtMs = now + intervalMs;
    const active = this.#active();
    const silent = active.filter(
      (owned) => this.#seen.has(partitionName(owned)) && this.#seen.get(partitionName(owned)) === owned.position,
    );
    this.#remember();
    const isAllSilent = silent.length > 0 && silent.length === active.length;
    if (!isAllSilent) this.#waitingChecks = 0;
    void this.#check(silent, isAllSilent);
  }

  /** The client said that some partition's offset is out of range. */
  suspect(): Promise<void> {
    return this.#check(this.#active(), false);
  }

  #remember(): void {
    this.#seen.clear();
    for (const owned of this.#active()) this.#seen.set(partitionName(owned), owned.position);
  }

  /** Resolves when the checks that were begun have ended. */
  settled(): Promise<void> {
    return this.#checking;
  }

  #check(partitions: readonly Owned[], isAllSilent: boolean): Promise<void> {
    if (partitions.length > 0) this.#checking = this.#checking.then(() => this.#compare(partitions, isAllSilent));
    return this.#checking;
  }

  async #compare(partitions: readonly Owned[], isAllSilent: boolean): Promise<void> {
    const before = new Map(partitions.map((owned) => [owned, owned.position]));
    try {
      const earliest = await this.#admin.listOffsets(partitions, 'earliest');
      const end = await this.#admin.listOffsets(partitions, 'highWatermark');
      const outside = partitions.filter((owned, index) => {
        const moved = owned.position !== before.get(owned) || owned.leaving;
        return !moved && !this.#isInside(owned, earliest[index], end[index]);
      });
      if (isAllSilent && outside.length === 0) await this.#judgeClient(partitions);
    } catch (error) {
      this.#waitingChecks = 0;
      // The check repeats; a broker that is away says so elsewhere.
      this.#logger.debug(`Silent partitions could not be compared with their logs: ${String(error)}`);
    }
  }

  /** All that may be read of the partitions lies before their last stable offsets. */
  async #judgeClient(partitions: readonly Owned[]): Promise<void> {
    const stable = await this.#admin.listOffsets(partitions, 'lastStable');
    const waits = partitions.some(
      ({ position, leaving }, index) => !leaving && position !== undefined && position < (stable[index]?.offset ?? 0),
    );
    this.#waitingChecks = waits ? this.#waitingChecks + 1 : 0;
    if (this.#waitingChecks < checksUntilStuck) return;
    this.#waitingChecks = 0;
    this.#stuck();
  }

  /** Says so where the partition's position is outside of its log. */
  #isInside(owned: Owned, earliest: TopicPartitionOffset | undefined, end: TopicPartitionOffset | undefined): boolean {
    const { position } = owned;
    if (position === undefined || !earliest || !end) return true;
    if (position >= earliest.offset && position <= end.offset) return true;
    this.#failed(
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
