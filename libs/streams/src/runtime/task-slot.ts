/** One task of the sub-topologies as this worker sees it: there while all its inputs are owned, whether the task is open already or not. */
import type { TopicPartition } from '../core/record.js';
import type { SubTopology } from '../topology/topology.js';
import type { Hooks, TaskPhase } from './hooks.js';
import type { RestoreProgress } from './opening.js';
import { type Task, taskIdOf } from './task.js';

export class TaskSlot {
  readonly id: string;
  task: Task | undefined;
  progress: RestoreProgress = { done: 0, total: 0 };
  private current: TaskPhase = 'waiting';

  constructor(
    readonly subTopology: SubTopology,
    readonly partition: number,
    readonly inputs: readonly TopicPartition[],
    private readonly hooks: Hooks,
  ) {
    this.id = taskIdOf(subTopology, partition);
  }

  get phase(): TaskPhase {
    return this.current;
  }

  set phase(phase: TaskPhase) {
    if (phase === this.current) return;
    this.current = phase;
    this.hooks.taskPhase?.(this.id, phase);
  }
}
