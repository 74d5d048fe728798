import type { Clock, KeyValueStoreDefinition, StoreHandle, Topic, Topology, WorkerHealth, WorkerOptions } from '@tally/streams';
import { type DrivenParts, DrivenWorker } from './driven-worker.js';
import { DriverClock } from './driver-clock.js';
import { TestDriverError } from './driver-error.js';
import { type ResolvedDriverOptions, resolveDriverOptions, type StartOptions, type TestDriverOptions } from './driver-options.js';
import { TestInput } from './test-input.js';
import { type EmittedRecord, TestOutput } from './test-output.js';
import { TestStore } from './test-store.js';

/**
 * Runs a topology without a broker: the real worker, tasks, stores and commits, over a cluster in memory and on a clock that stands still
 * until it is advanced. The same calls give the same outputs.
 *
 * @example
 * ```ts
 * const driver = await TopologyTestDriver.start(topology);
 * await driver.input(payments).pipe('alice', { amount: 5n });
 * expect(driver.output(totals).readAll()).toMatchObject([{ key: 'alice', value: 5n }]);
 * await driver.close();
 * ```
 */
export class TopologyTestDriver {
  private readonly settings: ResolvedDriverOptions;
  private readonly time: DriverClock;
  private driven: DrivenWorker | undefined;
  private isStarted = false;
  private isClosed = false;
  private lastCall: Promise<unknown> = Promise.resolve();

  /** Makes a driver for a worker that something else starts, by `createWorker`; see `start` for a topology by itself. */
  constructor(options: TestDriverOptions = {}) {
    this.settings = resolveDriverOptions(options);
    this.time = new DriverClock(this.settings.startMs);
  }

  /**
   * Starts the topology.
   * @throws InvalidConfigurationError as a worker's start does
   */
  static async start(topology: Topology, options: StartOptions = {}): Promise<TopologyTestDriver> {
    const { worker, hooks, logger, ...own } = options;
    const driver = new TopologyTestDriver(own);
    const parts = { topology, ...(hooks === undefined ? {} : { hooks }), ...(logger === undefined ? {} : { logger }) };
    await driver.createWorker(parts, { applicationId: 'test', stateDirectory: 'memory', ...worker }).start();
    return driver;
  }

  /**
   * Makes the worker that this driver drives, for whoever starts and stops it: in a Nest application the module does. Its clock runs while it
   * starts and stops, and then in the driver's calls alone.
   */
  readonly createWorker = (parts: DrivenParts, options: WorkerOptions): DrivenApplication => {
    if (this.driven !== undefined) {
      throw new TestDriverError(
        'DRIVER_IN_USE',
        `This driver drives the application '${options.applicationId}' or another one already: one driver for each.`,
      );
    }
    const worker = new DrivenWorker(parts, options, this.time, this.settings);
    this.driven = worker;
    return {
      finished: worker.finished,
      start: () =>
        this.exclusively(async () => {
          await worker.start();
          this.isStarted = true;
        }),
      stop: () => this.close(),
      health: () => worker.health(),
      query: (store) => worker.query(store),
    };
  };

  /** The worker's clock, for services that wait or look at the time. */
  get clock(): Clock {
    return this.time;
  }

  /** Counters, tasks and phase of the worker. */
  health(): WorkerHealth {
    return this.worker().health();
  }

  /** @throws TestDriverError `TOPIC_NOT_READ` when the topology does not read the topic */
  input<K, V>(topic: Topic<K, V>): TestInput<K, V> {
    this.worker().topics.checkSource(topic.name);
    return new TestInput(topic, {
      pipe: (name, record) => this.call((worker) => worker.pipe(name, record)),
      pipeAll: (name, records) => this.call((worker) => worker.pipeAll(name, records)),
    });
  }

  output<K, V>(topic: Topic<K, V>): TestOutput<K, V> {
    return new TestOutput(topic, () => this.worker().topics.outputs);
  }

  /** Takes all outputs that have not been read yet, of all topics but internal ones, in the order in which they were sent. */
  readEmitted(): EmittedRecord[] {
    const emitted = this.worker().topics.outputs.takeEverything();
    return emitted.map(({ topic, partition, key, value, timestampMs, headers }) => ({
      topic,
      partition,
      key,
      value,
      timestampMs,
      headers,
    }));
  }

  /** @throws TestDriverError `STORE_UNKNOWN` when the topology has no such store */
  store<K, V>(store: KeyValueStoreDefinition<K, V>): TestStore<K, V> {
    this.worker().topics.partitionsOfStore(store.name);
    return new TestStore(
      store,
      () => this.worker(),
      (partition, edit) => this.editStore(store, partition, edit),
    );
  }

  /**
   * Runs the action on one partition of a store, as a record's processor would use it: what it writes is logged and committed.
   * @returns what the action returns
   */
  editStore<S, Result>(store: StoreHandle<S>, partition: number, edit: (store: S) => Result): Promise<Result> {
    return this.call((worker) => worker.editStore(store, partition, edit));
  }

  /**
   * Lets wall-clock time pass, in one jump: a punctuator that has become due is called once, however many of its intervals have passed.
   * Returns when what follows from it has been processed.
   * @throws as `TestInput.pipe`
   */
  async advance(durationMs: number): Promise<void> {
    await this.call((worker) => worker.advance(durationMs));
  }

  /** Stops the worker. Idempotent. A failure that was thrown already is not thrown again. */
  close(): Promise<void> {
    if (this.isClosed) return this.lastCall.then(() => undefined);
    this.isClosed = true;
    return this.exclusively(async () => this.driven?.stop());
  }

  private call<T>(action: (worker: DrivenWorker) => Promise<T>): Promise<T> {
    return this.exclusively(async () => {
      const worker = this.worker();
      worker.throwFailure();
      this.time.begin();
      return action(worker);
    });
  }

  /** Calls that are not awaited follow one another. */
  private exclusively<T>(action: () => Promise<T>): Promise<T> {
    const result = this.lastCall.then(action);
    this.lastCall = result.catch(() => undefined);
    return result;
  }

  private worker(): DrivenWorker {
    if (this.isClosed) throw new TestDriverError('DRIVER_CLOSED', 'The test driver has been closed.');
    if (this.driven === undefined || !this.isStarted) {
      throw new TestDriverError(
        'DRIVER_NOT_STARTED',
        'The test driver has no running worker: start it, or the application that makes its worker by createWorker.',
      );
    }
    return this.driven;
  }
}

/** The worker as its owner sees it. */
export type DrivenApplication = Pick<DrivenWorker, 'finished' | 'start' | 'stop' | 'health' | 'query'>;
