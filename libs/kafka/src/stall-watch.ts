/**
 * Finds partitions that can no longer be read. The client reports an offset outside of the log without saying of which partition, or not
 * at all when it happens behind other records of a batch; the partition then just stalls. So a partition that was silent for an interval
 * is compared with its log.
 */
import { BrokerError, type BrokerAdmin, type Logger, partitionName, type TopicPartitionOffset } from '@tally/streams';
import type { Owned } from './ownership.js';

const intervalMs = 10_000;

interface Parts {
  readonly admin: BrokerAdmin;
  readonly logger: Logger;
  readonly active: () => readonly Owned[];
  readonly failed: (error: BrokerError) => void;
  /** Monotonic time; the process's own unless given. */
  readonly nowMs?: () => number;
}

export class StallWatch {
  readonly #admin: BrokerAdmin;
  readonly #logger: Logger;
  readonly #active: () => readonly Owned[];
  readonly #failed: (error: BrokerError) => void;
  readonly #nowMs: () => number;
  readonly #seen = new Map<string, number | undefined>();
  #nextAtMs: number;
  #checking: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#admin = parts.admin;
    this.#logger = parts.logger;
    this.#active = parts.active;
    this.#failed = parts.failed;
    this.#nowMs = parts.nowMs ?? (() => performance.now());
    this.#nextAtMs = this.#nowMs() + intervalMs;
  }

  /** Called with every consume; cheap unless a check is due. */
  tick(): void {
    const now = this.#nowMs();
    if (now < this.#nextAtMs) return;
    this.#nextAtMs = now + intervalMs;
    const silent = this.#active().filter(
      (owned) => this.#seen.has(partitionName(owned)) && this.#seen.get(partitionName(owned)) === owned.position,
    );
    this.#remember();
    void this.#check(silent);
  }

  /** The client said that some partition's offset is out of range. */
  suspect(): Promise<void> {
    return this.#check(this.#active());
  }

  #remember(): void {
    this.#seen.clear();
    for (const owned of this.#active()) this.#seen.set(partitionName(owned), owned.position);
  }

  /** Resolves when the checks that were begun have ended. */
  settled(): Promise<void> {
    return this.#checking;
  }

  #check(partitions: readonly Owned[]): Promise<void> {
    if (partitions.length > 0) this.#checking = this.#checking.then(() => this.#compare(partitions));
    return this.#checking;
  }

  async #compare(partitions: readonly Owned[]): Promise<void> {
    const before = new Map(partitions.map((owned) => [owned, owned.position]));
    try {
      const earliest = await this.#admin.listOffsets(partitions, 'earliest');
      const end = await this.#admin.listOffsets(partitions, 'highWatermark');
      for (const [index, owned] of partitions.entries()) {
        const moved = owned.position !== before.get(owned) || owned.leaving;
        if (!moved) this.#judge(owned, earliest[index], end[index]);
      }
    } catch (error) {
      // The check repeats; a broker that is away says so elsewhere.
      this.#logger.debug(`Silent partitions could not be compared with their logs: ${String(error)}`);
    }
  }

  #judge(owned: Owned, earliest: TopicPartitionOffset | undefined, end: TopicPartitionOffset | undefined): void {
    const { position } = owned;
    if (position === undefined || !earliest || !end || (position >= earliest.offset && position <= end.offset)) return;
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
  }
}
