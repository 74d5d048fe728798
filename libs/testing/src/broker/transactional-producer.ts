/** The transactional producer of a simulated process: the states of the real client's, and what it answers in each. */
import {
  BrokerError,
  type DeliveryFailure,
  type GroupConsumer,
  type Headers,
  type OffsetToCommit,
  type TopicPartition,
  type TransactionalProducer,
  type TransactionalProducerOptions,
} from '@tally/streams';
import type { Connection } from './connection.js';
import { SimulatedConsumer } from './consumer.js';
import { closedError, simulatedError } from './errors.js';
import { checkOffsets } from './offset-check.js';
import { checkRecord, makeRecord } from './make-record.js';
import { RecordQueue } from './record-queue.js';
import { addOffsets, addPartitions, commitTransactionOffsets, endTransaction, initProducer, produce } from './requests/index.js';
import type { Outcome, ProducerIdentity } from './transactions.js';

export interface ProducerSettings {
  readonly lingerMs: number;
  readonly batchBytesMax: number;
  readonly recordBytesMax: number;
  readonly queueRecordsMax: number;
  readonly queueBytesMax: number;
  /** Calls without an answer end as `retriable` after this time. */
  readonly callTimeoutMs: number;
}

/** How long the client believes that a topic which is not there is about to appear. */
const topicPropagationMs = 2_000;

/**
 * `mustAbort`: a call of the transaction failed. `commitUnknown`, `abortUnknown`: no answer came; only the same call may follow.
 * `fenced`: of no more use.
 */
type State = 'new' | 'ready' | 'open' | 'mustAbort' | 'commitUnknown' | 'abortUnknown' | 'fenced' | 'closed';

export class SimulatedTransactionalProducer implements TransactionalProducer {
  private state: State = 'new';
  /** The call under way: calls do not overlap. */
  private running: string | undefined;
  private identity: ProducerIdentity | undefined;
  /** Whether the coordinator knows of the open transaction. */
  private started = false;
  /** The first partition's way into the open transaction. */
  private firstEntry: Promise<void> | undefined;
  private closing: Promise<void> | undefined;
  private readonly queue: RecordQueue;
  private readonly callTimeoutMs: number;

  constructor(
    private readonly connection: Connection,
    private readonly options: TransactionalProducerOptions,
    settings: ProducerSettings,
  ) {
    this.callTimeoutMs = Math.min(settings.callTimeoutMs, options.transactionTimeoutMs);
    this.queue = new RecordQueue({
      connection,
      clientId: options.clientId,
      ...settings,
      deliveryTimeoutMs: options.transactionTimeoutMs,
      transactional: true,
      enter: (partition) => this.enter(partition),
      isAbandoned: () => this.state === 'closed',
      write: (at, records, isOutOfOrder) => produce(connection.cluster, at, records, { producer: this.requireIdentity(), isOutOfOrder }),
    });
  }

  init(): Promise<void> {
    return this.exclusively('init', ['new'], async () => {
      const { connection, options } = this;
      const { transactionalId, transactionTimeoutMs } = options;
      this.identity = await connection.callWhileConcurrent('initProducer', { ...this.callOptions(), detail: transactionalId }, () =>
        initProducer(connection.cluster, transactionalId, transactionTimeoutMs),
      );
      this.state = 'ready';
    });
  }

  begin(): Promise<void> {
    return this.exclusively('begin', ['ready'], async () => {
      await this.connection.sleep(0);
      this.state = 'open';
    });
  }

  produce(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestampMs: number,
    headers: Headers,
  ): boolean {
    if (this.running !== undefined && this.running !== 'sendOffsets') throw this.violation(`produce during ${this.running}`);
    if (this.state !== 'open' && this.state !== 'mustAbort') throw this.violation(`produce in the state ${this.state}`);
    if (this.hasFailed()) {
      // Dropped: the end of the transaction says why.
      checkRecord(this.connection, topic, key, value, timestampMs, headers);
      return true;
    }
    return this.queue.add(makeRecord(this.connection, topic, partition, key, value, timestampMs, headers));
  }

  takeFailures(): readonly DeliveryFailure[] {
    return this.queue.takeFailures();
  }

  async sendOffsets(offsets: readonly OffsetToCommit[], consumer: GroupConsumer): Promise<void> {
    const problem = checkOffsets(offsets);
    if (problem !== undefined) throw this.connection.invalidArgument(`sendOffsets: ${problem}`);
    if (!(consumer instanceof SimulatedConsumer)) throw this.violation('sendOffsets for a consumer of another broker');
    if (offsets.length === 0) return;
    // The transaction is none the worse for it, but it must not be committed without its offsets.
    consumer.requireHeld(offsets);
    const copies = offsets.map((offset) => ({ ...offset }));
    await this.exclusively('sendOffsets', ['open', 'mustAbort'], async () => {
      if (this.hasFailed()) throw this.mustAbort();
      await this.orMustAbort(() => this.sendCopies(copies, consumer));
    });
  }

  commit(): Promise<void> {
    return this.exclusively('commit', ['open', 'mustAbort', 'commitUnknown'], async () => {
      if (this.hasFailed()) throw this.mustAbort();
      this.state = 'commitUnknown';
      if (!(await this.queue.flush(this.callTimeoutMs))) throw simulatedError('TIMED_OUT');
      if (this.hasFailed()) throw this.mustAbort();
      try {
        await this.end('committed');
      } catch (error) {
        if (error instanceof BrokerError && error.kind === 'abortable') this.state = 'mustAbort';
        throw error;
      }
    });
  }

