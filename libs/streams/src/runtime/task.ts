/**
 * One sub-topology and partition: its inputs, its processors, its state, its position.
 *
 * Invariants
 * 1. State, stream time, punctuation due times and positions move together: by `freeze`, `confirm` and `rollback` and by nothing else.
 * 2. After a rollback the task is as of its last confirmed epoch; scopes of before are closed.
 * 3. A closed task is in no epoch.
 */
import { assert } from '../core/assert.js';
import { errorOf } from '../core/errors.js';
import { type TopicPartition, noHeaders, partitionName } from '../core/record.js';
import { keyValueCodec } from '../state/key-value-codec.js';
import { storeOpener } from '../state/stores/open-store.js';
import type { TaskState } from '../state/task-state.js';
import type { InitContext } from '../topology/processor.js';
import type { SubTopology, UntypedStore, UntypedTopic } from '../topology/topology.js';
import type { OffsetToCommit } from './broker.js';
import { Dispatcher } from './dispatcher.js';
import type { TaskEnvironment } from './environment.js';
import type { OutputRecord } from './epoch.js';
import type { GlobalReader } from './global-reader.js';
import { type ProcessorStep, TaskGraph } from './graph.js';
import type { Input } from './input.js';
import { encodeOffsetMetadata } from './offset-metadata.js';
import { Schedules } from './schedule.js';
import { type Destination, RecordScope, type ScopeHost, type StoreAccess } from './scope.js';

/** Names a unit of work: a record, or (offset -1) a punctuation. */
export interface UnitPlace extends TopicPartition {
  readonly offset: number;
}

/** A task's part of a frozen epoch. */
export interface FrozenTask {
  readonly task: Task;
  readonly offsets: readonly OffsetToCommit[];
  /** Of each input: what lies before it has taken effect. At most once commits offsets that are further. */
  readonly positions: readonly number[];
  /** Of each input, where timestamps depend on it. */
  readonly partitionTimesMs: readonly (number | undefined)[];
  readonly streamTimeMs: number;
  readonly sawRecord: boolean;
  readonly dueTimes: readonly number[];
  /** Records and punctuations that joined. */
  readonly units: number;
  readonly records: number;
  readonly lastUnit: UnitPlace | undefined;
  /** The epoch wrote to the task's stores. */
  readonly wroteState: boolean;
}

/** State, inputs and what the last commit left; produced by the opening of a task. */
export interface TaskContents {
  readonly state: TaskState;
  readonly inputs: readonly Input[];
  readonly streamTimeMs: number;
}

export function taskIdOf(subTopology: SubTopology, partition: number): string {
  return `${subTopology.id}/${partition}`;
}

export class Task implements ScopeHost {
  readonly id: string;
  readonly inputs: readonly Input[];
  readonly state: TaskState;
  readonly schedules = new Schedules();
  readonly dispatcher: Dispatcher;
  streamTimeMs: number;
  /** A record has joined since the task was opened: stream-time punctuations wait for it. */
  sawRecord = false;
  /** The scope that runs synchronously at this moment. */
  scopeInHand: RecordScope | undefined;
  isClosed = false;
  /** Its database is corrupt: deleted when the task is closed, and replayed. */
  isDamaged = false;
  /** Counts rollbacks: what was begun before one is not finished after it. */
  incarnation = 1;
  /** No new records: its partitions are being revoked, or the worker stops. */
  isDraining = false;
  /** The changelog holds writes of the task that its flushed positions do not cover. */
  positionBehind = false;
  lastFlushAtMs: number;
  private readonly graph: TaskGraph;
  /** Owner records that the stores do not hold yet, by store name: written with the next epoch. */
  private ownerRecords: ReadonlyMap<string, Uint8Array>;
  private readonly accesses = new Map<string, StoreAccess>();
  private units = 0;
  /** Those that are no records: punctuations, and edits of stores. */
  private otherUnits = 0;
  /** Of the last unit that has joined. */
  private lastUnitTopic: string | undefined;
  private lastUnitOffset = -1;
  private committedStreamTimeMs: number;
  private committedSawRecord = false;
  private committedDueTimes: readonly number[] | undefined;

  constructor(
    readonly subTopology: SubTopology,
    readonly partition: number,
    private readonly environment: TaskEnvironment,
    contents: TaskContents,
    ownerRecords: ReadonlyMap<string, Uint8Array>,
  ) {
    this.ownerRecords = ownerRecords;
    this.id = taskIdOf(subTopology, partition);
    this.inputs = contents.inputs;
    this.state = contents.state;
    this.streamTimeMs = contents.streamTimeMs;
    this.committedStreamTimeMs = contents.streamTimeMs;
    this.lastFlushAtMs = environment.clock.monotonicMs();
    this.graph = new TaskGraph(environment.topology, subTopology);
    for (const input of this.inputs) {
      const source = this.graph.sources.get(input.handle);
      assert(source !== undefined, `task ${this.id} has a source for topic '${input.handle}'`);
      input.link(source);
    }
    for (const name of subTopology.stores) {
      const definition = environment.topology.stores.get(name);
      assert(definition !== undefined, `store '${name}' of task ${this.id} is defined`);
      const codec = keyValueCodec(definition);
      this.accesses.set(name, { definition, layered: this.state.store(name), codec, opener: storeOpener(definition, codec) });
    }
    this.dispatcher = new Dispatcher(this, environment, this);
    this.openProcessors();
    this.enterEpochIfNew();
  }

