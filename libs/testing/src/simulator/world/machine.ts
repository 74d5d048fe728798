/** One machine of a history: a disk that survives, and the process that runs on it, is killed, stopped and started again. */
import { sleep } from '@tally/streams';
import type { FaultAction, RequestName, SimulatedRequest } from '../../broker/index.js';
import type { ProcessClock } from '../../process-clock.js';
import type { Moment, ProcessEvent } from '../plan/plan.js';
import { Disk } from './disk.js';
import type { History } from './history.js';
import { SimulatedProcess } from './process.js';

/** A fault that waits for its moment. */
interface Armed {
  readonly when: Moment;
  left: number;
  readonly strike: () => void;
}

/** What becomes of the next requests of a name. */
interface RequestFault {
  readonly request: RequestName;
  readonly action: FaultAction;
  times: number;
  readonly fired: () => void;
}

/** How long whoever supervises a service waits before it starts one again that has ended by itself, in milliseconds. */
const restartMs = 200;

export class Machine {
  disk: Disk;
  /** Directories whose database was deleted. */
  readonly destroyed: string[] = [];
  process: SimulatedProcess | undefined;
  /** How many processes it has had. */
  starts = 0;
  /** Disk errors that its processes have met. */
  diskErrors = 0;
  reorderUntilMs = 0;
  reorderMsMax = 0;
  private cutOffUntilMs = 0;
  private armed: Armed[] = [];
  private requestFaults: RequestFault[] = [];
  private handlerFault: { readonly delayMs: number; times: number; readonly fired: () => void } | undefined;
  private readonly diskWriteMsMax: number;

  constructor(
    private readonly history: History,
    readonly name: string,
    /** It belongs to the plan, and is not only here for a storm. */
    readonly isPermanent: boolean,
  ) {
    this.diskWriteMsMax = history.draw.oneOf([0, 1, 5]);
    this.disk = this.newDisk();
  }

  private newDisk(): Disk {
    return new Disk(this, this.history.draw, this.diskWriteMsMax);
  }

  get clock(): ProcessClock | undefined {
    return this.process?.clock;
  }

  // ---- its processes ---------------------------------------------------------------------------------------------------------------

  start(): void {
    if (this.process !== undefined) return;
    this.history.log(() => `${this.name} starts`);
    this.starts += 1;
    const process = new SimulatedProcess(this.history, this, (error) => this.ended(process, error));
    this.process = process;
    process.start();
  }

  /** As SIGKILL and a power cut at once; started again after `downMs` where it is given. */
  crash(options: { readonly downMs?: number; readonly newDisk?: boolean } = {}): void {
    const { process } = this;
    if (process === undefined) return;
    this.history.log(() => `${this.name} is killed`);
    this.history.evidence.crashes += 1;
    this.process = undefined;
    process.kill();
    this.disk.crash();
    if (options.newDisk === true) this.replaceDisk();
    if (options.downMs !== undefined) this.startLater(options.downMs);
  }

  replaceDisk(): void {
    this.history.log(() => `${this.name} gets an empty disk`);
    this.disk = this.newDisk();
  }

  /** A graceful stop; started again after `downMs` where it is given. */
  async leave(downMs?: number): Promise<void> {
    const { process } = this;
    if (process === undefined || process.isPaused) return;
    await process.stop();
    if (downMs !== undefined && this.process === undefined) this.startLater(downMs);
  }

  /** A visitor does not come back. */
  private startLater(delayMs: number): void {
    if (!this.isPermanent) return;
    const { era } = this.history;
    this.history.clock.after(delayMs, () => {
      // In another era, or before one, somebody else decides what runs.
      if (this.history.era === era && !era.isEnding) this.start();
    });
  }

  /** @param error that it ended with by itself, where it did. */
  private ended(process: SimulatedProcess, error: Error | undefined): void {
    if (this.process !== process) return;
    this.process = undefined;
    process.kill();
    // What the process had open goes with it, as the lock of a process that has ended.
    this.disk.crash();
    if (process.isStopping) return;
    if (error === undefined || this.history.mayEndBy(this, error)) {
      this.startLater(restartMs);
    } else this.history.evidence.failures.push(`${this.name} ended by itself: ${error.message}`);
  }

  // ---- faults ----------------------------------------------------------------------------------------------------------------------

  /** Strikes when the moment has come, as soon as a process runs. */
  arm(when: Moment, strike: () => void): void {
    this.armed.push({ when, left: when.nth, strike });
  }

  /** Something happens to the process. @returns false when the process has ended of it. */
  happens(event: ProcessEvent): boolean {
    const { process } = this;
    if (process === undefined) return false;
    if (this.armed.length > 0) this.strikeArmed(event, process);
    return this.process === process;
  }

  private strikeArmed(event: ProcessEvent, process: SimulatedProcess): void {
    const nowMs = this.history.elapsedMs;
    const isPending = process.isCommitting || this.disk.writing > 0;
    for (const armed of this.armed.slice()) {
      const { on, afterMs } = armed.when;
      if (nowMs < afterMs || !(on === 'await' || on === event || (on === 'pending' && isPending))) continue;
      armed.left -= 1;
      if (armed.left > 0) continue;
      this.armed.splice(this.armed.indexOf(armed), 1);
      armed.strike();
      if (this.process !== process) return;
    }
  }

  /** The next requests of the name get the action. */
  faultNext(request: RequestName, action: FaultAction, times: number, fired: () => void): void {
    this.requestFaults.push({ request, action, times, fired });
  }

  cutOff(durationMs: number): void {
    this.cutOffUntilMs = this.history.elapsedMs + durationMs;
  }

  private get isCutOff(): boolean {
    return this.history.elapsedMs < this.cutOffUntilMs;
  }

  slowHandlers(delayMs: number, times: number, fired: () => void): void {
    this.handlerFault = { delayMs, times, fired };
  }

  /** Called before each asynchronous call of a handler. */
  hold(): Promise<void> | undefined {
    const { handlerFault: fault, clock } = this;
    if (fault === undefined || clock === undefined) return undefined;
    fault.times -= 1;
    if (fault.times <= 0) this.handlerFault = undefined;
    fault.fired();
    return sleep(clock, fault.delayMs);
  }

  /** Decides on a request that the process is about to send. */
  onRequest({ name }: SimulatedRequest): FaultAction | undefined {
    if (this.isCutOff || !this.happens(`request ${name}`)) return { lose: 'request' };
    // Cut off at this very moment: the request is on its way already.
    if (this.isCutOff) return { lose: 'answer' };
    const fault = this.requestFaults.find(({ request }) => request === name);
    if (fault !== undefined) {
      fault.times -= 1;
      if (fault.times === 0) this.requestFaults.splice(this.requestFaults.indexOf(fault), 1);
      fault.fired();
      return fault.action;
    }
    if (this.history.elapsedMs >= this.reorderUntilMs) return undefined;
    const { draw } = this.history;
    return { delayMs: draw.between(0, this.reorderMsMax), answerDelayMs: draw.between(0, this.reorderMsMax) };
  }

  /** Nothing goes wrong on it any more. */
  heal(): void {
    this.armed = [];
    this.requestFaults = [];
    this.handlerFault = undefined;
    this.reorderUntilMs = 0;
    this.cutOffUntilMs = 0;
    this.disk.heal();
    this.process?.resume();
  }
}
