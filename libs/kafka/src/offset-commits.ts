/**
 * Offsets that the consumer commits itself. The client only queues them and answers by an event that arrives while it is polled; its call
 * with a callback reports that they were queued, not that they were stored. So they are sent one after another and each waits for its
 * event; a record that polling brings is kept for the next consume.
 */
import { BrokerError, type ConsumedRecord, type OffsetToCommit, partitionName, type TopicPartition } from '@tally/streams';
import { classify } from './errors.js';
import type { NativeOffset } from './native.js';
import { toOffsetsToCommit } from './topic-partitions.js';

interface Parts {
  readonly commit: (offsets: readonly NativeOffset[]) => void;
  /** Lets the client deliver events, for a moment. */
  readonly serve: () => Promise<void>;
  readonly timeoutMs: number;
}

export class OffsetCommits {
  readonly #parts: Parts;
  #last: Promise<unknown> = Promise.resolve();
  #awaited: ((error: unknown) => void) | undefined;
  #stashed: ConsumedRecord[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  commit(offsets: readonly OffsetToCommit[]): Promise<void> {
    const list = toOffsetsToCommit(offsets);
    if (list.length === 0) return Promise.resolve();
    const turn = this.#last.then(() => this.#commit(list));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** The event of a commit. */
  answered(error: unknown): void {
    this.#awaited?.(error);
  }

  stash(records: readonly ConsumedRecord[]): void {
    this.#stashed.push(...records);
  }

  takeStashed(recordsMax: number, delivers: (record: ConsumedRecord) => boolean): ConsumedRecord[] {
    if (this.#stashed.length === 0) return [];
    const taken: ConsumedRecord[] = [];
    const kept: ConsumedRecord[] = [];
    for (const record of this.#stashed) (taken.length < recordsMax && delivers(record) ? taken : kept).push(record);
    this.#stashed = kept;
    return taken;
  }

  /** Whether a record of the partition waits for the next consume. */
  keeps(at: TopicPartition): boolean {
    return this.#stashed.some((record) => record.partition === at.partition && record.topic === at.topic);
  }

  dropStashed(partitions: readonly TopicPartition[]): void {
    if (this.#stashed.length === 0) return;
    const names = new Set(partitions.map(partitionName));
    this.#stashed = this.#stashed.filter((record) => !names.has(partitionName(record)));
  }

  async #commit(list: readonly NativeOffset[]): Promise<void> {
    let answer: { readonly error: unknown } | undefined;
    const answered = new Promise<void>((resolve) => {
      this.#awaited = (error) => {
        answer = { error };
        resolve();
      };
    });
    try {
      this.#parts.commit(list);
      const deadline = performance.now() + this.#parts.timeoutMs;
      while (answer === undefined && performance.now() < deadline) await Promise.race([answered, this.#parts.serve()]);
    } catch (thrown) {
      throw classify(thrown, 'consume', 'Committing offsets');
    } finally {
      this.#awaited = undefined;
    }
    judge(answer, this.#parts.timeoutMs);
  }
}

function judge(answer: { readonly error: unknown } | undefined, timeoutMs: number): void {
  if (answer?.error) throw classify(answer.error, 'consume', 'Committing offsets');
  if (answer !== undefined) return;
  throw new BrokerError({ code: 'TIMED_OUT', kind: 'retriable', message: `Committing offsets was not answered within ${timeoutMs} ms.` });
}
