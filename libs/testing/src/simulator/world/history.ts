/**
 * Runs one plan: machines over a simulated cluster, records that arrive while they run, and faults. In the end everything heals, and what
 * was written and is held is collected for the checkers.
 */
import { type Random, seededRandom, TallyError } from '@tally/streams';
import { type FaultRule, SimulatedCluster } from '../../broker/index.js';
import { EndlessRunError, VirtualClock } from '../../virtual-clock.js';
import { armFault } from '../faults/index.js';
import { Draw } from '../plan/draw.js';
import type { HistoryPlan } from '../plan/plan.js';
import type { CreateWorker } from './application.js';
import { collect } from './collect.js';
import { Era } from './era.js';
import { Evidence } from './evidence.js';
import { InputLog } from './input-log.js';
import { Load } from './load.js';
import { Machine } from './machine.js';
import type { Setting } from './setting.js';

/** After everything has healed, this time may pass without any progress, and no more: transactions of killed processes must have timed out. */
const standstillMsMax = 30_000;
/** A history takes some ten thousands; a worker that goes round without end would take ever more, in hardly any time of the history. */
const timersMax = 1_000_000;
const lookIntervalMs = 50;
const quietLimitMs = 5_000;
/** What the cluster knows, the workers hear of a little later. */
const calmMs = 400;

export interface RunOptions {
  /** Collects lines. */
  readonly traces: boolean;
  /** Looks at changelogs and disks in the end. */
  readonly comparesDisks: boolean;
  /** Compares what workers hold in memory with their bounds, at each batch and commit. */
  readonly measuresMemory: boolean;
}

const defaults: RunOptions = { traces: false, comparesDisks: true, measuresMemory: true };

/** When every history begins, in milliseconds since the epoch. */
export const historyStartMs = Date.UTC(2026, 0, 1);

export class History {
  readonly options: RunOptions;
  readonly clock = new VirtualClock({ startMs: historyStartMs, timersMax });
  /** Wall-clock time at the start. */
  readonly startMs = historyStartMs;
  readonly random: Random;
  readonly draw: Draw;
  readonly cluster: SimulatedCluster;
  readonly evidence: Evidence;
  readonly machines: Machine[] = [];
  readonly lines: string[] = [];
  readonly load: Load;
  readonly inputLog = new InputLog();
  era: Era;
  isHealing = false;
  private visitors = 0;

  constructor(
    readonly plan: HistoryPlan,
    readonly setting: Setting,
    options: Partial<RunOptions> = {},
  ) {
    const { cluster, seed } = plan;
    this.options = { ...defaults, ...options };
    this.random = seededRandom(seed ^ 0x5eed);
    this.draw = new Draw(seededRandom(seed ^ 0xd1ce));
    this.cluster = new SimulatedCluster({
      clock: this.clock,
      random: this.random,
      latency: { minMs: 0.1, maxMs: cluster.latencyMsMax },
      markerDelay: { minMs: 0.1, maxMs: cluster.markerDelayMsMax },
      sessionTimeoutMs: cluster.sessionTimeoutMs,
      heartbeatIntervalMs: cluster.heartbeatIntervalMs,
      transactionSweepIntervalMs: cluster.transactionSweepIntervalMs,
      recordsOffsetCommits: true,
      partitionsOfUnknown: (topic) => (this.isInternal(topic) ? undefined : setting.partitionsOfUnknown),
      ...(this.options.traces ? { trace: (line: string) => this.lines.push(line) } : {}),
    });
    this.evidence = new Evidence(plan, (topic) => this.cluster.allRecords(topic));
    for (const { name, partitions, config } of setting.topics) this.cluster.createTopic(name, partitions, config);
    this.era = new Era(this, 1);
    this.load = new Load(this, plan.load);
    this.cluster.faults.add(this.requestRule());
  }

  /** Repartition topics and changelogs of the application, in whatever era. */
  isInternal(topic: string): boolean {
    return topic.startsWith(`${this.setting.applicationId}-`) && /-(repartition|changelog)$/.test(topic);
  }

  get createWorker(): CreateWorker {
    return this.setting.createWorker;
  }

  get elapsedMs(): number {
    return this.clock.monotonicMs();
  }

  readonly log = (line: () => string): void => {
    if (this.options.traces) this.lines.push(`${this.clock.monotonicMs()} ${line()}`);
  };

  /** A fault has taken effect. */
  fired(label: string): void {
    this.log(() => `fault: ${label}`);
    this.evidence.count(label);
  }

  async run(): Promise<Evidence> {
    try {
      await this.runToEnd();
    } catch (error) {
      if (!(error instanceof EndlessRunError)) throw error;
      this.evidence.stuck = `something goes round without end: ${error.message}`;
      this.evidence.eras.push(this.era.evidence(false));
    }
    return this.evidence;
  }

  private async runToEnd(): Promise<void> {
    const { plan, clock } = this;
    for (let index = 0; index < plan.machines; index += 1) this.addMachine(`machine-${index}`, true).start();
    for (const fault of plan.faults) armFault(this, fault);
    this.load.start();
    await clock.advance(plan.durationMs);
    await this.awaitCrash();
    await this.heal();
    if (this.isSound && this.load.appendLast()) await this.settle();
    if (this.isSound) await this.awaitQuiet();
    await collect(this);
  }

  addMachine(name: string, isPermanent: boolean): Machine {
    const machine = new Machine(this, name, isPermanent);
    this.machines.push(machine);
    return machine;
  }

