import type { TaskHealth, WorkerHealth } from '@tally/streams';
import type { StreamsWorkerRef } from './streams-worker.ref.js';

export interface StreamsHealthDetails {
  readonly status: 'up' | 'down';
  /** Phase of the worker; `created` also before there is one. */
  readonly phase: WorkerHealth['phase'];
  readonly tasks: number;
  /** Tasks whose state is being restored, with their progress from 0 to 1. */
  readonly restoring: readonly RestoringTask[];
  /** Why the worker failed. */
  readonly message?: string;
}

export interface RestoringTask {
  readonly task: string;
  readonly progress: number;
  readonly restoredOffsets: number;
  readonly restoreOffsetsTotal: number;
}

/** The shape in which @nestjs/terminus expects results. */
export type StreamsHealthResult<Key extends string = string> = Readonly<Record<Key, StreamsHealthDetails>>;

/**
 * Health of an application's worker.
 * @example
 * ```ts
 * this.health.check([() => this.streams.isReady('streams')]);
 * ```
 */
export class StreamsHealthIndicator {
  constructor(private readonly worker: StreamsWorkerRef) {}

  /** For liveness probes: down when the worker has failed or its loop no longer turns. A worker that has not started yet is alive. */
  isLive<Key extends string>(key: Key): StreamsHealthResult<Key> {
    const health = this.worker.health();
    return result(key, health, health === undefined || (health.live && health.phase !== 'failed'));
  }

  /** For startup probes: up once the worker has reached the cluster and joined the group, whatever it has to restore then. */
  isStarted<Key extends string>(key: Key): StreamsHealthResult<Key> {
    const health = this.worker.health();
    return result(key, health, health !== undefined && startedPhases.has(health.phase));
  }

  /**
   * For readiness probes: up when the assigned tasks are restored and run. A worker that the group gives nothing is ready too, once it has waited for
   * that a few seconds.
   */
  isReady<Key extends string>(key: Key): StreamsHealthResult<Key> {
    const health = this.worker.health();
    return result(key, health, health !== undefined && health.ready && health.phase === 'running');
  }
}

const startedPhases: ReadonlySet<WorkerHealth['phase']> = new Set(['running', 'stopping', 'stopped']);

function result<Key extends string>(key: Key, health: WorkerHealth | undefined, isUp: boolean): StreamsHealthResult<Key> {
  const details: StreamsHealthDetails = {
    status: isUp ? 'up' : 'down',
    phase: health?.phase ?? 'created',
    tasks: health?.tasks.length ?? 0,
    restoring: (health?.tasks ?? []).filter(({ phase }) => phase === 'restoring').map(restoringTask),
    ...(health?.error === undefined ? {} : { message: health.error.message }),
  };
  return { [key]: details } as StreamsHealthResult<Key>;
}

function restoringTask({ id, restoredOffsets, restoreOffsetsTotal }: TaskHealth): RestoringTask {
  const progress = restoreOffsetsTotal === 0 ? 0 : Math.min(1, restoredOffsets / restoreOffsetsTotal);
  return { task: id, progress, restoredOffsets, restoreOffsetsTotal };
}
