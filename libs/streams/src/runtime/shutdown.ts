/** The end of a worker: a graceful stop, or leaving at once after a failure. */
import type { CommitCycle } from './commit-cycle.js';
import type { TaskEnvironment } from './environment.js';
import type { Lock } from './lock.js';
import type { Recovery } from './recovery.js';
import type { TaskManager } from './task-manager.js';
import type { Task } from './task.js';

export interface ShutdownSteps {
  /** Ends the loop; nothing runs on the consumer afterwards. */
  endLoop(): Promise<void>;
  closeClients(): Promise<void>;
}

/** Pause between looks at what is still in hand, in milliseconds. */
const lookPauseMs = 5;

export class Shutdown {
  constructor(
    private readonly environment: TaskEnvironment,
    private readonly lock: Lock,
    private readonly cycle: CommitCycle,
    private readonly recovery: Recovery,
    private readonly tasks: TaskManager,
    private readonly steps: ShutdownSteps,
  ) {}

  /** Finishes, commits, flushes and leaves. */
  async stop(drainUntilMs: number): Promise<void> {
    try {
      await this.lock.run(() => this.finish(drainUntilMs));
    } finally {
      // Whatever went wrong: a worker that stops must not keep its partitions.
      await this.close();
    }
  }

  /** Leaves without a commit. */
  async abandon(): Promise<void> {
    this.tasks.halt(this.tasks.all);
    await this.cycle.settled();
    await this.close();
  }

  private async finish(drainUntilMs: number): Promise<void> {
    this.tasks.drainAll();
    while (this.inHand() > 0 && this.cycle.failure === undefined && this.environment.clock.monotonicMs() < drainUntilMs) {
      this.makeRoom();
      await this.pause();
    }
    await this.settle();
    // Not those that were lost meanwhile: somebody else owns them.
    const tasks = new Set(this.tasks.running.filter((task) => !task.isDraining));
    for (const task of tasks) if (task.positionBehind || task.state.bytes.committed > 0) this.cycle.open.tasks.add(task);
    if (!this.cycle.open.isEmpty && !this.cycle.isSuspended) {
      this.cycle.start(tasks);
      await this.settle();
    }
    await this.cycle.flushed();
  }

  /** The loop commits nothing more, and what is still to be processed may need more memory than there is. */
  private makeRoom(): void {
    const { cycle, environment } = this;
    if (environment.isNearlyFull && !cycle.isCommitting && !cycle.isSuspended && !cycle.open.isEmpty) cycle.start();
  }

  private async settle(): Promise<void> {
    await this.cycle.settled();
    await this.recovery.run();
    // A rollback has rewound the inputs; what they would bring now is left to a successor.
    this.tasks.drainAll();
  }

  private inHand(): number {
    return this.tasks.running.reduce((sum, task) => sum + (task.dispatcher.isHalted ? 0 : this.inHandOf(task)), 0);
  }

  /** At most once has committed what is queued, so it is processed too; of all others only what can still join counts. */
  private inHandOf({ dispatcher, inputs }: Task): number {
    if (this.environment.options.guarantee === 'at-most-once')
      return dispatcher.inHand + inputs.reduce((sum, input) => sum + input.length, 0);
    return dispatcher.canDrain ? dispatcher.inHand : 0;
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => {
      this.environment.clock.after(lookPauseMs, resolve);
    });
  }

  private async close(): Promise<void> {
    this.tasks.halt(this.tasks.all.filter(({ task }) => task === undefined));
    await this.tasks.openingsEnded();
    await this.lock.run(async () => {
      await this.steps.endLoop();
      await this.tasks.closeAll('the worker has stopped');
      await this.steps.closeClients();
    });
  }
}
