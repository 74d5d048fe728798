/** The metrics of workers: instruments for what happens now and then, observers for what is counted per record. */
import type { BatchObservableResult, Histogram, Meter, Observable, Counter, Attributes } from '@opentelemetry/api';
import {
  type CommitReport,
  type Hooks,
  type ObservedWorker,
  type RecordOutcome,
  TallyError,
  type WorkerStatistics,
  partitionName,
} from '@tally/streams';
import { attribute, kafka, subTopologyOf } from './conventions.js';
import { type MetricDefinition, observed, recorded } from './metrics.js';

/** In seconds: a commit takes milliseconds, a restore minutes. */
const durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** One of them for all workers of the process. */
export class WorkerInstruments {
  readonly operationDuration: Histogram;
  readonly processDuration: Histogram;
  readonly recordLatency: Histogram;
  readonly flushDuration: Histogram;
  readonly restoreDuration: Histogram;
  readonly rebalances: Counter;
  private readonly workers = new Set<WorkerMetrics>();

  constructor(meter: Meter) {
    const histogram = ({ name, unit, description }: MetricDefinition): Histogram =>
      meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: durationBounds } });
    this.operationDuration = histogram(recorded.operationDuration);
    this.processDuration = histogram(recorded.processDuration);
    this.recordLatency = histogram(recorded.recordLatency);
    this.flushDuration = histogram(recorded.flushDuration);
    this.restoreDuration = histogram(recorded.restoreDuration);
    this.rebalances = meter.createCounter(recorded.rebalances.name, recorded.rebalances);
    const observables = new Map<MetricDefinition, Observable>(
      Object.values(observed).map((metric) => [
        metric,
        metric.kind === 'counter' ? meter.createObservableCounter(metric.name, metric) : meter.createObservableGauge(metric.name, metric),
      ]),
    );
    meter.addBatchObservableCallback(
      (result) => {
        for (const worker of this.workers) worker.observe(new Observation(result, observables, worker.group));
      },
      [...observables.values()],
    );
  }

  /** Stopped workers stay, so that their last counts are exported; but not for ever. */
  add(worker: WorkerMetrics): void {
    for (const other of this.workers) if (this.workers.size >= workersMax && other.hasEnded) this.workers.delete(other);
    this.workers.add(worker);
  }

  /** Asks for what takes a question to the cluster; called every few seconds. */
  refresh(): void {
    for (const worker of this.workers) worker.refresh();
  }
}

const workersMax = 16;
/** Sizes of stores are estimated at every so many refreshes. */
const sizesEvery = 12;

class Observation {
  constructor(
    private readonly result: BatchObservableResult,
    private readonly observables: ReadonlyMap<MetricDefinition, Observable>,
    private readonly group: Attributes,
  ) {}

  of(metric: MetricDefinition, value: number, attributes: Attributes = {}): void {
    const observable = this.observables.get(metric);
    if (observable !== undefined) this.result.observe(observable, value, { ...this.group, ...attributes });
  }
}

export class WorkerMetrics {
  readonly group: Attributes;
  hasEnded = false;
  private ends: ReadonlyMap<string, number> = new Map();
  private sizes: Awaited<ReturnType<ObservedWorker['storeSizes']>> = new Map();
  private refreshes = 0;
  private isAsking = false;
  private pollRatio = 1;
  private lastLoop = { processingMs: 0, waitingMs: 0, atMs: performance.now() };
  private readonly failed = new Map<RecordOutcome, number>();
  private fenced = 0;
  private inDoubt = 0;

  constructor(
    private readonly instruments: WorkerInstruments,
    private readonly worker: ObservedWorker,
  ) {
    this.group = { [attribute.group]: worker.applicationId };
    instruments.add(this);
  }

