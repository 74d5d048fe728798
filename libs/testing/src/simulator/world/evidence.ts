/** What a history leaves for its checkers. */
import type { ConsumedRecord, ResolvedOptions, WorkerHealth } from '@tally/streams';
import type { OffsetCommit } from '../../broker/index.js';
import type { HistoryPlan } from '../plan/plan.js';
import type { InputRecord } from '../scenarios/scenario.js';

/** Time under one application id. A new one begins where a person had to start anew. */
export interface EraEvidence {
  readonly applicationId: string;
  /** Each partition in order. */
  readonly inputs: readonly InputRecord[];
  /** What was committed in this era, by topic; each partition in order. */
  readonly outputs: ReadonlyMap<string, readonly ConsumedRecord[]>;
  /** Everything has been processed; else what is there is some beginning. */
  readonly complete: boolean;
}

export interface Rebuild {
  readonly machine: string;
  readonly task: string;
  readonly store: string;
  readonly reason: string;
}

/** A store's contents: by key, the text of its value. */
export type StoreContents = ReadonlyMap<string, ReadonlyMap<string, string>>;

export class Evidence {
  readonly fired = new Map<string, number>();
  readonly rebuilds: Rebuild[] = [];
  /** Databases that were deleted, as `<machine> <directory>`. */
  readonly destroyed: string[] = [];
  /** Why a store may have been emptied: what happened to machines and topics. */
  readonly reasonsToRebuild = new Set<string>();
  /** Workers that ended by themselves without a reason to. */
  readonly failures: string[] = [];
  /** What never came to an end after everything had healed. */
  stuck: string | undefined;
  readonly overflows = new Set<string>();
  portViolations: readonly string[] = [];
  offsetCommits: readonly OffsetCommit[] = [];
  readonly eras: EraEvidence[] = [];
  /** What running workers answered, and tasks that two of them hold. */
  queried: StoreContents | undefined;
  /** The same as they are, by store. */
  readonly entries = new Map<string, Map<unknown, unknown>>();
  readonly heldTwice: string[] = [];
  /** Folded from the changelogs. */
  changelogs: StoreContents | undefined;
  /** Disks that do not agree with the changelog when what is behind their position is replayed. */
  readonly disksAstray: string[] = [];
  crashes = 0;
  records = 0;
  /** Commits of the task with the fewest. */
  commitsMin = 0;

  constructor(
    readonly plan: HistoryPlan,
    /** Committed records of any topic, as they lie there in the end; each partition in order. */
    readonly recordsOf: (topic: string) => readonly ConsumedRecord[],
  ) {}

  count(label: string): void {
    this.fired.set(label, (this.fired.get(label) ?? 0) + 1);
  }

  /** Compares what a worker holds in memory with its bounds. */
  measure(machine: string, { memory, tasks }: WorkerHealth, options: ResolvedOptions): void {
    const check = (what: string, actual: number, bound: number): void => {
      if (actual > bound) this.overflows.add(`${machine} holds ${actual} ${what}, more than ${bound}`);
    };
    const inputs = Math.max(1, tasks.length) * inputsPerTaskMax;
    // The record that passes the bound is the last one taken.
    check('buffered bytes', memory.bufferedBytes, options.bufferBytesMax + largestRecordBytes);
    // Each task's share is a whole number of bytes, and one entry is kept even where it is larger.
    check('cached bytes', memory.cachedBytes, options.cacheBytesMax + tasks.length * largestRecordBytes);
    check('queued records', memory.queuedRecords, inputs * options.recordsPerConsume * batchesPerInputMax);
  }
}

const inputsPerTaskMax = 2;
/** A queue is paused behind its eighth batch, when one more is under way already. */
const batchesPerInputMax = 10;
/** Of all scenarios: a large document as a store's entry and as outputs, with what they cost beside their bytes. */
const largestRecordBytes = 100_000;
