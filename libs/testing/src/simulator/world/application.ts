/** What runs on the machines of a history. */
import type { Broker, Clock, Hooks, Logger, Random, StoreEngine, StreamsWorker } from '@tally/streams';
import type { Hold } from './handler-faults.js';

/** The ports of one process. */
export interface ProcessPorts {
  /** Another one in each era of the history. */
  readonly applicationId: string;
  readonly stateDirectory: string;
  readonly broker: Broker;
  readonly storeEngine: StoreEngine;
  readonly clock: Clock;
  readonly random: Random;
  readonly hooks: Hooks;
  readonly logger: Logger;
  /** Holds up asynchronous handlers. */
  readonly hold: Hold;
  /** Waits for a moment of the process's time. */
  readonly pause: () => Promise<void>;
}

export type RunningWorker = Pick<StreamsWorker, 'options' | 'finished' | 'start' | 'stop' | 'health' | 'isSettled' | 'query'>;

/** Makes the worker of one process; called at each start of one. */
export type CreateWorker = (ports: ProcessPorts) => RunningWorker;
