/** Where the inputs of a task continue, and what would lose or repeat records there and is refused. */
import { sleep } from '../core/clock.js';
import { InvalidConfigurationError, TallyError } from '../core/errors.js';
import { type TopicPartition, partitionName } from '../core/record.js';
import type { TaskState } from '../state/task-state.js';
import type { BrokerAdmin, CommittedOffset, TopicDescription } from './broker.js';
import type { TaskEnvironment } from './environment.js';
import { Input } from './input.js';
import { type OffsetMetadata, decodeOffsetMetadata } from './offset-metadata.js';
import { OpeningCancelledError } from './opening.js';
import { decodeOwnerRecord } from './owner-record.js';
import { ownerName } from './task.js';
import type { InputTopic } from './topics.js';

export interface InputStart {
  readonly topic: InputTopic;
  readonly committed: CommittedOffset;
  readonly metadata: OffsetMetadata | undefined;
}

const retryDelayMs = 50;
/** A transaction that its owner has left behind holds the offsets for its time-out at most; what takes longer is to be seen. */
const sayEveryMs = 10_000;

export class InputStarts {
  constructor(
    private readonly admin: BrokerAdmin,
    private readonly environment: TaskEnvironment,
  ) {}

  /** @throws OpeningCancelledError when `cancelled` turns true while the answers are awaited. */
  async stable(topics: readonly InputTopic[], partition: number, cancelled: () => boolean): Promise<readonly InputStart[]> {
    const starts: InputStart[] = [];
    for (const topic of topics) {
      const committed = await this.stableOffset({ topic: topic.name, partition }, cancelled);
      starts.push({ topic, committed, metadata: decodeOffsetMetadata(committed.metadata) });
    }
    await this.checkTopicIds(starts);
    for (const start of starts) this.checkMetadata(start);
    return starts;
  }

  /** Asks until no open transaction can change the answer any more. A time-out means "not known", never "none". */
  private async stableOffset(at: TopicPartition, cancelled: () => boolean): Promise<CommittedOffset> {
    const { clock, logger } = this.environment;
    let sinceMs = clock.monotonicMs();
    for (;;) {
      if (cancelled()) throw new OpeningCancelledError();
      try {
        const [offset] = await this.admin.stableOffsets(this.environment.options.applicationId, [at]);
        if (offset !== undefined) return offset;
      } catch (error) {
        if (!(error instanceof TallyError) || (error.kind !== 'pending' && error.kind !== 'retriable')) throw error;
        if (clock.monotonicMs() - sinceMs >= sayEveryMs) {
          sinceMs = clock.monotonicMs();
          logger.warn(`${partitionName(at)} cannot be continued yet: ${error.message}`);
        }
      }
      await sleep(clock, retryDelayMs);
    }
  }

  /**
   * Whether what was read still stands. A worker that has lost its partitions and not heard of it yet finds offsets of before and a
   * changelog of after its successor's first commit: no contradiction may be concluded from these.
   */
  async stand(starts: readonly InputStart[], cancelled: () => boolean): Promise<boolean> {
    for (const { committed } of starts) {
      const { offset } = await this.stableOffset(committed, cancelled);
      if (offset !== committed.offset) return false;
    }
    return true;
  }

  private async checkTopicIds(starts: readonly InputStart[]): Promise<void> {
    const described = await this.admin.describeTopics(starts.map(({ topic }) => topic.name));
    for (const { topic, metadata, committed } of starts) {
      const now: TopicDescription | undefined = described.get(topic.name);
      const known = metadata?.topicId ?? topic.topicId;
      if (now === undefined || now.topicId === known) continue;
      throw new InvalidConfigurationError(
        'TOPIC_RECREATED',
        `Topic '${topic.name}' was deleted and created again since offset ${committed.offset ?? 0} was committed for it: that offset means nothing in the new topic. ` +
          `Reset the group '${this.environment.options.applicationId}' for this topic, or start under a new applicationId.`,
        committed,
      );
    }
  }

  private checkMetadata({ committed, metadata }: InputStart): void {
    const { topology } = this.environment;
    if (metadata === undefined) return;
    if (metadata.topologyVersion > topology.version) {
      throw new InvalidConfigurationError(
        'TOPOLOGY_NEWER',
        `${partitionName(committed)} was last processed by version ${metadata.topologyVersion} of topology '${topology.name}'; this is version ${topology.version}. ` +
          `This member leaves the group. Deploy the newer version.`,
        committed,
      );
    }
  }

  /** The inputs at their starts; what cannot be continued there without losing or repeating records is refused. */
  async inputs(state: TaskState, partition: number, starts: readonly InputStart[]): Promise<readonly Input[]> {
    const at = starts.map(({ topic }) => ({ topic: topic.name, partition }));
    const earliest = new Map((await this.admin.listOffsets(at, 'earliest')).map((each) => [each.topic, each.offset]));
    const latest = new Map((await this.admin.listOffsets(at, 'highWatermark')).map((each) => [each.topic, each.offset]));
    return starts.map(({ topic, committed, metadata }) => {
      const first = earliest.get(topic.name) ?? 0;
      const end = latest.get(topic.name) ?? 0;
      let start = committed.offset;
      if (start === undefined) {
        this.refuseExpired(state, topic, partition);
        start = topic.startAt === 'latest' ? end : first;
      } else if (start < first || start > end) {
        throw this.outOfRange(committed, start, first, end);
      }
      const input = new Input(topic.name, partition, topic.topicId, topic.handle, start, metadata?.partitionTimeMs);
      input.initial = committed.offset === undefined;
      if (this.environment.options.guarantee === 'at-most-once') input.claimed = start;
      return input;
    });
  }

  private outOfRange(at: TopicPartition, start: number, first: number, end: number): InvalidConfigurationError {
    const reason =
      start < first
        ? `records ${start} to ${first - 1} were deleted (by retention or by hand) before they were processed`
        : `the partition ends at ${end}: it was truncated or created again`;
    return new InvalidConfigurationError(
      'OFFSET_OUT_OF_RANGE',
      `${partitionName(at)} is to be continued at offset ${start}, but ${reason}. Tally does not skip records silently. ` +
        `If the loss is accepted, set the committed offset of group '${this.environment.options.applicationId}' by hand (kafka-consumer-groups.sh --reset-offsets).`,
      { ...at, offset: start },
    );
  }

  /** State without a committed offset: the offset has expired, and processing from the beginning would count everything twice. */
  private refuseExpired(state: TaskState, topic: InputTopic, partition: number): void {
    for (const name of state.stores.keys()) {
      const bytes = state.store(name).getReserved(ownerName);
      if (bytes === undefined || !decodeOwnerRecord(name, bytes).sources.includes(topic.source)) continue;
      throw new InvalidConfigurationError(
        'OFFSETS_EXPIRED',
        `Store '${name}' holds state made from ${topic.name}-${partition}, but group '${this.environment.options.applicationId}' has no committed offset for it ` +
          `(it expires after offsets.retention.minutes without a member). Processing it from the beginning would count its records twice. ` +
          `Set the offset by hand (kafka-consumer-groups.sh --reset-offsets), or start under a new applicationId.`,
        { topic: topic.name, partition, store: name },
      );
    }
  }
}
