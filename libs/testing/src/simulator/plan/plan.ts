/** One history, drawn up front as plain data: it can be printed, run again, and made smaller while it still fails. */
import type { CommitPoint, Guarantee, Headers } from '@tally/streams';
import type { RequestName } from '../../broker/index.js';

/** Options of each worker of the history. */
export interface WorkerSettings {
  readonly guarantee: Guarantee;
  readonly commitIntervalMs: number;
  readonly stateFlushIntervalMs: number;
  readonly recordsPerConsume: number;
  readonly bufferBytesMax: number;
  readonly cacheBytesMax: number;
  readonly transactionTimeoutMs: number;
  readonly commitSettleTimeoutMs: number;
  readonly handlerDeadlineMs: number;
  readonly shutdownTimeoutMs: number;
  readonly tombstoneRetentionMs: number;
}

export interface ClusterSettings {
  readonly latencyMsMax: number;
  readonly markerDelayMsMax: number;
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly transactionSweepIntervalMs: number;
  /** Longest wait for the answer to a request outside of transactions. */
  readonly callTimeoutMs: number;
  /** Records that a producer's queue holds. */
  readonly queueRecordsMax: number;
}

/** One record of the load, with its moment. */
export interface PlannedRecord {
  /** From the start of the history; infinite for what comes when everything has healed and all else is done. */
  readonly atMs: number;
  readonly topic: string;
  readonly partition: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  /** Default: none. */
  readonly headers?: Headers;
  /** From the start of the history. */
  readonly timestampMs: number;
}

/**
 * What happens to one process: `await` is whatever it waits for (a timer, an answer, the disk) or sends, `pending` an await while writes
 * are on their way into a transaction or onto the disk.
 */
export type ProcessEvent = 'await' | 'pending' | CommitPoint | `request ${RequestName}`;

/** The nth such event of the process from that time of the history on. */
export interface Moment {
  readonly afterMs: number;
  readonly on: ProcessEvent;
  readonly nth: number;
}

interface OnMachine {
  /** Index of the machine. */
  readonly machine: number;
  readonly when: Moment;
}

interface OnCluster {
  readonly atMs: number;
}

export type DiskError = 'read' | 'write' | 'sync' | 'full';

export type PlannedFault =
  /** As SIGKILL and a power cut at once: unsynced writes are dropped. Started again after the time, on an empty disk where it says so. */
  | ({ readonly kind: 'kill'; readonly downMs: number; readonly newDisk: boolean } & OnMachine)
  /** As SIGSTOP and SIGCONT. */
  | ({ readonly kind: 'pause'; readonly durationMs: number } & OnMachine)
  /** A graceful stop; started again after the time. */
  | ({ readonly kind: 'leave'; readonly downMs: number } & OnMachine)
  /** Machines beyond the plan's own that come and go. */
  | ({ readonly kind: 'storm'; readonly visits: number; readonly stayMs: number; readonly ends: 'leave' | 'kill' } & OnCluster)
  /** Requests of the machine without an answer: lost before they took effect, or after. */
  | ({ readonly kind: 'lose'; readonly what: 'request' | 'answer'; readonly request: RequestName; readonly times: number } & OnMachine)
  | ({
      readonly kind: 'slow';
      readonly request: RequestName;
      readonly delayMs: number;
      readonly answerDelayMs: number;
      readonly times: number;
    } & OnMachine)
  /** For a while each request and each answer takes a time of its own, so that independent ones overtake one another. */
  | ({ readonly kind: 'reorder'; readonly durationMs: number; readonly delayMsMax: number } & OnMachine)
  | ({ readonly kind: 'restartBroker'; readonly durationMs: number } & OnCluster)
  /** No request of the machine reaches the cluster, and no answer the machine. */
  | ({ readonly kind: 'cutOff'; readonly durationMs: number } & OnMachine)
  /** Answered with an error after which the transaction must be aborted, instead of taking effect or although it did. */
  | ({ readonly kind: 'refuse'; readonly request: 'commitTransactionOffsets' | 'endTransaction'; readonly tookEffect: boolean } & OnMachine)
  /** A member that is none of the application's workers reads one of its topics for a while: tasks lose one of their inputs. */
  | ({ readonly kind: 'stranger'; readonly input: number; readonly stayMs: number } & OnCluster)
  | ({ readonly kind: 'disk'; readonly error: DiskError; readonly times: number } & OnMachine)
  | ({ readonly kind: 'slowDisk'; readonly durationMs: number; readonly delayMsMax: number } & OnMachine)
  /** The wall clock of the machine jumps; intervals are not disturbed. */
  | ({ readonly kind: 'clockJump'; readonly byMs: number } & OnMachine)
  /** Asynchronous handlers of the machine take longer; `hung` ones go on long after their deadline, and write. */
  | ({ readonly kind: 'slowHandlers'; readonly hung: boolean; readonly delayMs: number; readonly times: number } & OnMachine)
  /** The cluster's log cleaner runs. */
  | ({ readonly kind: 'compact' } & OnCluster)
  /** From that time on, records that have been processed are deleted again and again, of the inputs and of repartition topics. */
  | ({ readonly kind: 'retention'; readonly everyMs: number } & OnCluster)
  /** Topics are deleted and made again under their names, so with other ids. */
  | ({ readonly kind: 'recreate'; readonly what: 'source' | 'changelog' } & OnCluster)
  /** All processes are away for so long that the group's offsets are forgotten. */
  | ({ readonly kind: 'expireOffsets'; readonly newDisks: boolean } & OnCluster);

export type FaultKind = PlannedFault['kind'];

export interface HistoryPlan {
  readonly seed: number;
  readonly scenario: string;
  readonly machines: number;
  readonly partitions: number;
  readonly worker: WorkerSettings;
  readonly cluster: ClusterSettings;
  readonly load: readonly PlannedRecord[];
  readonly faults: readonly PlannedFault[];
  /** When everything heals. */
  readonly durationMs: number;
  /** How long an asynchronous handler of a scenario waits at most, in milliseconds. Default 3. */
  readonly handlerPauseMsMax?: number;
}
