/**
 * One native client: one member of the group, from its connecting to its leaving. Invariants:
 *
 * 1. A revocation or a loss is answered once, when all that it names is out of use. After the answer the client may join anew at once, with a
 *    newer member epoch, under which offsets of before would pass.
 * 2. From `giveUp` on nobody is told of rebalances. What was assigned is taken and not used; what was revoked or lost is answered when everything
 *    has been released, also where it is heard only then: an event takes another way to this thread than the answer to the consume that brought it.
 * 3. The client is disconnected once, with nothing of its own under way and no rebalance unanswered: else it hangs or crashes.
 */
import type { GroupConsumerOptions, TopicPartition, TopicPartitionOffset } from '@tally/streams';
import { ClientLog } from './client-log.js';
import { groupConsumerProperties } from './client-properties.js';
import { disconnectWhenIdle } from './disconnect.js';
import { classify, errorNumbers, numberOf } from './errors.js';
import { CallsInFlight, nativeCall } from './native-call.js';
import { loadNativeModule, type NativeConsumer } from './native.js';
import type { ResolvedOptions } from './options.js';
import type { QueueWatch } from './queue-watch.js';

export type RebalanceEvent = 'assigned' | 'revoked' | 'lost';

interface Parts {
  readonly options: ResolvedOptions;
  readonly group: GroupConsumerOptions;
  readonly queues: QueueWatch;
  /** Told until the member is given up, on the main thread, while a consume is under way or just after it. */
  readonly rebalanced: (member: GroupMember, event: RebalanceEvent, partitions: readonly TopicPartition[]) => void;
  readonly committed: (error: unknown) => void;
  readonly endReached: (end: TopicPartitionOffset) => void;
}

export class GroupMember {
  readonly client: NativeConsumer;
  /** Calls that the client must outlive. */
  readonly calls = new CallsInFlight();
  readonly log: ClientLog;
  readonly #parts: Parts;
  readonly #name: string;
  #unfollow: () => void = () => {};
  #isGivenUp = false;
  /** A revocation or loss waits for its answer. */
  #isAnswerDue = false;
  /** What the client held when all of it was released, until it is taken from the client. */
  #released: readonly TopicPartition[] | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#name = `consumer of group ${parts.group.groupId}`;
    this.log = new ClientLog(parts.options.logger, this.#name);
    this.client = new (loadNativeModule().KafkaConsumer)({
      ...groupConsumerProperties(parts.options, parts.group),
      rebalance_cb: (event: unknown, partitions: readonly TopicPartition[]) => this.#rebalanced(event, partitions),
      offset_commit_cb: (error: unknown) => {
        // Of one that is given up too: until it is released, the runtime waits for what it has asked.
        if (!this.isReleased) parts.committed(error);
      },
    });
    this.log.listen(this.client);
    this.client.on('partition.eof', (end) => {
      if (!this.#isGivenUp) parts.endReached(end);
    });
    this.client.setDefaultIsTimeoutOnlyForFirstMessage(true);
  }

  async connect(): Promise<void> {
    const { brokers, requestTimeoutMs: timeout } = this.#parts.options;
    const connected = nativeCall<unknown>(
      (thrown) => classify(thrown, 'connect', `Connecting the ${this.#name} to ${brokers}`),
      (callback) => this.client.connect({ allTopics: false, timeout }, callback),
    );
    await this.calls.track(connected);
    if (!this.#isGivenUp) this.#unfollow = this.#parts.queues.follow(this.client);
  }

  subscribe(topics: readonly string[]): void {
    this.client.subscribe([...topics]);
  }

  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  get isReleased(): boolean {
    return this.#released !== undefined;
  }

  /** Answers a revocation or loss: nothing that it named is in use any more. */
  letGo(partitions: readonly TopicPartition[]): void {
    this.client.incrementalUnassign(partitions);
    this.#isAnswerDue = false;
  }

  /** Another member is to take its place. Its partitions are in use until they are released. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#unfollow();
  }

  /** Nothing of the member is in use any more; `partitions` are those that the client was given. */
  release(partitions: readonly TopicPartition[]): void {
    this.giveUp();
    this.#released ??= partitions;
    if (this.#isAnswerDue) this.#answerReleased();
  }

  /** Leaves the group when nothing is under way any more. `inUse` lets go of what the client was given, where that has not been released before. */
  close(inUse: () => readonly TopicPartition[]): Promise<void> {
    const wasGivenUp = this.#isGivenUp;
    this.giveUp();
    const { options } = this.#parts;
    this.#closing ??= disconnectWhenIdle({
      name: wasGivenUp ? `${this.#name} that was stuck` : this.#name,
      client: () => this.client,
      calls: this.calls,
      timeoutMs: options.closeTimeoutMs,
      logger: options.logger,
      meaning:
        'It stays a member of its group, and nobody reads its partitions until `max.poll.interval.ms` has passed or this process has ended.',
      before: () => this.release(this.#released ?? inUse()),
      disconnect: (callback) => this.client.disconnect(callback),
    });
    return this.#closing;
  }

  /** Called by the client, now and then also when it has closed. */
  #rebalanced(event: unknown, named: readonly TopicPartition[]): void {
    const partitions = named.map(({ topic, partition }) => ({ topic, partition }));
    const isAssignment = numberOf(event) === errorNumbers.assignPartitions;
    if (isAssignment) this.#answer(() => this.client.incrementalAssign([]));
    else this.#isAnswerDue = true;
    if (this.#isGivenUp) {
      if (!isAssignment && this.isReleased) this.#answerReleased();
    } else if (isAssignment) this.#parts.rebalanced(this, 'assigned', partitions);
    // Only in here the client tells a loss from a revocation; asked when it has closed, it would crash the process.
    else this.#parts.rebalanced(this, this.client.assignmentLost() ? 'lost' : 'revoked', partitions);
  }

  #answerReleased(): void {
    const partitions = this.#released ?? [];
    this.#released = [];
    this.#isAnswerDue = false;
    this.#answer(() => this.client.incrementalUnassign(partitions));
  }

  /** A client that closes takes a release for the answer to anything, and nothing else. One that has closed takes nothing any more. */
  #answer(answer: () => void): void {
    try {
      answer();
    } catch {
      try {
        this.client.incrementalUnassign([]);
      } catch (thrown) {
        this.#parts.options.logger.debug(`A rebalance came when the ${this.#name} had closed: ${String(thrown)}`);
      }
    }
  }
}