  readonly hooks: Hooks = {
    workerPhase: (phase) => {
      this.hasEnded = phase === 'stopped' || phase === 'failed';
    },
    batch: (_records, durationMs) => this.instruments.operationDuration.record(durationMs / 1_000, this.pollAttributes),
    processed: (task, _records, durationMs) => this.instruments.processDuration.record(durationMs / 1_000, this.processAttributes(task)),
    committed: (report) => this.committed(report),
    producerReplaced: (reason) => {
      if (reason instanceof TallyError && reason.kind === 'fenced') this.fenced++;
      else this.inDoubt++;
    },
    assigned: () => this.rebalanced('assigned'),
    revoked: (_partitions, lost) => this.rebalanced(lost ? 'lost' : 'revoked'),
    restored: (_task, store, _records, durationMs) =>
      this.instruments.restoreDuration.record(durationMs / 1_000, { ...this.group, [attribute.store]: store }),
    flushed: (task, _bytes, durationMs) =>
      this.instruments.flushDuration.record(durationMs / 1_000, { ...this.group, [attribute.subTopology]: subTopologyOf(task) }),
    recordFailed: (_place, _error, outcome) => this.failed.set(outcome, (this.failed.get(outcome) ?? 0) + 1),
  };

  private get pollAttributes(): Attributes {
    return { ...this.group, [attribute.system]: kafka, [attribute.operation]: 'poll', [attribute.operationType]: 'receive' };
  }

  private get commitAttributes(): Attributes {
    return { ...this.group, [attribute.system]: kafka, [attribute.operation]: 'commit', [attribute.operationType]: 'settle' };
  }

  private processAttributes(task: string): Attributes {
    return { ...this.group, [attribute.system]: kafka, [attribute.operation]: 'process', [attribute.subTopology]: subTopologyOf(task) };
  }

  private committed({ durationMs, oldestMs }: CommitReport): void {
    this.instruments.operationDuration.record(durationMs / 1_000, this.commitAttributes);
    if (oldestMs !== undefined) this.instruments.recordLatency.record(Math.max(0, Date.now() - oldestMs) / 1_000, this.group);
  }

  private rebalanced(outcome: string): void {
    this.instruments.rebalances.add(1, { ...this.group, [attribute.outcome]: outcome });
  }

  /** Where the inputs end, unless the last question is still unanswered; and how busy the loop was since the last call. */
  refresh(): void {
    const { loop } = this.worker.statistics();
    const atMs = performance.now();
    const elapsedMs = atMs - this.lastLoop.atMs;
    if (elapsedMs > 0) this.pollRatio = Math.min(1, (loop.waitingMs - this.lastLoop.waitingMs) / elapsedMs);
    this.lastLoop = { ...loop, atMs };
    if (this.isAsking || this.hasEnded) return;
    this.isAsking = true;
    const asksForSizes = this.refreshes++ % sizesEvery === 0;
    // Without an answer what was last known stands.
    void Promise.allSettled([this.askForEnds(), asksForSizes ? this.askForSizes() : undefined]).finally(() => {
      this.isAsking = false;
    });
  }

  private async askForEnds(): Promise<void> {
    this.ends = await this.worker.inputEnds();
  }

  private async askForSizes(): Promise<void> {
    this.sizes = await this.worker.storeSizes();
    // Before there are tasks there is nothing to learn: asked again soon.
    if (this.sizes.size === 0) this.refreshes = 0;
  }

  observe(observation: Observation): void {
    const statistics = this.worker.statistics();
    this.observeTraffic(observation, statistics);
    this.observeRecords(observation, statistics);
    this.observeLoop(observation, statistics);
    this.observeState(observation, statistics);
    if (!this.hasEnded) this.observePartitions(observation, statistics);
  }

  private observeTraffic(observation: Observation, { consumed, sent, clientQueues }: WorkerStatistics): void {
    const of = (operation: string, destination: string): Attributes => ({
      [attribute.system]: kafka,
      [attribute.operation]: operation,
      [attribute.destination]: destination,
    });
    for (const [topic, records] of consumed) observation.of(observed.consumedMessages, records, of('poll', topic));
    for (const [topic, records] of sent) observation.of(observed.sentMessages, records, of('send', topic));
    if (clientQueues === undefined) return;
    observation.of(observed.clientQueue, clientQueues.fetchedRecords, { [attribute.direction]: 'fetched' });
    observation.of(observed.clientQueue, clientQueues.unsentRecords, { [attribute.direction]: 'unsent' });
  }

