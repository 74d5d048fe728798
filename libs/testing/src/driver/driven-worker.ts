/**
 * A worker over a cluster in memory, driven step by step: every call lets the clock run until what the call has brought about has taken
 * effect and is committed.
 */
import {
  type Clock,
  errorOf,
  type StoreHandle,
  MemoryEngine,
  type QueryHandle,
  seededRandom,
  StreamsWorker,
  type Topology,
  type WorkerHealth,
  type WorkerOptions,
  type WorkerParts,
} from '@tally/streams';
import { SimulatedBroker, SimulatedCluster } from '../broker/index.js';
import { DrivenTopics, type RecordToPipe } from './driven-topics.js';
import type { DriverClock } from './driver-clock.js';
import { TestDriverError } from './driver-error.js';
import type { ResolvedDriverOptions } from './driver-options.js';

/** What a worker is made of, as far as the driver leaves the choice. */
export type DrivenParts = Pick<WorkerParts, 'topology' | 'hooks' | 'logger'>;

/** Longer than any jump of the clock, in milliseconds: sessions do not end because a test lets a year pass. */
const neverMs = 1e13;
/** In memory a flush of the state would only move it from one place to another, so it is put off for as long as it may. */
const bufferBytesMax = 1024 ** 3;
const stateFlushIntervalMs = 3_600_000;
/** So few that what they leave behind is soon garbage, and so many that a commit costs each of them next to nothing. */
const recordsPerBatch = 2_000;

export class DrivenWorker {
  /** Resolves when the worker has ended, whichever way: why it failed is thrown by the call during which it did. */
  readonly finished: Promise<void>;
  readonly topics: DrivenTopics;
  private readonly worker: StreamsWorker;
  private readonly cluster: SimulatedCluster;
  private failure: Error | undefined;

  constructor(
    parts: DrivenParts,
    options: WorkerOptions,
    private readonly clock: DriverClock,
    private readonly settings: ResolvedDriverOptions,
  ) {
    const random = seededRandom(settings.seed);
    this.cluster = makeCluster(clock, settings, parts.topology, (topic) => this.topics.isInternal(topic));
    for (const topic of settings.topics) this.cluster.createTopic(topic, settings.partitions);
    this.topics = new DrivenTopics(this.cluster, parts.topology, options.applicationId, settings.topics);
    const broker = new SimulatedBroker(this.cluster, {
      producer: { lingerMs: 0 },
      maxPollIntervalMs: neverMs,
      // Keys of changelog records are made one after another in the same memory.
      client: { writesTimestampZero: true, takesOver: (topic) => (this.topics.isChangelog(topic) ? 'values' : 'keysAndValues') },
    });
    this.worker = new StreamsWorker(
      { ...parts, broker, storeEngine: new MemoryEngine(), clock, random },
      { bufferBytesMax, stateFlushIntervalMs, ...options, commitIntervalMs: 0 },
    );
    this.finished = this.worker.finished.catch((error: unknown) => {
      this.failure = errorOf(error);
    });
  }

  /** Starts the worker, and returns when it has its partitions. */
  async start(): Promise<void> {
    this.clock.begin();
    await this.clock.run(this.worker.start());
    this.topics.hold();
    await this.settle();
    this.clock.started();
  }

  async stop(): Promise<void> {
    this.clock.begin();
    await this.clock.run(this.worker.stop());
    const [violation] = this.cluster.violations;
    if (violation !== undefined) throw new Error(`The worker has broken a rule of its broker: ${violation}`);
  }

  health(): WorkerHealth {
    return this.worker.health();
  }

  query<Q>(store: QueryHandle<Q>): Q {
    return this.worker.query(store);
  }

  /** Appends one record and processes it, and then, one by one, what it has caused. */
  async pipe(topic: string, record: RecordToPipe): Promise<void> {
    this.topics.append(topic, [record]);
    await this.processOneByOne();
  }

  /** Appends records and processes them, and what they cause, in batches. */
  async pipeAll(topic: string, records: Iterable<RecordToPipe>): Promise<void> {
    for (const batch of batchesOf(records, recordsPerBatch)) {
      this.topics.append(topic, batch);
      this.topics.releaseAll();
      await this.settle();
      this.topics.collectProcessed();
      this.topics.trim();
    }
  }

  async advance(durationMs: number): Promise<void> {
    this.clock.jump(durationMs);
    await this.processOneByOne();
  }

  async editStore<S, Result>(store: StoreHandle<S>, partition: number, edit: (store: S) => Result): Promise<Result> {
    const result = this.worker.editStore(store, partition, edit);
    await this.processOneByOne();
    return result;
  }

  /** @throws what stopped the worker */
  throwFailure(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  private async processOneByOne(): Promise<void> {
    do {
      await this.settle();
      this.topics.collect();
    } while (this.topics.releaseNext());
    this.topics.trim();
  }

  /** Lets time pass until all that the worker may read has been processed and committed. */
  private async settle(): Promise<void> {
    const { worker, topics, clock } = this;
    const { callTimeoutMs } = this.settings;
    const deadlineMs = clock.monotonicMs() + callTimeoutMs;
    const isSettled = (): boolean => worker.isSettled && topics.isRead && topics.areGlobalsRead(worker.health().globalStores);
    await clock.runUntil(() => this.failure !== undefined || isSettled() || clock.monotonicMs() >= deadlineMs);
    this.throwFailure();
    if (!isSettled()) throw notSettled(worker.health(), callTimeoutMs);
  }
}

function notSettled({ phase, tasks, counters }: WorkerHealth, callTimeoutMs: number): TestDriverError {
  const opening = tasks.filter((task) => task.phase !== 'running').map((task) => `${task.id} is ${task.phase}`);
  return new TestDriverError(
    'NOT_SETTLED',
    `After ${callTimeoutMs} ms on the driver's clock there is still something to do. The worker is ${phase}, ${counters.records} records have been committed` +
      `${opening.length === 0 ? '' : `, task ${opening.join(', ')}`}. Raise callTimeoutMs if it only takes long.`,
  );
}

/** Without latency: what a call costs in time is then only what something waits for. */
function makeCluster(
  clock: Clock,
  { partitions, seed }: ResolvedDriverOptions,
  topology: Topology,
  isInternal: (topic: string) => boolean,
): SimulatedCluster {
  const declared = declaredPartitions(topology);
  return new SimulatedCluster({
    clock,
    random: seededRandom(seed),
    latency: 0,
    markerDelay: 0,
    sessionTimeoutMs: neverMs,
    heartbeatIntervalMs: neverMs,
    partitionsOfUnknown: (topic) => (isInternal(topic) ? undefined : (declared.get(topic) ?? partitions)),
  });
}

function declaredPartitions(topology: Topology): ReadonlyMap<string, number> {
  const declared = new Map<string, number>();
  for (const node of topology.nodes.values()) {
    const topics = node.kind === 'source' ? node.topics : node.kind === 'sink' && typeof node.topic !== 'function' ? [node.topic] : [];
    for (const { name, partitions } of topics) if (partitions !== undefined) declared.set(name, partitions);
  }
  for (const { topic } of topology.globalStores.values()) if (topic.partitions !== undefined) declared.set(topic.name, topic.partitions);
  return declared;
}

function* batchesOf<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
