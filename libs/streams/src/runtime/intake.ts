/** Brings records from the consumer into the queues of the tasks, and keeps these bounded. */
import { TallyError } from '../core/errors.js';
import type { ConsumedRecord } from './broker.js';
import type { CommitCycle } from './commit-cycle.js';
import type { ConsumerGate } from './consumer-gate.js';
import type { TaskEnvironment } from './environment.js';
import type { Input } from './input.js';
import type { TaskManager } from './task-manager.js';

/** A partition whose queue holds more than this many batches is paused until it has drained. */
const batchesQueuedMax = 8;
/** A queue that holds more bytes than this is paused as well. */
const queuedBytesMax = 16 * 1024 * 1024;
/** Nothing more is consumed while every input has so many batches' worth queued among them: what waits in memory costs the garbage collector. */
const batchesQueuedEnough = 3;
/** The consumer is asked this often all the same, in milliseconds: it is also how the group is heard. */
const consumeEveryMs = 100;
/** Pause after a consume that failed, in milliseconds: one that is refused at once must not make the loop spin. */
const failedPauseMs = 50;

export class Intake {
  private pauseUntilMs = 0;
  private lastConsumeMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly environment: TaskEnvironment,
    private readonly gate: ConsumerGate,
    private readonly tasks: TaskManager,
    private readonly cycle: CommitCycle,
    private readonly consumeTimeoutMs: number,
  ) {}

  /** Routes what the last consume brought. */
  take(): void {
    let records: readonly ConsumedRecord[];
    try {
      records = this.gate.take();
    } catch (error) {
      if (!(error instanceof TallyError) || error.kind === 'fatal' || error.kind === 'invalid') throw error;
      this.environment.logger.debug(`A consume failed: ${error.message}`);
      this.pauseUntilMs = this.environment.clock.monotonicMs() + failedPauseMs;
      return;
    }
    if (records.length === 0) return;
    const { hooks, clock } = this.environment;
    hooks.batch?.(records, clock.monotonicMs() - this.lastConsumeMs);
    this.route(records);
  }

  /** Between two consumes: runs what waits for the consumer, and starts the next consume unless memory is at its bound. */
  async goOn(mayConsume: boolean): Promise<void> {
    if (this.gate.hasOperations) await this.gate.runOperations();
    await this.adjustFlow();
    this.noteReadPositions();
    const nowMs = this.environment.clock.monotonicMs();
    if (!mayConsume || nowMs < this.pauseUntilMs) return;
    if (nowMs - this.lastConsumeMs < consumeEveryMs && this.hasEnough()) return;
    this.lastConsumeMs = nowMs;
    this.gate.consume(this.environment.options.recordsPerConsume, this.consumeTimeoutMs);
  }

  private hasEnough(): boolean {
    let queued = 0;
    for (const { inputs } of this.tasks.running) {
      for (const input of inputs) {
        if (input.length === 0) return false;
        queued += input.length;
      }
    }
    return queued >= this.environment.options.recordsPerConsume * batchesQueuedEnough;
  }

  private route(records: readonly ConsumedRecord[]): void {
    const { counters, options } = this.environment;
    let topic: string | undefined;
    let partition = -1;
    let input: Input | undefined;
    let run = 0;
    for (const record of records) {
      if (record.partition !== partition || record.topic !== topic) {
        this.count(topic, run);
        run = 0;
        ({ topic, partition } = record);
        input = this.tasks.input(topic, partition);
      }
      run++;
      if (input === undefined || !input.push(record)) counters.recordsDiscarded++;
    }
    this.count(topic, run);
    if (options.guarantee === 'at-most-once') this.claim();
  }

  private count(topic: string | undefined, records: number): void {
    if (topic !== undefined) this.environment.statistics.consumedFrom(topic, records);
  }

  /** At most once: offsets of what has arrived are committed before it is processed. */
  private claim(): void {
    for (const task of this.tasks.running) {
      if (!task.isDraining && task.inputs.some((input) => input.tail > input.claimed)) this.cycle.open.tasks.add(task);
    }
  }

  /** Now everything that the consumer has brought is routed, so its positions say what lies before them. */
  private noteReadPositions(): void {
    for (const { inputs } of this.tasks.running) {
      for (const input of inputs) if (input.open) input.readTo = this.gate.consumer.position(input) ?? input.tail;
    }
  }

  private async adjustFlow(): Promise<void> {
    const lengthMax = this.environment.options.recordsPerConsume * batchesQueuedMax;
    const inputs = this.tasks.running.flatMap((task) => (task.isDraining ? [] : task.inputs));
    const toPause = inputs.filter((input) => !input.paused && (input.length > lengthMax || input.bytes > queuedBytesMax));
    const toResume = inputs.filter(
      (input) => input.paused && input.open && input.length < lengthMax / 4 && input.bytes < queuedBytesMax / 4,
    );
    if (toPause.length > 0) await this.gate.consumer.pause(toPause);
    if (toResume.length > 0) await this.gate.consumer.resume(toResume);
    for (const input of toPause) input.paused = true;
    for (const input of toResume) input.paused = false;
  }
}
