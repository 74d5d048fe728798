/** Worker processes under test: started, watched, stopped, killed, suspended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type {
  CommitPoint,
  CommitReport,
  TaskPhase,
  TopicPartition,
  WorkerCounters,
  WorkerHealth,
  WorkerOptions,
  WorkerPhase,
} from '@tally/streams';
import { recommendedThreadPoolSize } from '@tally/kafka';

const entry = fileURLToPath(new URL('worker-process.mjs', import.meta.url));
const builtInTopologies = new URL('topologies.mjs', import.meta.url).href;

/** What is to happen at a pass of a point of the commit; `killSoon`: when the step behind the point has begun. */
export interface Plan {
  readonly action: 'kill' | 'killSoon' | 'hold';
  readonly point: CommitPoint;
  /** 1: the next one. */
  readonly passes: number;
}

export interface ShownError {
  readonly code: string | undefined;
  readonly message: string;
}

export type WorkerEvent = { readonly atMs: number } & (
  | { readonly event: 'phase'; readonly phase: WorkerPhase; readonly reason?: ShownError }
  | { readonly event: 'task'; readonly task: string; readonly phase: TaskPhase }
  | { readonly event: 'point'; readonly point: CommitPoint; readonly epoch: number }
  | { readonly event: 'fired'; readonly action: Plan['action']; readonly point: CommitPoint; readonly epoch: number }
  | ({ readonly event: 'committed'; readonly counters: WorkerCounters } & CommitReport)
  | { readonly event: 'aborted'; readonly reason: ShownError }
  | { readonly event: 'producerReplaced'; readonly reason: ShownError }
  | { readonly event: 'failed'; readonly reason: ShownError }
  | { readonly event: 'assigned'; readonly partitions: readonly TopicPartition[] }
  | { readonly event: 'revoked'; readonly partitions: readonly TopicPartition[]; readonly lost: boolean }
  | { readonly event: 'restored'; readonly task: string; readonly store: string; readonly records: number; readonly durationMs: number }
  | { readonly event: 'rebuilt'; readonly task: string; readonly store: string; readonly reason: string }
  | { readonly event: 'flushed'; readonly task: string; readonly epoch: number }
  | {
      readonly event: 'recordFailed';
      readonly place: TopicPartition & { readonly offset: number };
      readonly error: ShownError;
      readonly outcome: string;
    }
  | { readonly event: 'log'; readonly level: string; readonly message: string }
  | { readonly event: 'answer'; readonly id: number; readonly value?: unknown; readonly error?: ShownError }
);

export type EventOf<Name extends WorkerEvent['event']> = Extract<WorkerEvent, { readonly event: Name }>;

export interface WorkerConfiguration {
  readonly name: string;
  readonly brokers: string;
  readonly topology: string;
  /** URL of the module that holds the topology. Default: `topologies.mjs`. */
  readonly topologies?: string;
  readonly topics: Readonly<Record<string, string>>;
  readonly options: WorkerOptions;
  /** More options of the broker's client. */
  readonly client?: Readonly<Record<string, unknown>>;
  readonly plans?: readonly Plan[];
}

export interface StoreContent {
  readonly entries: readonly (readonly [key: string, value: string])[];
  readonly partitions: readonly number[];
}

/** How long an event is waited for before the test fails, in milliseconds: far beyond anything that is right, on a busy machine too. */
const patienceMs = 60_000;
const shownEvents = 60;
const shownPoints = 12;

/** A task's name ends with its partition. */
export const partitionOf = (task: string): number => Number(task.slice(task.lastIndexOf('/') + 1));

/** One process. It is started once: what runs after a kill is another one with the same configuration. */
export class WorkerProcess {
  readonly events: WorkerEvent[] = [];
  /** How the process ended: its code or signal. */
  ended: number | NodeJS.Signals | undefined;
  endedAtMs = 0;
  /** The test has ended it, or wants it to end. */
  isExpectedToEnd = false;
  private readonly child: ChildProcess;
  private readonly exit: Promise<void>;
  private readonly waiting = new Set<() => void>();
  private errorOutput = '';
  private nextId = 1;