  // ---- ScopeHost -------------------------------------------------------------------------------------------------------------------

  get task(): Task {
    return this;
  }

  get taskId(): string {
    return this.id;
  }

  get clock(): TaskEnvironment['clock'] {
    return this.environment.clock;
  }

  get handlerDeadlineMs(): number {
    return this.environment.options.handlerDeadlineMs;
  }

  get recordBytesMax(): number {
    return this.environment.options.maxRecordBytes;
  }

  storeAccess(name: string): StoreAccess | undefined {
    return this.accesses.get(name);
  }

  globalStore(name: string): GlobalReader | undefined {
    return this.environment.globals.reader(name);
  }

  destination(topic: UntypedTopic): Destination | undefined {
    return this.environment.destinations.of(topic);
  }

  settled(scope: RecordScope): void {
    this.dispatcher.settled(scope);
  }

  // ---- processing ------------------------------------------------------------------------------------------------------------------

  /** The input whose next record has the smallest timestamp; the only one, whether it has a record or not. */
  nextInput(): Input | undefined {
    const { inputs } = this;
    if (inputs.length === 1) return inputs[0];
    let best: Input | undefined;
    let bestTimestampMs = Number.POSITIVE_INFINITY;
    for (const input of inputs) {
      const timestampMs = input.nextTimestampMs;
      if (timestampMs === undefined || (best !== undefined && timestampMs >= bestTimestampMs)) continue;
      best = input;
      bestTimestampMs = timestampMs;
    }
    return best;
  }

  /** The input that the store is a copy of, where its topic is its changelog. */
  copiedInput(store: string): Input | undefined {
    const topic = this.environment.topology.topicChangelogs.get(store)?.topic.name;
    return topic === undefined ? undefined : this.inputs.find(({ handle }) => handle === topic);
  }

  /** Nothing is queued or in hand, and no punctuation is due at that wall-clock time. */
  isSettled(nowMs: number): boolean {
    return this.dispatcher.isSettled(nowMs) && this.inputs.every((input) => input.length === 0);
  }

  /**
   * Runs the action on one of the stores between two records, in a scope of its own, and joins what it has written.
   * @throws what the action throws; nothing is written then
   */
  editStore<Result>(definition: UntypedStore, edit: (store: object) => Result): Result {
    assert(this.dispatcher.inHand === 0, `task ${this.id} has nothing in hand while a store is edited`);
    const nowMs = this.environment.clock.nowMs();
    const scope = new RecordScope(this, '', this.partition, -1, nowMs, noHeaders, 1, this.streamTimeMs, undefined);
    try {
      const result = edit(scope.store(definition, undefined).opened);
      this.joinPunctuation(scope, `an edit of store ${definition.name}`);
      return result;
    } catch (error) {
      scope.close('failed');
      throw error;
    }
  }

  joinRecord(scope: RecordScope, input: Input, offset: number): void {
    input.joined(offset, scope.timestampMs);
    if (scope.streamTimeMs > this.streamTimeMs) this.streamTimeMs = scope.streamTimeMs;
    this.sawRecord = true;
    const { epoch } = this.environment;
    epoch.records++;
    if (scope.timestampMs < epoch.oldestMs) epoch.oldestMs = scope.timestampMs;
    this.join(scope, input.topic, offset);
  }

  joinPunctuation(scope: RecordScope, name: string): void {
    this.environment.epoch.punctuations++;
    this.otherUnits++;
    this.join(scope, name, -1);
  }

  private join(scope: RecordScope, topic: string, offset: number): void {
    const { epoch } = this.environment;
    // Counted loops: for each record, an iterator is more than what it goes over.
    const { stores, outputs, onJoin } = scope;
    if (stores !== undefined) for (let index = 0; index < stores.length; index++) stores[index]?.join();
    if (outputs !== undefined) for (let index = 0; index < outputs.length; index++) epoch.add(outputs[index] as OutputRecord);
    if (scope.drops !== undefined) for (const { reason } of scope.drops) epoch.drop(reason);
    onJoin?.forEach((act) => act());
    scope.close('it has been processed');
    if (scope.trace !== undefined) scope.trace.joined(epoch.number);
    epoch.tasks.add(this);
    this.units++;
    this.lastUnitTopic = topic;
    this.lastUnitOffset = offset;
    this.environment.joined(this);
  }

  private openProcessors(): void {
    this.graph.open((step) => this.initContext(step));
    if (this.committedDueTimes === undefined) this.committedDueTimes = this.schedules.snapshot();
    else this.schedules.restore(this.committedDueTimes);
  }

