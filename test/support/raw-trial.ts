/** Topics filled with records of any shape, worker processes that read them, and a look at what came out that does not use the client under test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerOptions } from '@tally/streams';
import { kafkaAddresses } from '../kafka-setting.js';
import { Cluster } from './cluster.js';
import { differences, isData, lastTotals, sequencesOf } from './model.js';
import type { Order, Orders } from './orders.js';
import { Wire, type RawRecord, type StoredRecord } from './wire.js';
import { WorkerProcess } from './workers.js';

const topologies = new URL('raw-topologies.mjs', import.meta.url).href;
const patienceMs = 60_000;

/** One application: topics by role, processes one after another on one disk. */
export class RawTrial {
  readonly topics: Record<string, string> = {};
  readonly processes: WorkerProcess[] = [];
  private readonly directory = mkdtempSync(join(tmpdir(), 'tally-raw-'));

  private constructor(
    readonly applicationId: string,
    readonly cluster: Cluster,
    readonly wire: Wire,
  ) {}

  static async begin(name: string): Promise<RawTrial> {
    const id = `${name}-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`;
    return new RawTrial(id, await Cluster.connect(kafkaAddresses()), new Wire(kafkaAddresses()));
  }

  /** Creates a topic for a role of the topology; one that is there already stays as it is. */
  async topic(role: string, partitions: number, config: Readonly<Record<string, string>> = {}): Promise<string> {
    const name = `${this.applicationId}-${role}`;
    // Records of any age are written here; the broker would soon delete the old ones.
    await this.cluster.createTopic(name, partitions, { 'retention.ms': '-1', ...config });
    this.topics[role] = name;
    return name;
  }

  /** The changelog topic before the application makes its own. */
  async changelog(store: string, partitions: number, config: Readonly<Record<string, string>>): Promise<void> {
    await this.cluster.createTopic(this.changelogOf(store), partitions, { 'cleanup.policy': 'compact', ...config });
  }

  changelogOf(store: string): string {
    return `${this.applicationId}-${store}-changelog`;
  }

  async write(orders: readonly Order[], topic = this.topics['input'] ?? ''): Promise<void> {
    const byPartition = new Map<number, RawRecord[]>();
    for (const { partition, record } of orders) {
      const records = byPartition.get(partition);
      if (records === undefined) byPartition.set(partition, [record]);
      else records.push(record);
    }
    for (const [partition, records] of byPartition) await this.wire.write(topic, partition, records);
  }

  start(topology: string, options: Partial<WorkerOptions> = {}): WorkerProcess {
    const process = new WorkerProcess({
      name: `${topology}-${this.processes.length}`,
      brokers: this.cluster.brokers,
      topology,
      topologies,
      topics: this.topics,
      options: { applicationId: this.applicationId, stateDirectory: this.directory, ...options },
    });
    this.processes.push(process);
    return process;
  }

  /** Resolves when all of the input has been processed and committed. @throws when the process ends, or no progress is made for long */
  async settled(process: WorkerProcess, input = this.topics['input'] ?? ''): Promise<void> {
    let last = '';
    let lastMs = Date.now();
    for (;;) {
      const unfinished = await this.cluster.unfinished(this.applicationId, [input], []);
      if (unfinished.length === 0) return;
      if (!process.isAlive)
        throw new Error(`${process.name} ended (${process.ended}) before everything was processed.\n${process.describe()}`);
      const now = unfinished.join(', ');
      if (now !== last) lastMs = Date.now();
      last = now;
      if (Date.now() - lastMs > patienceMs) throw new Error(`No progress for ${patienceMs} ms: ${now}.\n${process.describe()}`);
      await sleep(100);
    }
  }

  /** Waits for a process that is to stop by itself. @returns the reason that it gave */
  async stoppedByItself(process: WorkerProcess): Promise<{ readonly code: string | undefined; readonly message: string }> {
    process.isExpectedToEnd = true;
    const { reason } = await process.event('failed', () => true, 0, patienceMs);
    await process.until('it ended', () => !process.isAlive, patienceMs);
    return reason;
  }

  /** Differences between what must be there of the processed orders and output, changelog and queried state. */
  async problems(orders: Orders, process: WorkerProcess, isProcessed: (order: Order) => boolean): Promise<readonly string[]> {
    const { outputs, totals } = orders.expected(isProcessed);
    const changelog = (await this.wire.read(this.changelogOf('totals'))).filter(isData);
    const state = await this.state(process);
    return [
      ...differences('output', outputs, sequencesOf(await this.wire.read(this.topics['output'] ?? ''))),
      ...differences('changelog', totals, lastTotals(changelog)),
      ...differences('state', totals, state),
    ];
  }

  /** What the process answers, once it answers for each partition: one of which nothing was left to process may still be restored. */
  private async state(process: WorkerProcess): Promise<ReadonlyMap<string, string>> {
    const partitions = await this.cluster.partitionsOf(this.changelogOf('totals'));
    const untilMs = Date.now() + patienceMs;
    for (;;) {
      const content = await process.queryAll('totals');
      if (content.partitions.length === partitions.length) return new Map(content.entries);
      if (Date.now() > untilMs)
        throw new Error(`${process.name} answers for the partitions ${content.partitions.join(', ')} alone.\n${process.describe()}`);
      await sleep(100);
    }
  }

  read(role: string): Promise<readonly StoredRecord[]> {
    return this.wire.read(this.topics[role] ?? '');
  }

  async end(): Promise<void> {
    for (const process of this.processes) if (process.isAlive) await process.kill();
    this.wire.close();
    await this.cluster.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
