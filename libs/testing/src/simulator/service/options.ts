import type { WorkerOptions } from '@tally/streams';
import type { FaultKind } from '../plan/plan.js';
import type { SimulationResult } from './result.js';

/** Anything with a name: a topic's or a store's handle. */
export interface Named {
  readonly name: string;
}

export interface SimulateOptions {
  /** How many seeds, from 1 on, or which. Each gives one history. */
  readonly seeds: number | readonly number[];
  /** Partitions of every topic that declares none. Default: drawn by the seed, 1 to 4. */
  readonly partitions?: number;
  /** Workers that run all the time. Default: drawn by the seed, 1 to 3. */
  readonly workers?: number;
  /** Options of the workers; what is left out and matters to the protocol (intervals, batch sizes, time-outs) is drawn by the seed. */
  readonly worker?: Partial<Omit<WorkerOptions, 'applicationId' | 'stateDirectory'>>;
  /** Settings of topics, as Kafka has them, by the topic's name. */
  readonly topicConfigs?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Kinds of faults that do not happen. */
  readonly without?: readonly FaultKind[];
  /** Output topics on which a key's records come from several partitions, so that their order is not determined: compared without it. */
  readonly unordered?: readonly Named[];
  /** Topics and stores that depend on more than the records, such as the time or the order of partitions: not compared. */
  readonly unpredictable?: readonly Named[];
  /** What must hold after every history, by what it says: a function that throws when it does not. */
  readonly invariants?: Readonly<Record<string, (result: SimulationResult) => void>>;
}

export interface SimulationReport {
  readonly histories: number;
  /** Records of all workloads together. */
  readonly records: number;
  readonly crashes: number;
  /** How often each kind of fault took effect. */
  readonly faultsFired: Readonly<Record<string, number>>;
}
