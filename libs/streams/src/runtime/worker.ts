/**
 * One worker: one consumer, one transactional producer, one loop. The public face of the runtime.
 *
 * The order of a start is part of the protocol: the slot's lock first, then the producer, whose initialisation settles what a killed
 * predecessor left open, and only then the group.
 */
import { InvalidConfigurationError, TallyError, errorOf } from '../core/errors.js';
import { systemRandom } from '../core/random.js';
import { type Clock, sleep, systemClock } from '../core/clock.js';
import type { Random } from '../core/random.js';
import { type TopicPartition, partitionName } from '../core/record.js';
import type { StoreEngine } from '../state/store-engine.js';
import type { StoreSize } from '../state/store-size.js';
import type { QueryHandle } from '../topology/queries.js';
import { type StoreHandle, untypedStore } from '../topology/store-definition.js';
import type { Topology } from '../topology/topology.js';
import { type Broker, BrokerError, type OutputProducer } from './broker.js';
import { Destinations } from './destinations.js';
import { combineHooks } from './combined-hooks.js';
import { Engine } from './engine.js';
import type { Counters } from './environment.js';
import {
  type Hooks,
  type Logger,
  type ObservedWorker,
  type TaskPhase,
  type WorkerPhase,
  instrumentationOf,
  silentLogger,
} from './hooks.js';
import { type ResolvedOptions, type WorkerOptions, resolveOptions } from './options.js';
import { ProducerSession } from './producer-session.js';
import { notRunning, queriesOf } from './query.js';
import { type Slot, takeSlot } from './slot.js';
import { stateLines } from './state-lines.js';
import { type WorkerStatistics, Statistics, inputStatistics } from './statistics.js';
import { TopicPlanner, type TopicPlan } from './topics.js';

export interface WorkerParts {
  readonly topology: Topology;
  readonly broker: Broker;
  readonly storeEngine: StoreEngine;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly hooks?: Hooks;
  readonly logger?: Logger;
}

export interface TaskHealth {
  /** `<sub-topology>/<partition>` */
  readonly id: string;
  readonly phase: TaskPhase;
  /** While restoring: changelog offsets done and to do, over all stores. */
  readonly restoredOffsets: number;
  readonly restoreOffsetsTotal: number;
}

/** One partition of a global table's topic. */
export interface GlobalStoreHealth extends TopicPartition {
  readonly store: string;
  /** Everything before this offset is in the store. */
  readonly position: number;
}

export interface WorkerHealth {
  readonly phase: WorkerPhase;
  /** The loop turns (its last turn is recent). */
  readonly live: boolean;
  /** Assigned and restored, or idle: nothing was assigned some seconds after the start. */
  readonly ready: boolean;
  readonly tasks: readonly TaskHealth[];
  readonly globalStores: readonly GlobalStoreHealth[];
  /** Counts since the start. */
  readonly counters: WorkerCounters;
  /** What the open epoch holds: joined, and not yet being committed. */
  readonly open: { readonly records: number; readonly outputs: number; readonly outputsProduced: number };
  readonly memory: WorkerMemory;
  /** What stopped the worker. */
  readonly error: Error | undefined;
}

/** What the worker holds in memory at this moment. */
export interface WorkerMemory {
  /** Outputs and writes that are open, committing or not yet flushed: what `bufferBytesMax` bounds. */
  readonly bufferedBytes: number;
  /** Read caches: what `cacheBytesMax` bounds. */
  readonly cachedBytes: number;
  /** Records taken from the consumer and not yet processed. */
  readonly queuedRecords: number;
  readonly queuedBytes: number;
}

export interface WorkerCounters {
  readonly records: number;
  readonly transactionsCommitted: number;
  readonly transactionsAborted: number;
  readonly producersReplaced: number;
  /** Passed over by operators: null keys, late records and the like. One record counts once for each operator that dropped it. */
  readonly recordsDropped: number;
  /** Passed over by the error policy; counted, as are dead letters, by the commit that passes them. */
  readonly recordsSkipped: number;
  readonly recordsDeadLettered: number;
  readonly recordsRestored: number;
  /** Brought by the consumer for a partition that was closed to routing, or once more after a rewind, and dropped: they come again. */
  readonly recordsDiscarded: number;
  readonly storesRebuilt: number;
}

const workerMoves: Readonly<Record<WorkerPhase, readonly WorkerPhase[]>> = {
  created: ['starting', 'stopped'],
  starting: ['running', 'stopping', 'failed'],
  running: ['stopping', 'failed'],
  stopping: ['stopped', 'failed'],
  stopped: [],
  failed: [],
};

