/** What the tasks of one worker share. */
import type { Clock } from '../core/clock.js';
import type { Topology } from '../topology/topology.js';
import type { Destinations } from './destinations.js';
import type { Epoch } from './epoch.js';
import type { FailureCounts } from './failure.js';
import type { GlobalStores } from './global-stores.js';
import type { Hooks, Logger } from './hooks.js';
import type { ResolvedOptions } from './options.js';
import type { Refusals } from './refusals.js';
import type { Statistics } from './statistics.js';
import type { Task } from './task.js';
import type { WorkerCounters } from './worker.js';

export type Counters = { -readonly [name in keyof WorkerCounters]: WorkerCounters[name] };

export interface TaskEnvironment {
  readonly options: ResolvedOptions;
  readonly topology: Topology;
  readonly clock: Clock;
  readonly hooks: Hooks;
  readonly logger: Logger;
  readonly counters: Counters;
  readonly statistics: Statistics;
  readonly failures: FailureCounts;
  readonly refusals: Refusals;
  readonly destinations: Destinations;
  readonly globals: Pick<GlobalStores, 'reader'>;
  /** Wall-clock time, read once per turn of the loop. */
  readonly nowMs: number;
  /** The open epoch. */
  readonly epoch: Epoch;
  /** Buffers are half full: flushes do not wait for their interval. */
  readonly isNearlyFull: boolean;
  /** When a graceful stop must be over, on the monotonic clock; Infinity while none is under way. */
  readonly stopByMs: number;
  /** Shutdown has begun. */
  readonly isStopping: boolean;
  /** May the task process one more record now? No while memory is at its bound, or while a culprit is searched and its share is done. */
  admits(task: Task): boolean;
  /** May a unit of the task that has ended join the open epoch? Not while a culprit is searched and the epoch is full or another suspect's. */
  mayJoin(task: Task): boolean;
  /** A unit of the task has joined the open epoch. */
  joined(task: Task): void;
  /** Lets the loop turn soon. */
  wake(): void;
  wakeAfter(delayMs: number): void;
  /** The task's database is corrupt: the task is closed, its database deleted and replayed from the changelogs. */
  stateDamaged(task: Task, error: Error): void;
  /** Stops the worker with this error. */
  fail(error: Error): void;
}