  /** A machine that comes and goes. */
  addVisitor(): Machine {
    this.visitors += 1;
    return this.addMachine(`visitor-${this.visitors}`, false);
  }

  get permanentMachines(): readonly Machine[] {
    return this.machines.filter((machine) => machine.isPermanent);
  }

  /** Ends all that runs and starts anew, under another application id. */
  async beginEra(): Promise<void> {
    await this.era.end();
    this.evidence.eras.push(this.era.evidence(false));
    this.era = new Era(this, this.era.number + 1);
    this.load.resume();
    this.era.goOn();
  }

  /** Whether a worker on the machine may end by itself with the error, after what has happened. */
  mayEndBy(machine: Machine, error: Error): boolean {
    if (!(error instanceof TallyError)) return false;
    if (machine.diskErrors > 0 && ['STATE_DISK_FULL', 'STATE_UNWRITABLE', 'STATE_CORRUPT'].includes(error.code)) return true;
    // Initialisations that a process before it had given up on look like a rival when they come late.
    if (error.code === 'TRANSACTIONAL_ID_IN_USE' && machine.starts > 1 && this.cluster.faults.lateRequests > 1) return true;
    return this.era.takes(error.code);
  }

  private requestRule(): FaultRule {
    const byName = new Map<string, Machine>();
    return (request) => {
      let machine = byName.get(request.process);
      if (machine === undefined) {
        machine = this.machines.find(({ name }) => name === request.process);
        if (machine === undefined) return undefined;
        byName.set(request.process, machine);
      }
      return machine.onRequest(request);
    };
  }

  // ---- the end ---------------------------------------------------------------------------------------------------------------------

  /** A crash that waits for a process to run, as after a long pause, happens before everything heals. */
  private async awaitCrash(): Promise<void> {
    if (!this.plan.faults.some(({ kind }) => kind === 'kill')) return;
    const endMs = this.elapsedMs + standstillMsMax;
    while (this.evidence.crashes === 0 && this.elapsedMs < endMs) await this.clock.advance(lookIntervalMs);
  }

  /** Ends the faults, lets everything run again, and waits until all is done. */
  private async heal(): Promise<void> {
    this.log(() => 'everything heals');
    this.isHealing = true;
    this.cluster.start();
    for (const machine of this.machines) machine.heal();
    await this.settle();
  }

  /** Nothing has been found to have gone wrong so far. */
  get isSound(): boolean {
    return this.evidence.stuck === undefined && this.evidence.failures.length === 0;
  }

  private async settle(): Promise<void> {
    let progressMs = this.elapsedMs;
    let lagMin = Number.POSITIVE_INFINITY;
    let calmSinceMs = Number.POSITIVE_INFINITY;
    while (this.elapsedMs - calmSinceMs < calmMs) {
      this.runWhatShould();
      await this.clock.advance(lookIntervalMs);
      const isDone = this.isDone();
      if (!isDone) calmSinceMs = Number.POSITIVE_INFINITY;
      else if (calmSinceMs === Number.POSITIVE_INFINITY) calmSinceMs = this.elapsedMs;
      if (this.evidence.failures.length > 0) return;
      const lag = this.era.lag();
      // While a person ends everything nothing can go on.
      if (lag < lagMin || this.era.isEnding) {
        lagMin = this.era.isEnding ? Number.POSITIVE_INFINITY : lag;
        progressMs = this.elapsedMs;
      }
      if (this.elapsedMs - progressMs < standstillMsMax) continue;
      this.evidence.stuck = this.whatIsMissing();
      return;
    }
  }

  /** Waits for the moment when all that workers have done is committed. Where punctuators write again and again there may be none. */
  private async awaitQuiet(): Promise<void> {
    const endMs = this.elapsedMs + quietLimitMs;
    const isQuiet = (): boolean => this.machines.every(({ process }) => process === undefined || process.worker.isSettled);
    while (!isQuiet() && this.elapsedMs < endMs) await this.clock.advance(1);
  }

  private runWhatShould(): void {
    for (const machine of this.machines) {
      if (machine.process === undefined) {
        if (machine.isPermanent && !this.era.isEnding) machine.start();
      } else if (!machine.isPermanent && !machine.process.isStopping) void machine.leave();
    }
  }

  private isDone(): boolean {
    return this.load.isDone && !this.era.isEnding && !this.era.awaitsRefusal && this.era.lag() === 0 && this.allRun();
  }

  /** Every task runs, once, and nowhere else. */
  private allRun(): boolean {
    if (this.machines.some(({ isPermanent, process }) => !isPermanent && process !== undefined)) return false;
    if (this.permanentMachines.some(({ process }) => process === undefined || process.isStopping || !process.hasRun)) return false;
    const tasks = this.permanentMachines.flatMap(({ process }) => process?.health().tasks ?? []);
    return tasks.length === this.era.taskCount() && tasks.every(({ phase }) => phase === 'running');
  }

  private whatIsMissing(): string {
    const tasks = this.machines.flatMap(({ name, process }) =>
      (process?.health().tasks ?? []).map(({ id, phase }) => `${name} ${id} ${phase}`),
    );
    const parts = [
      this.load.isDone ? '' : 'the load has not ended',
      this.era.isEnding ? 'a new era was to begin' : '',
      this.era.awaitsRefusal ? 'no worker refuses to go on with what means nothing any more' : '',
      this.era.whatIsMissing(),
      this.allRun() ? '' : `of ${this.era.taskCount()} tasks there are: ${tasks.join(', ') || 'none'}`,
    ];
    return parts.filter((part) => part !== '').join('; ');
  }
}