/** Pause between attempts to reach the cluster at start, in milliseconds. */
const connectPauseMs = 100;
/** The last attempt gets this much time even where less is left of the bound, in milliseconds. */
const attemptMsMin = 100;
/** A member to which the group gives nothing hears nothing: after this long it counts as idle, in milliseconds. */
const unassignedMs = 3_000;
/** The loop counts as stuck when it has not turned for this long, in milliseconds. */
const liveBoundMs = 30_000;

export class StreamsWorker implements ObservedWorker {
  readonly options: ResolvedOptions;
  /** Resolves after `stop`, rejects with the error that stopped the worker by itself. */
  readonly finished: Promise<void>;
  private phase: WorkerPhase = 'created';
  private readonly clock: Clock;
  private readonly hooks: Hooks;
  private readonly logger: Logger;
  private readonly counters: Counters = {
    records: 0,
    transactionsCommitted: 0,
    transactionsAborted: 0,
    producersReplaced: 0,
    recordsDropped: 0,
    recordsSkipped: 0,
    recordsDeadLettered: 0,
    recordsRestored: 0,
    recordsDiscarded: 0,
    storesRebuilt: 0,
  };
  private slot: Slot | undefined;
  private session: ProducerSession | undefined;
  private outputs: OutputProducer | undefined;
  private plan: TopicPlan | undefined;
  private engine: Engine | undefined;
  private starting: Promise<void> | undefined;
  private ending: Promise<void> | undefined;
  private failure: Error | undefined;
  private settle: { resolve: () => void; reject: (error: Error) => void };

  /** @throws InvalidConfigurationError for a wrong option. */
  constructor(
    private readonly parts: WorkerParts,
    options: WorkerOptions,
  ) {
    this.options = resolveOptions(options);
    this.clock = parts.clock ?? systemClock;
    const instrumentation = instrumentationOf(this);
    const logger = parts.logger ?? silentLogger;
    this.logger = instrumentation?.wrapLogger?.(logger) ?? logger;
    this.hooks = combineHooks([stateLines(this.logger), instrumentation?.hooks ?? {}, parts.hooks ?? {}]);
    this.settle = { resolve() {}, reject() {} };
    this.finished = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
    // Whoever does not look at it must not be killed by an unhandled rejection.
    this.finished.catch(() => {});
  }

  /** Resolves when the group has been joined; rejects with what has to be mended. */
  start(): Promise<void> {
    this.starting ??= this.startOnce();
    return this.starting;
  }

  private async startOnce(): Promise<void> {
    this.move('starting');
    try {
      await this.open();
      if (this.phase === 'starting') this.move('running');
    } catch (error) {
      const failure = errorOf(error);
      this.failure ??= failure;
      if (this.phase === 'starting') this.move('failed', failure);
      // The group may not have been joined, but its consumer and the producer exist already.
      await this.engine?.abandon();
      await this.release();
      this.settle.reject(failure);
      throw failure;
    }
  }

  private async open(): Promise<void> {
    const { broker, topology, storeEngine } = this.parts;
    const { options, clock, logger } = this;
    await this.patiently((remainingMs) => broker.connect(remainingMs));
    const slot = await takeSlot(storeEngine, options, clock, this.parts.random ?? systemRandom, logger);
    this.slot = slot;
    const destinations = new Destinations(
      broker.admin,
      topology,
      options.applicationId,
      options.maxRecordBytes,
      broker.unwritableTimestampMs,
    );
    const planner = new TopicPlanner(topology, broker.admin, destinations, options, clock);
    const plan = await this.patiently(() => planner.plan());
    this.plan = plan;
    const clientId = `${options.applicationId}-${slot.instanceId}-${slot.number}`;
    if (options.guarantee !== 'at-least-once' || plan.changelogs.size > 0) {
      this.session = new ProducerSession(broker, clock, logger, {
        transactionalId: clientId,
        transactionTimeoutMs: options.transactionTimeoutMs,
        clientId,
      });
      await this.session.open(() => this.phase === 'starting');
    }
    if (options.guarantee !== 'exactly-once') {
      this.outputs = broker.createOutputProducer();
      await this.outputs.connect();
    }
    if (this.phase !== 'starting')
      throw new TallyError({ code: 'WORKER_STOPPED', kind: 'closed', message: 'The worker was stopped while it was starting.' });
    const { session, outputs } = this;
    this.engine = new Engine({
      topology,
      broker,
      storeEngine,
      clock,
      hooks: this.hooks,
      logger,
      options,
      counters: this.counters,
      plan,
      destinations,
      slot,
      session,
      outputs,
      clientId,
      onFailure: (error) => this.fail(error),
    });
    await this.engine.start(() => this.phase === 'starting');
  }

