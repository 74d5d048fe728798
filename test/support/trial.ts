/** One application under test: its topics, its worker processes with a disk each, its load, and the comparison of what came out with the model. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsumedRecord, WorkerOptions } from '@tally/streams';
import type { TestContext } from 'vitest';
import { kafkaAddresses } from '../kafka-setting.js';
import { Cluster } from './cluster.js';
import { flushedPositions } from './disk.js';
import { Load } from './load.js';
import { TotalsModel, differences, lastTotals, sequencesOf } from './model.js';
import { type Plan, WorkerProcess, partitionOf } from './workers.js';

export interface TrialOptions {
  /** One of those in `topologies.mjs`, or in the module named next. */
  readonly topology: string;
  /** URL of another module of topologies. */
  readonly topologies?: string;
  /** More names that the topology wants to know, by role. */
  readonly names?: Readonly<Record<string, string>>;
  /** Roles of the topology's input topics. Default `['input']`. */
  readonly inputs?: readonly string[];
  /** Default 4. */
  readonly partitions?: number;
  /** Default 400. */
  readonly keys?: number;
  readonly options?: Partial<WorkerOptions>;
  /** More options of the workers' client. */
  readonly client?: Readonly<Record<string, unknown>>;
  /** Default: the cluster that all suites share. */
  readonly cluster?: string;
  /** Addresses that the workers use. Default: those of the cluster. */
  readonly brokers?: string;
}

/** What a process runs in the place of the trial's topology and names: a later deployment. */
export interface Deployment {
  readonly topology?: string;
  readonly names?: Readonly<Record<string, string>>;
}

export const store = 'totals';
const settledPatienceMs = 90_000;
const pollMs = 100;

export class Trial {
  readonly model = new TotalsModel();
  /** All processes that were ever started, in that order. */
  readonly processes: WorkerProcess[] = [];
  readonly partitions: number;
  readonly topics: Readonly<Record<string, string>>;
  readonly inputs: readonly string[];
  private readonly directory = mkdtempSync(join(tmpdir(), 'tally-trial-'));

  private constructor(
    readonly applicationId: string,
    readonly cluster: Cluster,
    private readonly options: TrialOptions,
    private loading: Load | undefined,
  ) {
    this.partitions = options.partitions ?? 4;
    const roles = options.inputs ?? ['input'];
    this.topics = Object.fromEntries([...roles, 'output'].map((role) => [role, `${applicationId}-${role}`]));
    this.inputs = roles.map((role) => `${applicationId}-${role}`);
  }

  static async begin(name: string, options: TrialOptions): Promise<Trial> {
    const cluster = await Cluster.connect(options.cluster ?? kafkaAddresses());
    const applicationId = `${name}-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`;
    const trial = new Trial(applicationId, cluster, options, undefined);
    // The records' timestamps count from a fixed date, long past any retention.
    for (const topic of Object.values(trial.topics)) await cluster.createTopic(topic, trial.partitions, { 'retention.ms': '-1' });
    const load = { topics: trial.inputs, partitions: trial.partitions, ...(options.keys === undefined ? {} : { keys: options.keys }) };
    trial.loading = await Load.connect(cluster, load, trial.model);
    return trial;
  }

  get load(): Load {
    if (this.loading === undefined) throw new Error('The trial has no load yet.');
    return this.loading;
  }

  get output(): string {
    return this.topics['output'] ?? '';
  }

  get changelog(): string {
    return `${this.applicationId}-${store}-changelog`;
  }

  // ---- processes -------------------------------------------------------------------------------------------------------------------

  /** Starts a process on the disk of this name; what ran there before is gone by then. */
  start(name: string, plans: readonly Plan[] = [], options: Partial<WorkerOptions> = {}, other: Deployment = {}): WorkerProcess {
    const process = new WorkerProcess({
      name,
      brokers: this.options.brokers ?? this.cluster.brokers,
      topology: other.topology ?? this.options.topology,
      ...(this.options.topologies === undefined ? {} : { topologies: this.options.topologies }),
      topics: { ...this.topics, ...this.options.names, ...other.names },
      options: { applicationId: this.applicationId, stateDirectory: this.disk(name), ...this.options.options, ...options },
      ...(this.options.client === undefined ? {} : { client: this.options.client }),
      plans,
    });
    this.processes.push(process);
    return process;
  }

  /** Starts processes until each has its share of running tasks. */
  async startAll(...names: readonly string[]): Promise<readonly WorkerProcess[]> {
    const started = names.map((name) => this.start(name));
    await this.allRunning();
    const share = Math.floor(this.partitions / started.length);
    for (const process of started) await process.until('it has its share of tasks', () => process.tasksIn('running').length >= share);
    return started;
  }

  private disk(name: string): string {
    return join(this.directory, name);
  }

  get alive(): readonly WorkerProcess[] {
    return this.processes.filter(({ isAlive, isExpectedToEnd }) => isAlive && !isExpectedToEnd);
  }

