/** One process on a machine, from its start to its end. What it does after it was killed reaches nobody. */
import { type CommitPoint, errorOf, type Hooks, type Logger, sleep, type StoreEngine, TallyError, type WorkerHealth } from '@tally/streams';
import { SimulatedBroker } from '../../broker/index.js';
import { ProcessClock } from '../../process-clock.js';
import type { RunningWorker } from './application.js';
import type { History } from './history.js';
import type { Machine } from './machine.js';
import { never } from './never.js';

export class SimulatedProcess {
  readonly clock: ProcessClock;
  readonly worker: RunningWorker;
  /** Between the freezing of an epoch and the outcome of its commit. */
  isCommitting = false;
  isStopping = false;
  /** It has joined its group. */
  hasRun = false;
  private readonly broker: SimulatedBroker;

  constructor(
    private readonly history: History,
    private readonly machine: Machine,
    private readonly onEnd: (error: Error | undefined) => void,
  ) {
    const { clock, cluster, plan } = history;
    const { handlerPauseMsMax = 3 } = plan;
    this.clock = new ProcessClock(clock, () => this.isAlive && machine.happens('await'));
    const { queueRecordsMax, callTimeoutMs } = plan.cluster;
    this.broker = new SimulatedBroker(cluster, {
      process: machine.name,
      clock: this.clock,
      callTimeoutMs,
      producer: { queueRecordsMax, callTimeoutMs: Math.min(callTimeoutMs, 1_000) },
    });
    this.worker = history.createWorker({
      applicationId: history.era.applicationId,
      broker: this.broker,
      storeEngine: this.storeEngine(),
      clock: this.clock,
      random: history.random,
      hooks: this.hooks(),
      logger: this.logger(),
      stateDirectory: `/${machine.name}`,
      hold: () => machine.hold(),
      pause: () => sleep(this.clock, history.draw.between(0, handlerPauseMsMax)),
    });
  }

  get isAlive(): boolean {
    return this.machine.process === this;
  }

  start(): void {
    const ended = (error: unknown): void => this.ended(errorOf(error));
    this.worker.start().catch(ended);
    this.worker.finished.catch(ended);
  }

  health(): WorkerHealth {
    return this.worker.health();
  }

  kill(): void {
    this.broker.crash();
    this.clock.kill();
  }

  /** As SIGSTOP, and SIGCONT after the time. */
  pause(durationMs: number): void {
    this.history.log(() => `${this.machine.name} is stopped for ${durationMs} ms`);
    this.clock.pause();
    this.history.clock.after(durationMs, () => this.resume());
  }

  resume(): void {
    if (!this.isAlive || this.clock.running) return;
    this.history.log(() => `${this.machine.name} goes on`);
    this.clock.resume();
  }

  get isPaused(): boolean {
    return !this.clock.running;
  }

  jumpWallClock(byMs: number): void {
    this.clock.jumpWallClock(byMs);
  }

  async stop(): Promise<void> {
    if (this.isStopping) return;
    this.isStopping = true;
    this.history.log(() => `${this.machine.name} is asked to stop`);
    try {
      await this.worker.stop();
    } catch (error) {
      // A bound passed, or the cluster did not answer: the process is ended, as whoever supervises it does.
      this.history.log(() => `${this.machine.name} fails to stop: ${errorOf(error).message}`);
    }
    if (this.isAlive) this.onEnd(undefined);
  }

  private ended(error: Error): void {
    if (!this.isAlive || this.isStopping) return;
    this.history.log(() => `${this.machine.name} ends by itself: ${error.message}`);
    // A start that the cluster did not answer is tried again.
    const isPatient = !this.hasRun && error instanceof TallyError && (error.kind === 'retriable' || error.code === 'BROKER_UNREACHABLE');
    this.onEnd(isPatient ? undefined : error);
  }

  /** The machine's disk, of which a process that was killed in the middle of a step gets nothing more. */
  private storeEngine(): StoreEngine {
    const { disk } = this.machine;
    const mayGoOn = (): boolean => this.isAlive && this.machine.happens('await');
    return {
      open: (directory) => (mayGoOn() ? disk.open(directory) : never()),
      destroy: (directory) => (mayGoOn() ? disk.destroy(directory) : never()),
    };
  }

  private hooks(): Hooks {
    const { history, machine } = this;
    const log = (line: () => string): void => {
      if (this.isAlive) history.log(() => `${machine.name} ${line()}`);
    };
    return {
      commitPoint: (point) => this.reach(point),
      batch: () => this.measure(),
      committed: ({ records, outputs }) => {
        this.isCommitting = false;
        log(() => `committed ${records} records, ${outputs} outputs`);
      },
      aborted: () => {
        this.isCommitting = false;
      },
      producerReplaced: () => {
        this.isCommitting = false;
      },
      rebuilt: (task, store, reason) => {
        if (this.isAlive) history.evidence.rebuilds.push({ machine: machine.name, task, store, reason });
      },
      workerPhase: (phase) => {
        this.hasRun ||= phase === 'running';
        log(() => `worker ${phase}`);
      },
      taskPhase: (task, phase) => log(() => `task ${task} ${phase}`),
      revoked: (partitions, lost) => log(() => `${lost ? 'lost' : 'revoked'} ${partitions.length} partitions`),
    };
  }

  private reach(point: CommitPoint): void | Promise<void> {
    if (!this.isAlive) return never();
    if (point === 'frozen') {
      this.isCommitting = true;
      this.measure();
    }
    if (!this.machine.happens(point)) return never();
    // Stopped here: it goes on from here.
    return this.isPaused ? sleep(this.clock, 0) : undefined;
  }

  private measure(): void {
    if (this.isAlive && this.history.options.measuresMemory)
      this.history.evidence.measure(this.machine.name, this.worker.health(), this.worker.options);
  }

  private logger(): Logger {
    const write = (message: string): void => {
      if (this.isAlive) this.history.log(() => `${this.machine.name}: ${message}`);
    };
    return { debug: write, info: write, warn: write, error: write };
  }
}