  abort(): Promise<void> {
    return this.exclusively('abort', ['open', 'mustAbort', 'abortUnknown'], async () => {
      this.state = 'abortUnknown';
      this.queue.purge();
      if (!(await this.queue.flush(this.callTimeoutMs))) throw simulatedError('TIMED_OUT');
      await this.end('aborted');
    });
  }

  close(): Promise<void> {
    this.closing ??= this.finish();
    return this.closing;
  }

  private async finish(): Promise<void> {
    while (this.running !== undefined) await this.connection.sleep(1);
    // What it leaves open otherwise, the next producer with its transactional id settles.
    if (this.state === 'open' || this.state === 'mustAbort') await this.abort().catch(() => {});
    this.state = 'closed';
    this.queue.purge();
    await this.connection.sleep(0);
  }

  private async sendCopies(offsets: readonly OffsetToCommit[], consumer: SimulatedConsumer): Promise<void> {
    const { connection } = this;
    const producer = this.requireIdentity();
    // The call is queued in the client; the membership is read when it runs.
    const { delayMs = 0 } = connection.cluster.faults.decide({
      name: 'sendOffsets',
      clientId: this.options.clientId,
      process: connection.process,
    });
    await connection.sleep(connection.cluster.latencyMs() + delayMs);
    const member = consumer.identity();
    this.started = true;
    await connection.callWhileConcurrent('addOffsets', this.callOptions(), () => addOffsets(connection.cluster, producer, member.groupId));
    await connection.call('commitTransactionOffsets', this.callOptions(), () =>
      commitTransactionOffsets(connection.cluster, producer, member, offsets),
    );
  }

  private async enter(partition: TopicPartition): Promise<void> {
    const { connection } = this;
    const producer = this.requireIdentity();
    if (connection.cluster.topics.findLog(partition) === undefined) await connection.sleep(topicPropagationMs);
    if (connection.cluster.topics.findLog(partition) === undefined)
      throw simulatedError('UNKNOWN_TOPIC_OR_PARTITION', partition, 'recordRefused');
    this.started = true;
    const add = (): Promise<void> =>
      connection.callWhileConcurrent('addPartitions', this.callOptions(), () => addPartitions(connection.cluster, producer, partition));
    // The client asks for one partition first: while the last transaction is being completed, all the others wait with it.
    if (this.firstEntry !== undefined) {
      await this.firstEntry.catch(() => {});
      return add();
    }
    this.firstEntry = add();
    return this.firstEntry;
  }

  private async end(outcome: Outcome): Promise<void> {
    if (this.started) {
      const { connection } = this;
      const producer = this.requireIdentity();
      const options = { ...this.callOptions(), commit: outcome === 'committed', detail: outcome };
      await connection.callWhileConcurrent('endTransaction', options, () => endTransaction(connection.cluster, producer, outcome));
    }
    this.started = false;
    this.firstEntry = undefined;
    this.queue.reset();
    this.state = 'ready';
  }

  private async orMustAbort(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof BrokerError) || error.kind !== 'retriable') this.state = 'mustAbort';
      throw error;
    }
  }

  /** Runs one call; a second one at the same time, or one that its state does not allow, breaks the port's rules. */
  private async exclusively(call: string, states: readonly State[], work: () => Promise<void>): Promise<void> {
    if (this.running !== undefined) throw this.violation(`${call} during ${this.running}`);
    if (this.state === 'closed' || (this.closing !== undefined && call !== 'abort'))
      throw closedError('PRODUCER_CLOSED', `The producer ${this.options.clientId}`);
    if (this.state === 'fenced') throw simulatedError('PRODUCER_FENCED');
    if (!states.includes(this.state)) throw this.violation(`${call} in the state ${this.state}`);
    this.running = call;
    try {
      await work();
    } catch (error) {
      if (error instanceof BrokerError && error.kind === 'fenced') this.state = 'fenced';
      throw error;
    } finally {
      this.running = undefined;
    }
  }

  /** A record was refused, or an earlier call has failed: nothing but an abort can follow. */
  private hasFailed(): boolean {
    if (this.queue.failure !== undefined) this.state = 'mustAbort';
    return this.state === 'mustAbort';
  }

  private mustAbort(): BrokerError {
    const cause = this.queue.failure;
    if (cause?.kind === 'fenced') {
      this.state = 'fenced';
      return cause;
    }
    if (cause === undefined) return simulatedError('INVALID_TXN_STATE', undefined, 'abortable');
    const { code, brokerCode, message, place } = cause;
    return new BrokerError({ code, kind: 'abortable', brokerCode, message: `The transaction must be aborted. ${message}`, place, cause });
  }

  private requireIdentity(): ProducerIdentity {
    if (this.identity === undefined) throw this.violation('used before init');
    return this.identity;
  }

  private callOptions() {
    return { clientId: this.options.clientId, timeoutMs: this.callTimeoutMs, isAbandoned: () => this.state === 'closed' };
  }

  private violation(message: string): Error {
    return this.connection.violation(`${this.options.clientId}: ${message}`);
  }
}