  /** A cluster that is being restarted answers again; one that does not within the bound is reported with its addresses. */
  private async patiently<T>(action: (remainingMs: number) => Promise<T>): Promise<T> {
    const startedMs = this.clock.monotonicMs();
    const untilMs = startedMs + this.options.brokerTimeoutMs;
    for (;;) {
      try {
        return await action(Math.max(attemptMsMin, untilMs - this.clock.monotonicMs()));
      } catch (error) {
        if (!(error instanceof BrokerError) || error.kind !== 'retriable') throw error;
        const waitedMs = Math.round(this.clock.monotonicMs() - startedMs);
        if (this.clock.monotonicMs() >= untilMs || this.phase !== 'starting') {
          throw new InvalidConfigurationError(
            'BROKER_UNREACHABLE',
            `No broker at ${this.parts.broker.name} has answered for ${waitedMs} ms: ${error.message} Check the addresses (option 'brokers') and that the cluster is up.`,
            { option: 'brokers' },
            error,
          );
        }
        await sleep(this.clock, connectPauseMs);
      }
    }
  }

  /** Finishes the records in hand, commits, flushes, leaves the group; within `shutdownTimeoutMs`. Idempotent. */
  stop(): Promise<void> {
    this.ending ??= this.stopOnce();
    return this.ending;
  }

  private async stopOnce(): Promise<void> {
    if (this.phase === 'created') {
      this.move('stopped');
      this.settle.resolve();
      return;
    }
    if (this.phase === 'failed') return;
    this.move('stopping');
    await this.starting?.catch(() => {});
    try {
      await this.engine?.stop(this.options.shutdownTimeoutMs);
    } catch (error) {
      const failure = errorOf(error);
      this.failure ??= failure;
      await this.release();
      this.move('failed', failure);
      this.settle.reject(failure);
      throw failure;
    }
    await this.release();
    if (this.phase !== 'stopping') return;
    this.move('stopped');
    this.settle.resolve();
  }

  /** The worker cannot go on: it leaves the group without committing, and `finished` rejects. */
  private fail(error: Error): void {
    if (this.failure !== undefined || this.phase === 'stopping' || this.phase === 'stopped') {
      this.logger.warn(`While the worker was ending: ${error.message}`);
      return;
    }
    this.failure = error;
    this.logger.error(error.message, error instanceof TallyError ? { code: error.code, ...error.place } : {});
    this.ending ??= this.failOnce(error);
  }

  private async failOnce(error: Error): Promise<void> {
    this.move('failed', error);
    try {
      await this.engine?.abandon();
      await this.release();
    } catch (second) {
      this.logger.warn(`While the failed worker was closing: ${errorOf(second).message}`);
    }
    this.settle.reject(error);
  }

  private async release(): Promise<void> {
    if (this.engine === undefined) {
      await this.session?.close();
      await this.outputs?.close();
    }
    const { slot } = this;
    this.slot = undefined;
    await slot?.release();
    await this.parts.broker.close();
  }

  private move(to: WorkerPhase, reason?: Error): void {
    if (!workerMoves[this.phase].includes(to)) {
      throw new InvalidConfigurationError('WORKER_PHASE', `A worker that is '${this.phase}' cannot become '${to}'. Make a new worker.`);
    }
    this.phase = to;
    this.hooks.workerPhase?.(to, reason);
  }

  health(): WorkerHealth {
    const slots = this.engine?.tasks.all ?? [];
    const isRunning = this.phase === 'running';
    const turnedMs = this.engine === undefined ? 0 : this.clock.monotonicMs() - this.engine.lastTurnMs;
    return {
      phase: this.phase,
      live: this.phase !== 'failed' && (!isRunning || turnedMs < liveBoundMs),
      ready: isRunning && this.knowsItsShare() && slots.every(({ phase }) => phase === 'running') && this.engine?.tasks.isComplete === true,
      tasks: slots.map(({ id, phase, progress }) => ({ id, phase, restoredOffsets: progress.done, restoreOffsetsTotal: progress.total })),
      globalStores: (this.engine?.globals.positions ?? []).map(({ store, topic, partition, position }) => ({
        store: store.name,
        topic,
        partition,
        position,
      })),
      counters: { ...this.counters },
      open: this.openEpoch(),
      memory: this.engine?.memory ?? { bufferedBytes: 0, cachedBytes: 0, queuedRecords: 0, queuedBytes: 0 },
      error: this.failure,
    };
  }