  constructor(readonly configuration: WorkerConfiguration) {
    const text = JSON.stringify({ topologies: builtInTopologies, ...configuration });
    this.child = spawn(process.execPath, [entry, text], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, UV_THREADPOOL_SIZE: String(recommendedThreadPoolSize) },
    });
    this.child.stderr?.on('data', (chunk: Buffer) => void (this.errorOutput = (this.errorOutput + chunk.toString()).slice(-4_000)));
    // A command to a process that has just been killed goes nowhere.
    this.child.stdin?.on('error', () => {});
    if (this.child.stdout !== null) {
      createInterface({ input: this.child.stdout }).on('line', (line) => {
        this.events.push(JSON.parse(line) as WorkerEvent);
        this.wake();
      });
    }
    this.exit = new Promise((resolve) => {
      // `close`, not `exit`: by then everything that it reported has been read.
      this.child.once('close', (code, signal) => {
        this.ended = signal ?? code ?? undefined;
        this.endedAtMs = Date.now();
        this.wake();
        resolve();
      });
    });
  }

  get name(): string {
    return this.configuration.name;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isAlive(): boolean {
    return this.ended === undefined;
  }

  private wake(): void {
    for (const check of this.waiting) check();
  }

  // ---- what it reported ------------------------------------------------------------------------------------------------------------

  of<Name extends WorkerEvent['event']>(name: Name, from = 0): EventOf<Name>[] {
    return this.events.slice(from).filter((event): event is EventOf<Name> => event.event === name);
  }

  /** Position behind the last event: to look at later ones only. */
  get mark(): number {
    return this.events.length;
  }

  /** Tasks by their phase, as of the last event. */
  tasksIn(phase: TaskPhase): string[] {
    const phases = new Map<string, TaskPhase>();
    for (const event of this.events) if (event.event === 'task') phases.set(event.task, event.phase);
    return [...phases].flatMap(([task, at]) => (at === phase ? [task] : [])).sort();
  }

  /** Partitions that the group has given to it, as of the last event. */
  assignedPartitions(): string[] {
    const owned = new Set<string>();
    for (const event of this.events) {
      if (event.event === 'assigned') for (const { topic, partition } of event.partitions) owned.add(`${topic}-${partition}`);
      if (event.event === 'revoked') for (const { topic, partition } of event.partitions) owned.delete(`${topic}-${partition}`);
    }
    return [...owned].sort();
  }

  /**
   * Resolves when the condition holds; it is asked after each event.
   * @throws when the process ends although nobody told it to, and when it takes too long: with the last events.
   */
  async until(what: string, holds: () => boolean, timeoutMs = patienceMs): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const end = (error?: Error): void => {
        this.waiting.delete(check);
        clearTimeout(timer);
        if (error === undefined) resolve();
        else reject(error);
      };
      const check = (): void => {
        if (holds()) end();
        else if (this.ended !== undefined) end(new Error(`${this.name} ended (${this.ended}) before ${what}.\n${this.describe()}`));
      };
      const timer = setTimeout(
        () => end(new Error(`${this.name}: waited ${timeoutMs} ms in vain until ${what}.\n${this.describe()}`)),
        timeoutMs,
      );
      this.waiting.add(check);
      check();
    });
  }

  /** The first event of the name from the mark on that fits. */
  async event<Name extends WorkerEvent['event']>(
    name: Name,
    fits: (event: EventOf<Name>) => boolean = () => true,
    from = 0,
    timeoutMs = patienceMs,
  ): Promise<EventOf<Name>> {
    const find = (): EventOf<Name> | undefined => this.of(name, from).find(fits);
    await this.until(`it reported '${name}'`, () => find() !== undefined, timeoutMs);
    return find() as EventOf<Name>;
  }

  /** The last events that matter, the last points of commits, and what it wrote to its error output. */
  describe(): string {
    const lines = this.events.filter(({ event }) => event !== 'point' && event !== 'answer' && event !== 'flushed').slice(-shownEvents);
    const shown = lines.map(({ atMs, event, ...rest }) => `  ${timeOf(atMs)} ${event} ${shortened(JSON.stringify(rest))}`);
    const points = this.of('point').slice(-shownPoints);
    const passed = points.map(({ atMs, point, epoch }) => `${timeOf(atMs)} ${point} ${epoch}`);
    return [...shown, `  points: ${passed.join(', ')}`, this.errorOutput].join('\n');
  }

  // ---- what is done to it ----------------------------------------------------------------------------------------------------------

  /** Resolves with the answer. @throws what the command was refused with, and when the process ends before. */
  async ask(command: string, parameters: object = {}): Promise<unknown> {
    const id = this.nextId++;
    const from = this.mark;
    this.child.stdin?.write(`${JSON.stringify({ id, command, ...parameters })}\n`);
    const answer = await this.event('answer', (each) => each.id === id, from);
    if (answer.error !== undefined) throw new Error(`${this.name} refused '${command}': ${answer.error.code} ${answer.error.message}`);
    return answer.value;
  }

  plan(plan: Plan): Promise<unknown> {
    return this.ask('plan', plan);
  }

  letGo(): Promise<unknown> {
    return this.ask('letGo');
  }

  async health(): Promise<WorkerHealth> {
    return (await this.ask('health')) as WorkerHealth;
  }

  async queryAll(store: string): Promise<StoreContent> {
    return (await this.ask('queryAll', { store })) as StoreContent;
  }

  /** SIGKILL. Resolves when it is gone. */
  async kill(): Promise<void> {
    this.isExpectedToEnd = true;
    this.child.kill('SIGKILL');
    await this.exit;
  }

  /** Waits for the process to end by what was planned for it. */
  async killedByPlan(): Promise<EventOf<'fired'>> {
    this.isExpectedToEnd = true;
    await this.until('it was killed', () => this.ended !== undefined);
    const fired = this.of('fired').at(-1);
    if (this.ended !== 'SIGKILL' || fired === undefined)
      throw new Error(`${this.name} was to be killed at a point of its commit and ended by ${this.ended}.\n${this.describe()}`);
    return fired;
  }

  /** SIGSTOP: the whole process stands still, the threads of the client too. */
  suspend(): void {
    this.child.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Asks the worker to stop, and waits for the end of the process. @throws when it ends in another way than with code 0. */
  async stop(): Promise<void> {
    this.isExpectedToEnd = true;
    await this.ask('stop');
    await this.exit;
    if (this.ended !== 0) throw new Error(`${this.name} ended with ${this.ended} when it was to stop.\n${this.describe()}`);
  }
}

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23);
}

function shortened(text: string): string {
  return text.length > 240 ? `${text.slice(0, 240)}...` : text;
}