  private initContext(step: ProcessorStep): InitContext {
    return {
      taskId: this.id,
      partition: this.partition,
      applicationId: this.environment.options.applicationId,
      schedule: (intervalMs, type, callback) => {
        assert(Number.isFinite(intervalMs) && intervalMs > 0, `processor '${step.name}' schedules with an interval above 0`);
        const dueMs = type === 'streamTime' ? 0 : this.environment.clock.nowMs() + intervalMs;
        const schedule = this.schedules.add({ step, intervalMs, type, callback, dueMs });
        return {
          cancel: () => {
            const cancel = (): void => this.schedules.setDue(schedule, Number.POSITIVE_INFINITY);
            // A cancellation by a record that fails later did not happen.
            if (this.scopeInHand === undefined) cancel();
            else (this.scopeInHand.onJoin ??= []).push(cancel);
          },
        };
      },
    };
  }

  // ---- epochs ----------------------------------------------------------------------------------------------------------------------

  /** The first offsets of a partition and the ownership of stores take the same way as all others, even when no record has come. */
  private enterEpochIfNew(): void {
    for (const [store, record] of this.ownerRecords) this.state.store(store).putReserved(ownerName, record);
    if (this.ownerRecords.size > 0 || this.inputs.some((input) => input.initial)) this.environment.epoch.tasks.add(this);
  }

  /** Takes what lies behind the last record and is no record as read. False when nothing was to be taken. */
  advanceToEnds(): boolean {
    if (this.isDraining || this.dispatcher.inHand > 0) return false;
    for (const input of this.inputs) input.advance();
    return this.inputs.some((input) => input.position > input.committed);
  }

  freeze(): FrozenTask {
    this.advanceToEnds();
    const wroteState = this.state.bytes.open > 0;
    this.state.freeze();
    const atMostOnce = this.environment.options.guarantee === 'at-most-once';
    const { version, hash } = this.environment.topology;
    const offsets = this.inputs.map((input): OffsetToCommit => {
      const metadata = encodeOffsetMetadata({
        topologyVersion: version,
        topologyHash: hash,
        streamTimeMs: this.streamTimeMs,
        topicId: input.topicId,
        partitionTimeMs: input.partitionTimeMs,
      });
      return { topic: input.topic, partition: input.partition, offset: atMostOnce ? input.claim() : input.position, metadata };
    });
    const frozen = {
      task: this,
      offsets,
      positions: this.inputs.map(({ position }) => position),
      partitionTimesMs: this.inputs.map((input) => input.partitionTimeMs),
      streamTimeMs: this.streamTimeMs,
      sawRecord: this.sawRecord,
      dueTimes: this.schedules.snapshot(),
      units: this.units,
      records: this.units - this.otherUnits,
      lastUnit:
        this.lastUnitTopic === undefined
          ? undefined
          : { topic: this.lastUnitTopic, partition: this.partition, offset: this.lastUnitOffset },
      wroteState,
    };
    this.units = 0;
    this.otherUnits = 0;
    this.lastUnitTopic = undefined;
    return frozen;
  }

  /** The frozen epoch was committed. */
  confirm(frozen: FrozenTask): void {
    if (this.isClosed) return;
    this.state.confirm();
    this.committedStreamTimeMs = frozen.streamTimeMs;
    this.committedSawRecord = frozen.sawRecord;
    this.committedDueTimes = frozen.dueTimes;
    this.ownerRecords = new Map();
    if (frozen.wroteState) this.positionBehind = true;
    for (const [index, { offset }] of frozen.offsets.entries()) {
      const input = this.inputs[index];
      if (input === undefined) continue;
      input.confirm(offset, frozen.partitionTimesMs[index]);
      // Not before what was committed: at most once that is further, and what is being tried again would be tried for ever.
      this.environment.failures.forgetBefore(partitionName(input), frozen.positions[index] ?? 0);
    }
  }

  /** Back to the last confirmed epoch. Inputs are closed to routing until they have been rewound on the consumer. */
  rollback(): void {
    this.incarnation++;
    this.dispatcher.abandon('its transaction was aborted');
    this.state.discardOpen();
    this.state.discardCommitting();
    this.closeProcessors();
    this.streamTimeMs = this.committedStreamTimeMs;
    this.sawRecord = this.committedSawRecord;
    this.units = 0;
    this.otherUnits = 0;
    this.lastUnitTopic = undefined;
    for (const input of this.inputs) input.rewind(input.committed);
    this.openProcessors();
    // What is about to be given away brings nothing more into an epoch.
    if (!this.isDraining) this.enterEpochIfNew();
  }

  /** Ends the incarnation: scopes are closed, unflushed writes dropped, the database closed. */
  async close(reason: string): Promise<void> {
    if (this.isClosed) return this.state.close();
    this.isClosed = true;
    this.dispatcher.abandon(reason);
    this.closeProcessors();
    for (const input of this.inputs) input.open = false;
    await this.state.close();
  }

  private closeProcessors(): void {
    this.schedules.clear();
    this.graph.close((node, error) => {
      this.environment.logger.warn(`Processor '${node}' of task ${this.id} failed to close: ${errorOf(error).message}`, { task: this.id });
    });
  }
}

/** Reserved entry of each store: which sub-topology owns it. */
export const ownerName = 'owner';