  get applicationId(): string {
    return this.options.applicationId;
  }

  /** Everything that can be counted of the worker, for telemetry. Costs some microseconds for each task. */
  statistics(): WorkerStatistics {
    const counts = this.engine?.statistics ?? new Statistics();
    const running = this.engine?.tasks.running ?? [];
    const sent = this.engine?.destinations.sent ?? new Map<string, { readonly records: number }>();
    return {
      ...this.health(),
      loop: { ...counts.loop },
      processed: counts.processed,
      dropped: counts.dropped,
      punctuations: counts.punctuations,
      consumed: counts.consumed,
      sent: new Map([...sent].map(([topic, { records }]) => [topic, records])),
      inputs: inputStatistics(running),
      stores: counts.storesOf(running),
      clientQueues: this.parts.broker.clientQueues?.(),
    };
  }

  async inputEnds(): Promise<ReadonlyMap<string, number>> {
    const inputs = inputStatistics(this.engine?.tasks.running ?? []);
    if (inputs.length === 0) return new Map();
    const ends = await this.parts.broker.admin.listOffsets(inputs, 'highWatermark');
    return new Map(ends.map((end) => [partitionName(end), end.offset]));
  }

  /** It was given partitions once, or has waited for them in vain: before, nothing to do does not mean that nothing is to come. */
  private knowsItsShare(): boolean {
    const { engine } = this;
    return engine !== undefined && (engine.wasAssigned || this.clock.monotonicMs() - engine.startedMs >= unassignedMs);
  }

  async storeSizes(): Promise<ReadonlyMap<string, StoreSize>> {
    const sums = new Map<string, StoreSize>();
    // One after another: this is for somebody who looks now and then.
    for (const { state } of this.engine?.tasks.running ?? []) {
      for (const name of state.stores.keys()) {
        // A task may have been closed meanwhile.
        if (state.isClosed) break;
        const { entries, bytes } = await state.estimateSize(name);
        const sum = sums.get(name) ?? { entries: 0, bytes: 0 };
        sums.set(name, { entries: sum.entries + entries, bytes: sum.bytes + bytes });
      }
    }
    return sums;
  }

  private openEpoch(): WorkerHealth['open'] {
    const epoch = this.engine?.epoch;
    return { records: epoch?.records ?? 0, outputs: epoch?.outputs ?? 0, outputsProduced: epoch?.produced ?? 0 };
  }

  /** Everything that has arrived has taken effect, and nothing is due: until something new comes nothing happens. For tests. */
  get isSettled(): boolean {
    return this.phase === 'running' && this.engine?.isSettled === true;
  }

  /**
   * Runs the action on one partition of a store, between two records. What it writes is logged and committed as a record's writes are, with
   * the next epoch; a transaction that is aborted before takes it back. For tests, and for repairs by hand.
   * @throws what the action throws, and nothing is written then; QueryError `STORE_NOT_LOCAL` or `WORKER_NOT_RUNNING`; `STORE_BUSY`
   * (retriable) while asynchronous handlers or a search for a refused record are under way
   */
  editStore<S, Result>(store: StoreHandle<S>, partition: number, edit: (store: S) => Result): Result {
    if (this.phase !== 'running' || this.engine === undefined) throw notRunning(store.name);
    return this.engine.editStore(untypedStore(store), partition, (opened) => edit(opened as S));
  }

  /** Committed state of this instance's tasks. */
  query<Q>(store: QueryHandle<Q>): Q {
    const holders = (name: string) => (this.engine?.tasks.all ?? []).filter(({ subTopology }) => subTopology.stores.includes(name));
    return queriesOf(
      {
        isGlobal: (name) => this.parts.topology.globalStores.has(name),
        globalReader: (name) => this.engine?.globals.reader(name),
        globalPartitionsOf: (name) => this.engine?.globals.positions.filter((each) => each.store.name === name).length ?? 0,
        isRunning: () => this.phase === 'running' || this.phase === 'stopping',
        definitionOf: (name) => this.parts.topology.stores.get(name),
        partitionsOf: (name) => {
          const sub = this.parts.topology.subTopologies.find(({ stores }) => stores.includes(name));
          return sub === undefined ? undefined : this.plan?.tasks.get(sub.id);
        },
        tasksOf: (name) => holders(name).flatMap(({ task }) => (task === undefined || task.isClosed ? [] : [task])),
        isOpening: (name, partition) => holders(name).some((slot) => slot.partition === partition && slot.phase !== 'closed'),
      },
      store,
    );
  }
}
