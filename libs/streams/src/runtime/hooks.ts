/**
 * What the runtime reports. Hooks are called per batch, per slice, per commit, per state change and for sampled records, never for each
 * record; they must not throw and are not awaited. Telemetry turns them into signals, tests into assertions.
 */
import type { Headers, TopicPartition } from '../core/record.js';
import type { DropReason } from '../topology/processor.js';
import type { StoreSize } from '../state/store-size.js';
import type { ConsumedRecord } from './broker.js';
import type { WorkerStatistics } from './statistics.js';

export type TaskPhase = 'waiting' | 'restoring' | 'running' | 'closing' | 'closed';
export type WorkerPhase = 'created' | 'starting' | 'running' | 'stopping' | 'stopped' | 'failed';
/** What an error policy made of a record that failed. */
export type RecordOutcome = 'retried' | 'skipped' | 'deadLettered' | 'stopped';

export interface CommitReport {
  readonly epoch: number;
  readonly records: number;
  readonly outputs: number;
  readonly durationMs: number;
  /** Smallest timestamp of its records, in milliseconds since the epoch; undefined for an epoch without records. */
  readonly oldestMs: number | undefined;
}

/** Points of the commit protocol (design: freeze, produce, offsets, commit, confirm, flush); tests stop or kill the process there. */
export type CommitPoint =
  | 'frozen'
  | 'produced'
  | 'beforeOffsets'
  | 'afterOffsets'
  | 'beforeCommit'
  | 'afterCommit'
  | 'beforeFlush'
  | 'duringFlush'
  | 'afterFlush';

export interface Hooks {
  /** Follows sampled records through handlers and outputs. */
  readonly tracer?: RecordTracer;
  workerPhase?(phase: WorkerPhase, reason?: Error): void;
  taskPhase?(task: string, phase: TaskPhase): void;
  /** A consume has brought records, after so long. */
  batch?(records: readonly ConsumedRecord[], durationMs: number): void;
  /** A slice of at most some hundred records of one task was dispatched; asynchronous handlers may still be at work. */
  processed?(task: string, records: number, durationMs: number): void;
  committed?(report: CommitReport): void;
  /** The transaction under way was aborted, with all that was open: its records are processed again. */
  aborted?(reason: Error): void;
  /** As `aborted`, where an abort was impossible: among the reasons are fencing and commits in doubt. */
  producerReplaced?(reason: Error): void;
  assigned?(partitions: readonly TopicPartition[]): void;
  revoked?(partitions: readonly TopicPartition[], lost: boolean): void;
  restored?(task: string, store: string, records: number, durationMs: number): void;
  rebuilt?(task: string, store: string, reason: string): void;
  /** `bytes`: estimate of what was written. */
  flushed?(task: string, bytes: number, durationMs: number): void;
  recordFailed?(
    place: { readonly topic: string; readonly partition: number; readonly offset: number },
    error: Error,
    outcome: RecordOutcome,
  ): void;
  /** Called at each point of the commit; a returned promise is awaited, so that tests can hold a commit there. */
  commitPoint?(point: CommitPoint, epoch: number): void | Promise<void>;
}

// ---- traces ------------------------------------------------------------------------------------------------------------------------

export interface RecordTracer {
  /** Asked for each record and each of its attempts, so it must be cheap. `undefined`: the record is not traced. */
  trace(record: ConsumedRecord, task: string, attempt: number): RecordTrace | undefined;
}

/** What is sent within a trace, before it has headers of the trace. */
export interface TracedOutput {
  /** Physical name. */
  readonly topic: string;
  /** -1: any. */
  readonly partition: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: Headers;
  readonly isDeadLetter?: boolean;
}

/** One attempt at a traced record. Ends with exactly one of `joined`, `failed` and `abandoned`; what failed may join later as a dead letter. */
export interface RecordTrace {
  /** Runs steps of the record so that whatever they start, asynchronous calls included, belongs to the trace. */
  run(steps: () => void): void;
  /** The headers with which the output is sent. */
  sends(output: TracedOutput): Headers;
  dropped(reason: DropReason): void;
  /** The same attempt is made again, through no fault of the record: what was sent so far is taken back. */
  repeated(reason: string): void;
  /** The handlers have returned, and the record has joined the epoch of that number. */
  joined(epoch: number): void;
  /** `outcome`: undefined where no error policy was asked, since the worker stops or its disk is at fault. */
  failed(error: Error, outcome: RecordOutcome | undefined): void;
  /** The record was taken away before it had joined. */
  abandoned(reason: string): void;
}

// ---- logs --------------------------------------------------------------------------------------------------------------------------

/** One line per state change, none per record. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

// ---- instrumentation of all workers of a process ---------------------------------------------------------------------------------------

/** A worker as telemetry sees it. */
export interface ObservedWorker {
  readonly applicationId: string;
  statistics(): WorkerStatistics;
  /**
   * Ends of the worker's input partitions, by partition name (`topic-partition`): offsets after the last record, of open transactions
   * too. Asks the cluster. @throws BrokerError
   */
  inputEnds(): Promise<ReadonlyMap<string, number>>;
  /** How much the stores hold on this worker's disk, about; reads some thousand entries of each. Small stores are counted. */
  storeSizes(): Promise<ReadonlyMap<string, StoreSize>>;
}

export interface WorkerInstrumentation {
  readonly hooks: Hooks;
  /** Puts something around the worker's logger. */
  wrapLogger?(logger: Logger): Logger;
}

export type Instrument = (worker: ObservedWorker) => WorkerInstrumentation;

/** Symbol.for: when two copies of the package meet in one process, they still find each other's. */
const instrumentKey = Symbol.for('tally:instrument');
type Instrumented = { [instrumentKey]?: Instrument | undefined };

/** From now on each worker that is made in this process is instrumented, whoever makes it. `undefined` ends that. */
export function instrumentWorkers(instrument: Instrument | undefined): void {
  (globalThis as Instrumented)[instrumentKey] = instrument;
}

/** Whether workers that are made now will be instrumented: what costs something and is only for telemetry can be left out where not. */
export function isInstrumented(): boolean {
  return (globalThis as Instrumented)[instrumentKey] !== undefined;
}

export function instrumentationOf(worker: ObservedWorker): WorkerInstrumentation | undefined {
  return (globalThis as Instrumented)[instrumentKey]?.(worker);
}
