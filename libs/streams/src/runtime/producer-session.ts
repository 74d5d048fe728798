/**
 * The worker's transactional producer and the transaction that is open on it.
 *
 * Invariants
 * 1. Calls never overlap: begin, sendOffsets, commit and abort run one after another; records are queued only while a transaction is open.
 * 2. A producer whose transaction ended in doubt is never used again, only replaced: the new one, with the same transactional id, settles
 *    the old transaction either way.
 */
import { assert } from '../core/assert.js';
import { type Clock, sleep } from '../core/clock.js';
import { TallyError, errorOf } from '../core/errors.js';
import type { Headers } from '../core/record.js';
import { type Broker, BrokerError, type TransactionalProducer } from './broker.js';
import type { Epoch } from './epoch.js';
import type { Logger } from './hooks.js';

type Phase = 'closed' | 'idle' | 'open' | 'ending';

const moves: Readonly<Record<Phase, readonly Phase[]>> = {
  closed: ['idle'],
  idle: ['open', 'closed'],
  open: ['ending', 'closed'],
  ending: ['idle', 'closed'],
};

/** Pause between attempts of a call that may succeed later, in milliseconds. */
const retryDelayMs = 200;
/** So many initialisations that were given up on are remembered. */
const straysMax = 5;

export interface ProducerSessionOptions {
  readonly transactionalId: string;
  readonly transactionTimeoutMs: number;
  readonly clientId: string;
}

export class ProducerSession {
  private phase: Phase = 'closed';
  private current: TransactionalProducer | undefined;
  private firstUseMs: number | undefined;
  private strays = 0;

  constructor(
    private readonly broker: Broker,
    private readonly clock: Clock,
    private readonly logger: Logger,
    readonly options: ProducerSessionOptions,
  ) {}

  get producer(): TransactionalProducer {
    assert(this.current !== undefined, 'the producer is used while there is none');
    return this.current;
  }

  get isUsable(): boolean {
    return this.current !== undefined;
  }

  get isOpen(): boolean {
    return this.phase === 'open';
  }

  /** How long the broker has known the open transaction, in milliseconds. */
  get transactionAgeMs(): number {
    return this.firstUseMs === undefined ? 0 : this.clock.monotonicMs() - this.firstUseMs;
  }

  private move(to: Phase): void {
    assert(moves[this.phase].includes(to), `a transaction cannot go from ${this.phase} to ${to}`);
    this.phase = to;
  }

  /**
   * Makes a producer and settles what an earlier one with the same transactional id left open; keeps trying while the broker cannot be
   * reached, until `keepOn` says no.
   */
  async open(keepOn: () => boolean): Promise<void> {
    for (;;) {
      const producer = this.broker.createTransactionalProducer(this.options);
      try {
        await producer.init();
        this.current = producer;
        this.move('idle');
        await this.begin();
        return;
      } catch (error) {
        await this.closeQuietly(producer);
        this.current = undefined;
        this.phase = 'closed';
        if (!mayComeBack(error) || !keepOn()) throw error;
        this.strays = Math.min(this.strays + 1, straysMax);
        this.logger.warn(
          `The transactional producer '${this.options.transactionalId}' cannot be initialised yet: ${errorOf(error).message}`,
        );
        await sleep(this.clock, retryDelayMs);
      }
    }
  }

  /**
   * Whether a fencing may be this worker's own doing: an initialisation that it gave up on may still arrive, and fences what came after it.
   * Each explains one fencing.
   */
  takeStray(): boolean {
    if (this.strays === 0) return false;
    this.strays--;
    return true;
  }

  /** Begins the next transaction; local to the client, the broker hears of it with the first record. */
  async begin(): Promise<void> {
    await this.producer.begin();
    this.move('open');
    this.firstUseMs = undefined;
  }

  /** Queues one record in the open transaction; false when the queue is full. */
  produce(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestampMs: number,
    headers: Headers,
  ): boolean {
    assert(this.phase === 'open', 'records are produced in an open transaction');
    this.firstUseMs ??= this.clock.monotonicMs();
    return this.producer.produce(topic, partition, key, value, timestampMs, headers);
  }

  /** Queues the epoch's outputs as far as the queue takes them. */
  drain(epoch: Epoch): void {
    if (this.phase !== 'open') return;
    for (let output = epoch.nextOutput; output !== undefined; output = epoch.nextOutput) {
      if (!this.produce(output.topic, output.partition, output.key, output.value, output.timestampMs, output.headers)) return;
      epoch.passOutput();
    }
  }

  noteUse(): void {
    this.firstUseMs ??= this.clock.monotonicMs();
  }

  /**
   * Calls `commit` once; on success the next transaction is begun.
   * @throws what the commit was rejected with; kind `fatal` when only the begin failed: no abort may take that for a failed commit.
   */
  async commit(): Promise<void> {
    if (this.phase === 'open') this.move('ending');
    await this.producer.commit();
    this.move('idle');
    try {
      await this.begin();
    } catch (error) {
      throw new TallyError({
        code: 'BEGIN_FAILED',
        kind: 'fatal',
        message: `No transaction could be begun after a commit: ${errorOf(error).message}`,
        cause: error,
      });
    }
  }

  /**
   * Aborts, keeps on while the answer is that it may succeed later, and begins the next transaction.
   * @throws the error after which the producer must be replaced.
   */
  async abort(boundMs: number): Promise<void> {
    if (this.phase === 'open') this.move('ending');
    const until = this.clock.monotonicMs() + boundMs;
    for (;;) {
      try {
        await this.producer.abort();
        break;
      } catch (error) {
        if (!(error instanceof TallyError) || error.kind !== 'retriable' || this.clock.monotonicMs() >= until) throw error;
        await sleep(this.clock, retryDelayMs);
      }
    }
    this.producer.takeFailures();
    this.move('idle');
    await this.begin();
  }

  /** Closes the producer and makes a new one, which settles the transaction that the old one left. */
  async replace(keepOn: () => boolean): Promise<void> {
    await this.close();
    await this.open(keepOn);
  }

  async close(): Promise<void> {
    const producer = this.current;
    this.current = undefined;
    this.phase = 'closed';
    if (producer !== undefined) await this.closeQuietly(producer);
  }

  private async closeQuietly(producer: TransactionalProducer): Promise<void> {
    try {
      await producer.close();
    } catch (error) {
      this.logger.debug(`A producer failed to close: ${errorOf(error).message}`);
    }
  }
}

/** Everything but what a person has to mend. */
function mayComeBack(error: unknown): boolean {
  return error instanceof BrokerError && error.kind !== 'invalid' && error.kind !== 'recordRefused';
}