  /** Resolves when each task runs on exactly one living process. */
  allRunning(): Promise<void> {
    return this.until('each task runs somewhere', () => {
      const running = this.alive.flatMap((process) => process.tasksIn('running'));
      return running.length === this.partitions && new Set(running).size === this.partitions ? [] : [`running: ${running.join(' ')}`];
    });
  }

  /** Waits until nothing is left of what speaks against it. @throws with the last of it, and what the processes reported */
  private async until(what: string, against: () => readonly string[] | Promise<readonly string[]>): Promise<void> {
    const untilMs = Date.now() + settledPatienceMs;
    for (;;) {
      const reasons = await against();
      if (reasons.length === 0) return;
      const gone = this.processes.find(({ isAlive, isExpectedToEnd }) => !isAlive && !isExpectedToEnd);
      if (gone !== undefined) throw new Error(`${gone.name} ended by itself (${gone.ended}).\n${gone.describe()}`);
      if (Date.now() > untilMs) throw new Error(`Waited in vain until ${what}: ${reasons.join(', ')}.\n${this.describe()}`);
      await sleep(pollMs);
    }
  }

  describe(): string {
    return this.processes.map((process) => `${process.name} (${process.ended ?? 'alive'}):\n${process.describe()}`).join('\n');
  }

  // ---- what came out ---------------------------------------------------------------------------------------------------------------

  /** Resolves when the broker holds changelog records of one of the tasks in a transaction that is open. */
  holdsTransaction(tasks: readonly string[]): Promise<void> {
    const changelogs = tasks.map((task) => ({ topic: this.changelog, partition: partitionOf(task) }));
    return this.until('the broker holds an open transaction', async () =>
      (await this.cluster.inTransaction(changelogs)).length > 0 ? [] : ['there is none'],
    );
  }

  /** Resolves when all that was sent has been processed and committed, no transaction is open, and each task runs. */
  async settled(): Promise<void> {
    await this.until('everything is processed', () =>
      this.cluster.unfinished(this.applicationId, this.inputs, [this.output, this.changelog]),
    );
    await this.allRunning();
  }

  /** The read_committed output, by key. */
  async outputs(): Promise<ReadonlyMap<string, readonly string[]>> {
    return sequencesOf(await this.cluster.read(this.output));
  }

  /** The union of what the living processes answer, once each partition is on exactly one of them: a member may be late and lose its own. */
  async state(): Promise<ReadonlyMap<string, string>> {
    let state: ReadonlyMap<string, string> = new Map();
    await this.until('each partition is answered for once', async () => {
      const contents = await Promise.all(this.alive.map((process) => process.queryAll(store)));
      state = new Map(contents.flatMap(({ entries }) => entries));
      const answered = contents.flatMap(({ partitions }) => partitions);
      return answered.length === this.partitions && new Set(answered).size === this.partitions ? [] : [`answered: ${answered.join(' ')}`];
    });
    return state;
  }

  /** Differences between model and output, changelog and queried state; and whatever no process may ever report. */
  async problems(): Promise<readonly string[]> {
    return [...differences('output', this.model.outputs(), await this.outputs()), ...(await this.stateProblems()), ...this.misbehaviour()];
  }

  /** Differences between the totals and changelog and queried state. */
  async stateProblems(totals: ReadonlyMap<string, string> = this.model.totals()): Promise<readonly string[]> {
    const changelog = lastTotals(await this.cluster.read(this.changelog));
    return [...differences('changelog', totals, changelog), ...differences('state', totals, await this.state())];
  }

  /** State that was wiped, records that failed, workers that stopped by themselves. */
  misbehaviour(): readonly string[] {
    return this.processes.flatMap((process) =>
      process.events
        .filter(({ event }) => event === 'rebuilt' || event === 'failed' || event === 'recordFailed')
        .map((event) => `${process.name} reported ${JSON.stringify(event)}`),
    );
  }

  // ---- replays ---------------------------------------------------------------------------------------------------------------------

  /** Changelog positions on the disk of a process that is gone, by partition. */
  flushedPositions(name: string): Promise<ReadonlyMap<number, number>> {
    return flushedPositions(this.disk(name), this.applicationId, store);
  }

  changelogRecords(): Promise<readonly ConsumedRecord[]> {
    return this.cluster.read(this.changelog);
  }

  async end(): Promise<void> {
    for (const process of this.processes) {
      process.resume();
      if (process.isAlive) await process.kill();
    }
    await this.loading?.close();
    await this.cluster.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** For `afterEach`: ends the trial, and shows what its processes reported when the test has failed, by running out of time too. */
export async function endTrial(trial: Trial | undefined, { task }: TestContext): Promise<void> {
  if (task.result?.state === 'fail' && trial !== undefined) console.error(trial.describe());
  await trial?.end();
}
