/** A worker that runs nothing: records what the module asks of it, and fails when told to. */
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { type Broker, makeQueries, type QueryHandle, type WorkerHealth, type WorkerOptions, resolveOptions } from '@tally/streams';
import type { Worker, WorkerProgram } from './streams-application.js';
import { workerFactoryToken } from './streams.constants.js';

/** What happened, in order; shared with providers under test. */
export const events: string[] = [];

export class FakeBroker {
  readonly name = 'fake';
  connect(): Promise<void> {
    return Promise.resolve();
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

export class FakeWorker implements Worker {
  static startFailure: Error | undefined;
  readonly finished: Promise<void>;
  readonly options;
  phase: WorkerHealth['phase'] = 'created';
  tasks: WorkerHealth['tasks'] = [];
  ready = true;
  live = true;
  error: Error | undefined;
  private finish: () => void = () => undefined;
  private reject: (error: Error) => void = () => undefined;

  constructor(
    readonly parts: WorkerProgram,
    options: WorkerOptions,
  ) {
    this.options = resolveOptions(options);
    this.finished = new Promise((resolve, reject) => {
      this.finish = resolve;
      this.reject = reject;
    });
    this.finished.catch(() => undefined);
  }

  async start(): Promise<void> {
    events.push(`start ${this.options.applicationId}`);
    await Promise.resolve();
    if (FakeWorker.startFailure !== undefined) {
      this.phase = 'failed';
      this.reject(FakeWorker.startFailure);
      throw FakeWorker.startFailure;
    }
    this.phase = 'running';
  }

  async stop(): Promise<void> {
    events.push(`stop ${this.options.applicationId}`);
    await new Promise((resolve) => setImmediate(resolve));
    this.phase = 'stopped';
    events.push(`stopped ${this.options.applicationId}`);
    this.finish();
  }

  /** Stops by itself. */
  fail(error: Error): void {
    this.phase = 'failed';
    this.live = false;
    this.ready = false;
    this.error = error;
    this.reject(error);
  }

  health(): WorkerHealth {
    const { phase, live, ready, tasks, error } = this;
    const counters = {
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
    const memory = { bufferedBytes: 0, cachedBytes: 0, queuedRecords: 0, queuedBytes: 0 };
    return { phase, live, ready, tasks, globalStores: [], error, counters, open: { records: 0, outputs: 0, outputsProduced: 0 }, memory };
  }

  query<Q>(store: QueryHandle<Q>): Q {
    return makeQueries(store, {
      keyed: (_method, key) => Promise.resolve(`${store.name}/${String(key)}`),
      listing: () => nothing(),
      partitions: () => [0, 2],
    });
  }
}

async function* nothing(): AsyncGenerator {}

export const fakeBroker = (): Broker => new FakeBroker() as unknown as Broker;

export interface FakeSetup {
  readonly module: TestingModule;
  readonly app: INestApplication;
  /** Workers by application id. */
  readonly workers: Map<string, FakeWorker>;
}

export async function fakeApplication(metadata: ModuleMetadata): Promise<FakeSetup> {
  events.length = 0;
  const workers = new Map<string, FakeWorker>();
  const module = await Test.createTestingModule(metadata)
    .overrideProvider(workerFactoryToken)
    .useValue((parts: WorkerProgram, options: WorkerOptions) => {
      const worker = new FakeWorker(parts, options);
      workers.set(options.applicationId, worker);
      return worker;
    })
    .compile();
  return { module, app: module.createNestApplication({ logger: false }), workers };
}