  private observeRecords(observation: Observation, { counters, processed, dropped, punctuations }: WorkerStatistics): void {
    for (const [task, records] of processed) observation.of(observed.recordsProcessed, records, { [attribute.task]: task });
    for (const [reason, records] of dropped) observation.of(observed.recordsDropped, records, { [attribute.reason]: reason });
    for (const [outcome, records] of this.failed) observation.of(observed.recordsFailed, records, { [attribute.outcome]: outcome });
    observation.of(observed.recordsSkipped, counters.recordsSkipped);
    observation.of(observed.deadLetters, counters.recordsDeadLettered);
    observation.of(observed.recordsDiscarded, counters.recordsDiscarded);
    observation.of(observed.recordsRestored, counters.recordsRestored);
    observation.of(observed.storesRebuilt, counters.storesRebuilt);
    observation.of(observed.punctuations, punctuations);
    const outcomes = {
      committed: counters.transactionsCommitted,
      aborted: counters.transactionsAborted,
      fenced: this.fenced,
      'in-doubt': this.inDoubt,
    };
    for (const [outcome, count] of Object.entries(outcomes)) observation.of(observed.transactions, count, { [attribute.outcome]: outcome });
  }

  private observeLoop(observation: Observation, { loop, live, ready }: WorkerStatistics): void {
    observation.of(observed.workerTime, loop.processingMs / 1_000, { [attribute.activity]: 'process' });
    observation.of(observed.workerTime, loop.waitingMs / 1_000, { [attribute.activity]: 'wait' });
    observation.of(observed.pollRatio, this.pollRatio);
    observation.of(observed.live, live ? 1 : 0);
    observation.of(observed.ready, ready ? 1 : 0);
  }

  private observeState(observation: Observation, { memory, tasks, stores }: WorkerStatistics): void {
    observation.of(observed.queuedRecords, memory.queuedRecords);
    observation.of(observed.bufferSize, memory.bufferedBytes);
    observation.of(observed.cacheSize, memory.cachedBytes);
    for (const phase of ['waiting', 'restoring', 'running', 'closing'] as const)
      observation.of(observed.tasks, tasks.filter((task) => task.phase === phase).length, { [attribute.state]: phase });
    for (const { id, phase, restoredOffsets, restoreOffsetsTotal } of tasks) {
      const left = phase === 'running' ? 0 : Math.max(0, restoreOffsetsTotal - restoredOffsets);
      const progress = phase === 'running' ? 1 : restoreOffsetsTotal === 0 ? 0 : Math.min(1, restoredOffsets / restoreOffsetsTotal);
      observation.of(observed.restoreRemaining, left, { [attribute.task]: id });
      observation.of(observed.restoreProgress, progress, { [attribute.task]: id });
    }
    const reads = new Map<string, { hits: number; misses: number }>();
    for (const { store, cacheHits, cacheMisses } of stores) {
      const sum = reads.get(store) ?? { hits: 0, misses: 0 };
      reads.set(store, { hits: sum.hits + cacheHits, misses: sum.misses + cacheMisses });
    }
    for (const [store, { hits, misses }] of reads) {
      observation.of(observed.cacheReads, hits, { [attribute.store]: store, [attribute.outcome]: 'cache' });
      observation.of(observed.cacheReads, misses, { [attribute.store]: store, [attribute.outcome]: 'database' });
    }
    for (const [store, { entries, bytes }] of this.sizes) {
      observation.of(observed.storeEntries, entries, { [attribute.store]: store });
      observation.of(observed.storeSize, bytes, { [attribute.store]: store });
    }
  }

  private observePartitions(observation: Observation, { inputs }: WorkerStatistics): void {
    for (const input of inputs) {
      const attributes = { [attribute.destination]: input.topic, [attribute.partition]: String(input.partition) };
      observation.of(observed.committed, input.committed, attributes);
      const end = this.ends.get(partitionName(input));
      if (end === undefined) continue;
      observation.of(observed.lag, Math.max(0, end - input.committed), attributes);
    }
  }
}
