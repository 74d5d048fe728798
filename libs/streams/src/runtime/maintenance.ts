/** What is due now and then: positions of quiet tasks, purging repartition topics, and looking whether inputs are still what they were. */
import { sleep } from '../core/clock.js';
import { InvalidConfigurationError, errorOf } from '../core/errors.js';
import { partitionName } from '../core/record.js';
import type { BrokerAdmin } from './broker.js';
import type { TaskEnvironment } from './environment.js';
import type { Epoch } from './epoch.js';
import { isOvertaken } from './overtaken.js';
import type { TaskManager } from './task-manager.js';
import { tombstoneRetentionMsOf } from './task-stores.js';
import type { Task } from './task.js';
import type { TopicDiscovery } from './topic-discovery.js';
import type { InputTopic, TopicPlan } from './topics.js';

const checkIntervalMs = 10_000;
const purgeIntervalMs = 30_000;
const askAgainMs = 2_000;

export class Maintenance {
  private nextCheckMs: number;
  private nextPurgeMs: number;
  private running: Promise<void> | undefined;
  private readonly repartitionTopics: ReadonlySet<string>;

  constructor(
    private readonly environment: TaskEnvironment,
    private readonly admin: BrokerAdmin,
    private readonly tasks: TaskManager,
    plan: TopicPlan,
    private readonly discovery: TopicDiscovery,
  ) {
    const nowMs = environment.clock.monotonicMs();
    this.nextCheckMs = nowMs + checkIntervalMs;
    this.nextPurgeMs = nowMs + purgeIntervalMs;
    this.repartitionTopics = new Set([...plan.inputs.values()].flat().flatMap(({ isInternal, name }) => (isInternal ? [name] : [])));
  }

  /** Starts in the background what is due. */
  run(): void {
    const nowMs = this.environment.clock.monotonicMs();
    if (this.running !== undefined || (nowMs < this.nextCheckMs && nowMs < this.nextPurgeMs)) return;
    this.running = this.work(nowMs)
      .catch((error: unknown) => {
        if (error instanceof InvalidConfigurationError) this.environment.fail(error);
        else this.environment.logger.debug(`Maintenance failed and is tried again later: ${errorOf(error).message}`);
      })
      .finally(() => {
        this.running = undefined;
      });
  }

  private async work(nowMs: number): Promise<void> {
    if (nowMs >= this.nextCheckMs) {
      this.nextCheckMs = nowMs + checkIntervalMs;
      await this.checkInputs();
      await this.discovery.look();
    }
    if (nowMs >= this.nextPurgeMs && this.repartitionTopics.size > 0) {
      this.nextPurgeMs = nowMs + purgeIntervalMs;
      await this.purge();
    }
  }

  /** A partition whose next record was deleted, or whose topic was made anew, can stall without any error. */
  private async checkInputs(): Promise<void> {
    await this.checkTopics();
    const inputs = this.tasks.running.flatMap((task) => task.inputs);
    if (inputs.length === 0) return;
    const firsts = new Map((await this.admin.listOffsets(inputs, 'earliest')).map((each) => [partitionName(each), each.offset]));
    for (const input of inputs) {
      const first = firsts.get(partitionName(input)) ?? 0;
      if (input.open && input.tail >= first) continue;
      if (!input.open || !this.tasks.running.some((task) => task.inputs.includes(input))) continue;
      if (await isOvertaken(input, this.admin, this.environment)) continue;
      throw new InvalidConfigurationError(
        'OFFSET_OUT_OF_RANGE',
        `Records ${input.tail} to ${first - 1} of ${partitionName(input)} were deleted (by retention or by hand) before they were processed. Tally does not skip records silently: ` +
          `if the loss is accepted, set the committed offset by hand (kafka-consumer-groups.sh --reset-offsets).`,
        { topic: input.topic, partition: input.partition, offset: input.tail },
      );
    }
  }

  /** Where one topic of several is gone the group takes back its partitions alone, and the task of the others is never opened again. */
  private async checkTopics(): Promise<void> {
    const topics = this.tasks.topics;
    if (topics.length === 0) return;
    const names = [...new Set(topics.map(({ name }) => name))];
    const described = await this.admin.describeTopics(names);
    const isSame = ({ name, topicId }: InputTopic): boolean => described.get(name)?.topicId === topicId;
    // A broker that has just started may not know a topic yet: only a second answer counts.
    const again = topics.every(isSame) ? described : await this.later(() => this.admin.describeTopics(names));
    for (const topic of topics) {
      const now = again.get(topic.name);
      if (now?.topicId !== topic.topicId) throw topicGone(topic, now !== undefined);
    }
  }

  private async later<T>(action: () => Promise<T>): Promise<T> {
    await sleep(this.environment.clock, askAgainMs);
    return action();
  }

  /** Records of repartition topics are deleted once the commit that passed them is confirmed. */
  private async purge(): Promise<void> {
    const before = this.tasks.running
      .flatMap((task) => task.inputs)
      .filter((input) => this.repartitionTopics.has(input.topic) && input.committed > 0)
      .map(({ topic, partition, committed }) => ({ topic, partition, offset: committed }));
    if (before.length > 0) await this.admin.deleteRecords(before);
  }

  /**
   * A task that has become quiet gets one more epoch, of offsets only, so that its flushed position covers its last writes, and one when
   * markers lie behind its last record: retention may delete them, and an offset before them would look as if records had been lost. Later
   * ones only when the position's date would soon look too old to trust. While buffers are half full its flush does not wait for the interval: where
   * memory is at its bound nothing else would bring the task into an epoch.
   */
  addQuietTasks(open: Epoch): void {
    const nowMs = this.environment.clock.monotonicMs();
    const { stateFlushIntervalMs } = this.environment.options;
    const { isNearlyFull } = this.environment;
    for (const task of this.tasks.running) {
      if (open.tasks.has(task) || task.isDraining || task.state.isWriting) continue;
      if (isNearlyFull && task.state.bytes.committed > 0) open.tasks.add(task);
      if (nowMs - task.lastFlushAtMs < stateFlushIntervalMs) continue;
      if (task.positionBehind || task.state.bytes.committed > 0 || this.isDateOld(task) || task.advanceToEnds()) open.tasks.add(task);
    }
  }

  private isDateOld(task: Task): boolean {
    const { topology, options, nowMs } = this.environment;
    for (const store of task.state.stores.keys()) {
      const position = task.state.position(store);
      const copied = topology.topicChangelogs.get(store)?.topic;
      const retentionMs = copied === undefined ? options.tombstoneRetentionMs : tombstoneRetentionMsOf(copied);
      if (position !== undefined && position.dateMs < nowMs - retentionMs / 2) return true;
    }
    return false;
  }
}

function topicGone({ name, handle, source }: InputTopic, isThereAgain: boolean): InvalidConfigurationError {
  const what = isThereAgain ? 'was deleted and created again' : 'was deleted';
  const isMatched = source !== handle;
  const advice =
    isMatched && !isThereAgain
      ? 'Start the worker again: it goes on with the other topics that match the pattern.'
      : 'Its committed offsets mean nothing any more: reset them, or start under a new applicationId.';
  return new InvalidConfigurationError('TOPIC_RECREATED', `Topic '${name}' ${what} while it was being processed. ${advice}`, {
    topic: name,
  });
}
