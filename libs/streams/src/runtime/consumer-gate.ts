/**
 * Keeps one consume in flight and runs everything else on the consumer between consumes: calls beside a running consume would let it bring
 * records of before a seek, or deliver a record twice.
 */
import type { ConsumedRecord, GroupConsumer } from './broker.js';

interface Operation {
  readonly run: () => Promise<void>;
  readonly reject: (error: unknown) => void;
}

export class ConsumerGate {
  private readonly operations: Operation[] = [];
  private consuming: Promise<void> | undefined;
  private arrived: readonly ConsumedRecord[] | undefined;
  private consumeError: unknown;
  private hasFailed = false;
  private ended = false;

  constructor(
    readonly consumer: GroupConsumer,
    private readonly wake: () => void,
  ) {}

  /** Runs the action when no consume is in flight. Rejects when the gate has been closed. */
  betweenConsumes(action: () => Promise<void>): Promise<void> {
    if (this.ended) return Promise.reject(new Error('the consumer has been closed'));
    return new Promise((resolve, reject) => {
      this.operations.push({ run: () => action().then(resolve), reject });
      this.wake();
    });
  }

  /** Records that the last consume brought, once. @throws what the consume was rejected with. */
  take(): readonly ConsumedRecord[] {
    if (this.hasFailed) {
      this.hasFailed = false;
      throw this.consumeError;
    }
    const records = this.arrived ?? [];
    this.arrived = undefined;
    return records;
  }

  /** A consume has brought something that has not been taken. */
  get hasArrived(): boolean {
    return this.hasFailed || (this.arrived?.length ?? 0) > 0;
  }

  get isConsuming(): boolean {
    return this.consuming !== undefined;
  }

  /** Runs what waits; call only while no consume is in flight. */
  async runOperations(): Promise<void> {
    for (let operation = this.operations.shift(); operation !== undefined; operation = this.operations.shift()) {
      try {
        await operation.run();
      } catch (error) {
        operation.reject(error);
      }
    }
  }

  get hasOperations(): boolean {
    return this.operations.length > 0;
  }

  consume(recordsMax: number, timeoutMs: number): void {
    this.consuming = this.consumer.consume(recordsMax, timeoutMs).then(
      (records) => {
        this.arrived = records;
        this.finished();
      },
      (error: unknown) => {
        this.consumeError = error;
        this.hasFailed = true;
        this.finished();
      },
    );
  }

  private finished(): void {
    this.consuming = undefined;
    this.wake();
  }

  /** Waits for the consume in flight; nothing is run afterwards. */
  async close(): Promise<void> {
    this.ended = true;
    await this.consuming;
    for (const operation of this.operations.splice(0)) operation.reject(new Error('the consumer has been closed'));
  }
}
