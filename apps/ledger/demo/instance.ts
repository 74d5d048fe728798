/** One instance of the built ledger, as a process of its own that can be killed and started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface InstanceOptions {
  readonly name: string;
  /** The ledger's built entry file. */
  readonly entryFile: string;
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** What the ledger answers under `/stats`. */
export interface InstanceStats {
  readonly ready: boolean;
  /** Partitions of the payments topic that this instance owns and has restored. */
  readonly partitions: readonly number[];
  readonly counters: {
    readonly records: number;
    readonly transactionsCommitted: number;
    readonly transactionsAborted: number;
    readonly recordsRestored: number;
  };
}

export interface Answer {
  readonly account: string;
  readonly balance: bigint;
}

const requestTimeoutMs = 5_000;
const stopTimeoutMs = 30_000;

export class LedgerInstance {
  /** Counters of processes of this instance that are gone, as last seen. */
  readonly past = { transactionsCommitted: 0, recordsRestored: 0 };
  stats: InstanceStats | undefined;
  private child: ChildProcess | undefined;
  private failure: Error | undefined;
  private refreshing = false;

  private constructor(
    private readonly options: InstanceOptions,
    private readonly port: number,
  ) {}

  static async create(options: InstanceOptions): Promise<LedgerInstance> {
    return new LedgerInstance(options, await freePort());
  }

  get name(): string {
    return this.options.name;
  }

  start(): void {
    const log = openSync(this.logFile, 'a');
    const child = spawn(process.execPath, [this.options.entryFile], {
      env: {
        ...process.env,
        ...this.options.environment,
        PORT: String(this.port),
        STATE_DIRECTORY: join(this.options.directory, this.name),
      },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.child = child;
    child.once('error', (error) => (this.failure = error));
    child.once('exit', (code, signal) => {
      if (this.child === child)
        this.failure = new Error(`${this.name} ended by itself (${signal ?? code}). The end of its log:\n${this.logTail()}`);
    });
  }

  /** @throws when the process ended without having been told to */
  check(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  /** Reads the counters, one request at a time. Keeps the last ones when the instance does not answer, for example while it starts. */
  async refresh(): Promise<void> {
    const child = this.child;
    if (child === undefined || this.refreshing) return;
    this.refreshing = true;
    try {
      const response = await this.get('/stats', requestTimeoutMs);
      const stats = (await response.json()) as InstanceStats;
      // An answer of a process that was killed meanwhile is no longer of interest.
      if (this.child === child) this.stats = stats;
    } catch {
      // It is starting or frozen; the next call asks again, and an end of the process is reported by check().
    } finally {
      this.refreshing = false;
    }
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.child?.kill(signal);
  }

  /** SIGKILL: the process gets no chance to do anything. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
    this.past.transactionsCommitted += this.stats?.counters.transactionsCommitted ?? 0;
    this.past.recordsRestored += this.stats?.counters.recordsRestored ?? 0;
    this.stats = undefined;
  }

  /** SIGTERM: finishes what is in hand. @throws when it does not end in time, or with an error */
  async stop(): Promise<void> {
    const how = await this.end('SIGTERM');
    // Nest ends a process by the signal that it was stopped by, once all its hooks have run.
    if (how !== undefined && how !== 0 && how !== 'SIGTERM') {
      throw new Error(`${this.name} ended with ${how} when it was to stop. The end of its log:\n${this.logTail()}`);
    }
  }

  get transactions(): number {
    return this.past.transactionsCommitted + (this.stats?.counters.transactionsCommitted ?? 0);
  }

  get recordsRestored(): number {
    return this.past.recordsRestored + (this.stats?.counters.recordsRestored ?? 0);
  }

  /** Balances of all accounts that this instance owns. */
  async balances(): Promise<Answer[]> {
    const response = await this.get('/balances', 60_000);
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    return lines.map(parseAnswer);
  }

  /** One account's balance, or the status of the refusal. */
  async balance(account: string): Promise<Answer | number> {
    const response = await fetch(this.url(`/balances/${encodeURIComponent(account)}`), { signal: AbortSignal.timeout(requestTimeoutMs) });
    const text = await response.text();
    return response.ok ? parseAnswer(text) : response.status;
  }

  /** The HTTP status of an answer. */
  async status(path: string): Promise<number> {
    const response = await fetch(this.url(path), { signal: AbortSignal.timeout(requestTimeoutMs) });
    await response.arrayBuffer();
    return response.status;
  }

  /** @returns the exit code or the signal that ended the process; undefined when there was none */
  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | NodeJS.Signals | undefined> {
    const child = this.child;
    this.child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? undefined;
    const ended = new Promise<number | NodeJS.Signals | undefined>((resolve) =>
      child.once('exit', (code, by) => resolve(code ?? by ?? undefined)),
    );
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    const how = await ended;
    clearTimeout(timer);
    return how;
  }

  private async get(path: string, timeoutMs: number): Promise<Response> {
    const response = await fetch(this.url(path), { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`${this.name} answered ${response.status} to ${path}: ${await response.text()}`);
    return response;
  }

  private url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  private get logFile(): string {
    return join(this.options.directory, `${this.name}.log`);
  }

  private logTail(): string {
    return readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
  }
}

/** Waits until the condition holds, asking again every 50 ms. @throws with what was waited for, when the time has passed */
export async function waitFor(what: string, timeoutMs: number, signal: AbortSignal, holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await holds())) {
    signal.throwIfAborted();
    if (performance.now() > deadlineMs) throw new Error(`waited ${timeoutMs / 1_000} s in vain until ${what}.`);
    await sleep(50);
  }
}

function parseAnswer(line: string): Answer {
  const { account, balance } = JSON.parse(line) as { account: string; balance: string };
  return { account, balance: BigInt(balance) };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => (typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no free port'))));
    });
  });
}
