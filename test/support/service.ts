/** A service under test as a process, its topics and its disk; what it printed, and what it has done so far, exactly. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { recommendedThreadPoolSize } from '@tally/kafka';
import type { StreamsModuleOptions } from '@tally/nestjs';
import { partitionForKey } from '@tally/streams';
import { kafkaAddresses } from '../kafka-setting.js';
import { Cluster } from './cluster.js';
import { differences, sequencesOf } from './model.js';

export interface ServiceSettings {
  readonly options: StreamsModuleOptions;
  readonly input: string;
  readonly output: string;
  readonly inputPartitions?: number;
  readonly storeKey?: 'int64';
}

/** What may differ from the settings that work. */
export type Changes = Partial<Omit<ServiceSettings, 'options'>> & {
  readonly options?: Partial<StreamsModuleOptions> & Readonly<Record<string, unknown>>;
};

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  /** Lines of standard error, without colours. */
  readonly errors: readonly string[];
}

const entry = fileURLToPath(new URL('counting-service.mjs', import.meta.url));
const patienceMs = 90_000;
// oxlint-disable-next-line no-control-regex -- that is what colours begin with
const colours = /\u001b\[[0-9;]*m/g;

export class ServiceProcess {
  private output = '';
  private errorOutput = '';
  private readonly child: ChildProcess;
  readonly ended: Promise<Ending>;
  ending: Ending | undefined;

  constructor(file: string, environment: Readonly<Record<string, string>>, words: readonly string[] = []) {
    this.child = spawn(process.execPath, [file, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', UV_THREADPOOL_SIZE: String(recommendedThreadPoolSize), ...environment },
    });
    this.child.stdout?.on('data', (chunk: Buffer) => void (this.output += chunk.toString()));
    this.child.stderr?.on('data', (chunk: Buffer) => void (this.errorOutput += chunk.toString()));
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        const errors = this.errorOutput
          .replace(colours, '')
          .split('\n')
          .filter((line) => line !== '');
        this.ending = { code, signal, output: this.output.replace(colours, ''), errors };
        resolve(this.ending);
      });
    });
  }

  /** @throws when it does not end by itself for long */
  async endsByItself(): Promise<Ending> {
    const abort = new AbortController();
    const ending = await Promise.race([this.ended, sleep(patienceMs, undefined, { signal: abort.signal }).catch(() => undefined)]);
    abort.abort();
    if (ending === undefined) throw new Error(`The service did not end by itself.\n${this.describe()}`);
    return ending;
  }

  describe(): string {
    return `${this.output}${this.errorOutput}`;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

/** One application: what it was sent, and what it must have counted. */
export class ServiceTrial {
  readonly counts = new Map<string, string[]>();
  readonly stateDirectory: string;
  readonly partitions = 2;
  private readonly processes: ServiceProcess[] = [];

  private constructor(
    readonly id: string,
    readonly cluster: Cluster,
    readonly directory: string,
  ) {
    this.stateDirectory = join(directory, 'state');
  }

  static async begin(name: string): Promise<ServiceTrial> {
    const id = `${name}-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`;
    const trial = new ServiceTrial(id, await Cluster.connect(kafkaAddresses()), mkdtempSync(join(tmpdir(), 'tally-service-')));
    for (const topic of [trial.input, trial.output]) await trial.cluster.createTopic(topic, trial.partitions);
    return trial;
  }

  get input(): string {
    return `${this.id}-input`;
  }

  get output(): string {
    return `${this.id}-output`;
  }

  settings(changes: Changes = {}): ServiceSettings {
    const options = { applicationId: this.id, brokers: this.cluster.brokers, stateDirectory: this.stateDirectory, ...changes.options };
    return { input: this.input, output: this.output, ...changes, options };
  }

  start(changes: Changes = {}): ServiceProcess {
    return this.track(new ServiceProcess(entry, { SETTINGS: JSON.stringify(this.settings(changes)) }));
  }

  track(process: ServiceProcess): ServiceProcess {
    this.processes.push(process);
    return process;
  }

  /** Sends records of several keys to each partition. */
  async send(records: number): Promise<void> {
    const producer = this.cluster.broker.createOutputProducer();
    await producer.connect();
    for (let index = 0; index < records; index++) {
      const name = `key-${index % 20}`;
      const key = Buffer.from(name);
      while (!producer.produce(this.input, partitionForKey(key, this.partitions), key, Buffer.from('x'), Date.now(), [])) await sleep(2);
      const counts = this.counts.get(name) ?? [];
      this.counts.set(name, counts);
      counts.push(String(counts.length + 1));
    }
    await producer.flush(60_000);
    await producer.close();
  }

  /** Waits until the process has processed and committed everything. @throws when it ends, or takes too long */
  async settled(process: ServiceProcess, { options, input }: ServiceSettings = this.settings()): Promise<void> {
    const untilMs = Date.now() + patienceMs;
    for (;;) {
      const unfinished = await this.cluster.unfinished(options.applicationId, [input], []);
      if (unfinished.length === 0) return;
      if (process.ending !== undefined) throw new Error(`The service ended (${process.ending.code}).\n${process.describe()}`);
      if (Date.now() > untilMs)
        throw new Error(`The service does not process everything: ${unfinished.join(', ')}.\n${process.describe()}`);
      await sleep(100);
    }
  }

  /** Runs the service until it has processed everything, and ends it gracefully. */
  async processAll(changes: Changes = {}): Promise<void> {
    const process = this.start(changes);
    await this.settled(process, this.settings(changes));
    await this.stop(process);
  }

  async stop(process: ServiceProcess): Promise<void> {
    process.signal('SIGTERM');
    const { signal, errors } = await process.endsByItself();
    if (signal !== 'SIGTERM' || errors.length > 0)
      throw new Error(`The service did not end gracefully (${signal}).\n${process.describe()}`);
  }

  /** What would show if anything had been lost, repeated or moved: committed offsets, and every record of output and changelog, as one line each. */
  async snapshot(): Promise<readonly string[]> {
    const partitions = Array.from({ length: this.partitions }, (_, partition) => ({ topic: this.input, partition }));
    const offsets = await this.cluster.broker.admin.stableOffsets(this.id, partitions);
    const lines = offsets.map(({ topic, partition, offset }) => `${topic}-${partition} is committed up to ${offset}`);
    for (const topic of [this.output, `${this.id}-counts-changelog`]) {
      const records = (await this.cluster.read(topic)).map(
        ({ partition, offset, key, value }) => `${partition}@${offset} ${String(key)}=${String(value)}`,
      );
      lines.push(`${topic} holds ${records.length} records: ${createHash('sha256').update(records.sort().join()).digest('hex')}`);
    }
    return lines;
  }

  /** Differences between what was sent and the counts that came out. */
  async problems(output = this.output): Promise<readonly string[]> {
    return differences('counts', this.counts, sequencesOf(await this.cluster.read(output)));
  }

  async end(): Promise<void> {
    for (const process of this.processes) {
      process.signal('SIGKILL');
      await process.ended;
    }
    await this.cluster.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
