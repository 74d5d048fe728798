/**
 * The time under one application id. Some faults are such that the engine must refuse to go on; then a person does what the refusal says:
 * sets offsets by hand, or starts anew under another id, which begins the next era.
 */
import { repartitionTopicName, sleep, type TopicPartition } from '@tally/streams';
import type { InputRecord } from '../scenarios/scenario.js';
import type { EraEvidence } from './evidence.js';
import type { History } from './history.js';
import { inputsOf, outputsOf } from './logs.js';

/** How long a process may take to stop before it is killed, in milliseconds. */
const stopLimitMs = 10_000;
const lookIntervalMs = 50;

export class Era {
  readonly applicationId: string;
  /** Processes are being ended, and none may be started. */
  isEnding = false;
  /** Taken before the source was made anew. */
  private inputs: readonly InputRecord[] | undefined;
  private readonly outputStarts: ReadonlyMap<string, readonly number[]>;
  /** What lay before was deleted when the era began. */
  private readonly inputStarts: ReadonlyMap<string, readonly number[]>;
  private refusals: readonly string[] = [];
  private repair: (() => Promise<void>) | undefined;

  constructor(
    private readonly history: History,
    readonly number: number,
  ) {
    const { applicationId } = history.setting;
    this.applicationId = number === 1 ? applicationId : `${applicationId}-${number}`;
    const topics = [...history.cluster.topics.all()];
    this.outputStarts = new Map(topics.map(({ name, partitions }) => [name, partitions.map((log) => log.highWatermark)]));
    this.inputStarts = new Map(topics.map(({ name, partitions }) => [name, partitions.map((log) => log.logStart)]));
  }

  /** From now on a worker must refuse with one of the codes, and the repair follows. */
  expectRefusal(codes: readonly string[], repair: () => Promise<void>): void {
    this.refusals = codes;
    this.repair = repair;
  }

  get awaitsRefusal(): boolean {
    return this.repair !== undefined;
  }

  /** Whether a worker was right to end with this code; the repair begins then. */
  takes(code: string): boolean {
    if (!this.refusals.includes(code)) return false;
    const { repair } = this;
    this.repair = undefined;
    if (repair !== undefined) {
      this.history.log(() => `a person repairs what ${code} tells`);
      this.isEnding = true;
      void repair();
    }
    return true;
  }

  /** Remembers the input of this era, for its topics are about to be deleted. */
  keepInputs(): void {
    this.inputs = inputsOf(this.history, this.inputStarts);
  }

  /** Ends all processes, and waits until no transaction is open. */
  async end(): Promise<void> {
    const { clock, machines, plan } = this.history;
    this.isEnding = true;
    for (const machine of machines) {
      if (machine.process?.isPaused === true) machine.crash();
      else void machine.leave();
    }
    const endMs = clock.monotonicMs() + stopLimitMs;
    while (machines.some(({ process }) => process !== undefined) && clock.monotonicMs() < endMs) await sleep(clock, lookIntervalMs);
    for (const machine of machines) machine.crash();
    const { transactionSweepIntervalMs, markerDelayMsMax } = plan.cluster;
    // A transaction that a killed process left is aborted after its time-out.
    await sleep(clock, plan.worker.transactionTimeoutMs + 2 * transactionSweepIntervalMs + markerDelayMsMax);
  }

  /** Starts the machines of the plan again. */
  goOn(): void {
    this.isEnding = false;
    for (const machine of this.history.permanentMachines) machine.start();
  }

  evidence(complete: boolean): EraEvidence {
    const { history, applicationId } = this;
    const inputs = this.inputs ?? inputsOf(history, this.inputStarts);
    return { applicationId, inputs, outputs: outputsOf(history, this.outputStarts), complete };
  }

  /** Retention deletes what has been processed. */
  deleteProcessed(): void {
    const { cluster } = this.history;
    for (const at of this.inputPartitions()) {
      cluster.topics.log(at).deleteBefore(cluster.committedOffset(this.applicationId, at).offset ?? 0);
    }
  }

  // ---- progress --------------------------------------------------------------------------------------------------------------------

  /** Offsets that have not been processed, over all inputs. */
  lag(): number {
    return this.inputPartitions().reduce((sum, at) => sum + this.lagOf(at), 0);
  }

  whatIsMissing(): string {
    const lags = this.inputPartitions().flatMap((at) => {
      const lag = this.lagOf(at);
      return lag === 0 ? [] : [`${at.topic}-${at.partition} lacks ${lag} offsets`];
    });
    return lags.join(', ');
  }

  /** All tasks of the application; one for each partition of a sub-topology's largest source. */
  taskCount(): number {
    const { subTopologies } = this.history.setting.topology;
    const counts = subTopologies.map(({ sourceTopics }) => Math.max(...sourceTopics.map((name) => this.partitionsOf(name))));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Of a source topic by its name in the topology. */
  private partitionsOf(source: string): number {
    return this.history.cluster.topics.find(this.physicalName(source))?.partitions.length ?? 0;
  }

  private physicalName(source: string): string {
    const { repartitionTopics } = this.history.setting.topology;
    return repartitionTopics.some(({ name }) => name === source) ? repartitionTopicName(this.applicationId, source) : source;
  }

  private inputPartitions(): readonly TopicPartition[] {
    const { subTopologies } = this.history.setting.topology;
    return subTopologies
      .flatMap(({ sourceTopics }) => sourceTopics)
      .flatMap((source) =>
        Array.from({ length: this.partitionsOf(source) }, (_, partition) => ({ topic: this.physicalName(source), partition })),
      );
  }

  private lagOf(at: TopicPartition): number {
    const { cluster } = this.history;
    const log = cluster.topics.log(at);
    if (log.highWatermark === 0) return 0;
    return log.highWatermark - (cluster.committedOffset(this.applicationId, at).offset ?? 0);
  }
}
