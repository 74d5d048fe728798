/** Stands in for the worker of an application that makes its own, so that its topology and options can be simulated. */
import { InvalidConfigurationError, type Topology, type WorkerHealth, type WorkerOptions } from '@tally/streams';

/** What an application would run its worker with. */
export interface ServiceProgram {
  readonly topology: Topology;
  readonly options: WorkerOptions;
}

/** What an application asks of its worker. */
export interface StandInWorker {
  readonly finished: Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  health(): WorkerHealth;
  query(): never;
}

/**
 * Takes what an application runs: `createWorker` in the place of its worker factory. The application is made once; every simulated process
 * runs its handlers and topologies, so what its providers keep in memory outlives the simulated crashes.
 */
export class SimulatedService {
  private given: ServiceProgram | undefined;

  /** In a Nest application: `overrideProvider(workerFactoryToken).useValue(service.createWorker)`. */
  readonly createWorker = ({ topology }: Pick<ServiceProgram, 'topology'>, options: WorkerOptions): StandInWorker => {
    if (this.given !== undefined) {
      throw new InvalidConfigurationError(
        'SERVICE_IN_USE',
        `This simulated service has the program of '${this.given.options.applicationId}' already. Make one for each application.`,
      );
    }
    this.given = { topology, options };
    return standIn();
  };

  /** @throws InvalidConfigurationError `SERVICE_NOT_STARTED` before the application has been started */
  get program(): ServiceProgram {
    if (this.given === undefined) {
      throw new InvalidConfigurationError(
        'SERVICE_NOT_STARTED',
        'The application has not made its worker yet. Start it first; in Nest: connectStreams(app), init(), startAllMicroservices().',
      );
    }
    return this.given;
  }
}

function standIn(): StandInWorker {
  let end: () => void = () => {};
  let phase: WorkerHealth['phase'] = 'created';
  return {
    finished: new Promise((resolve) => {
      end = resolve;
    }),
    async start() {
      phase = 'running';
    },
    async stop() {
      phase = 'stopped';
      end();
    },
    health: () => idleHealth(phase),
    query() {
      throw new InvalidConfigurationError('SERVICE_SIMULATED', 'A simulated service has many workers: its stores cannot be queried.');
    },
  };
}

function idleHealth(phase: WorkerHealth['phase']): WorkerHealth {
  return {
    phase,
    live: true,
    ready: phase === 'running',
    tasks: [],
    globalStores: [],
    counters: {
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
    },
    open: { records: 0, outputs: 0, outputsProduced: 0 },
    memory: { bufferedBytes: 0, cachedBytes: 0, queuedRecords: 0, queuedBytes: 0 },
    error: undefined,
  };
}
