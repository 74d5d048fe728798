/**
 * The transactional producer. Invariants:
 *
 * 1. At most one of init, begin, sendOffsets, commit and abort is under way: the client answers overlaps with errors, or aborts the process.
 * 2. Records are queued only while a transaction is open and neither begin, commit nor abort is under way.
 * 3. After a commit whose outcome is not known the only call is that commit again, or close.
 * 4. The client is disconnected once, with nothing under way and after an open transaction was aborted.
 * 5. A client is used on after an abort only when every request of the transaction was answered. Records that it drops at the abort count
 *    as never sent, though it may have sent them and lost the answer: it would give their sequence numbers to others, and the broker would
 *    take these for what it has already, and acknowledge them without writing them. A request of the aborted transaction that comes
 *    late would be taken into the next one. A new client has a new epoch, in which numbers begin anew, and which fences what is late.
 *
 * Known and without a way round: the client leaks about 106 bytes per partition and `sendOffsets` call, for its worker never frees the
 * list that it made of the offsets. Callers keep the lists short: only tasks that changed.
 */
import {
  assert,
  BrokerError,
  type GroupConsumer,
  type OffsetToCommit,
  type TransactionalProducer,
  type TransactionalProducerOptions,
} from '@tally/streams';
import { transactionalProducerProperties } from './client-properties.js';
import { KafkaGroupConsumer } from './consumer.js';
import { errorNumbers, replaceProducer } from './errors.js';
import { CallsInFlight, nativeCall, settledWithin } from './native-call.js';
import type { Callback, NativeProducer } from './native.js';
import type { ResolvedOptions } from './options.js';
import type { QueueWatch } from './queue-watch.js';
import { NativeRecordSender } from './record-sender.js';
import { toOffsetsToCommit } from './topic-partitions.js';

type Phase = 'created' | 'ready' | 'open' | 'committing' | 'aborting' | 'unusable';
type Call = 'init' | 'begin' | 'sendOffsets' | 'commit' | 'abort';

const allowedIn: Readonly<Record<Call, readonly Phase[]>> = {
  init: ['created'],
  begin: ['ready'],
  sendOffsets: ['open'],
  commit: ['open', 'committing'],
  abort: ['open', 'aborting'],
};

/** A commit or abort that takes longer answers `retriable`, and the same call goes on with it. */
const endTimeoutMsMax = 5_000;
/**
 * How long sending the offsets may overrun its time-out. Where the client waits for a coordinator that has left it never calls back at all,
 * whatever its time-out.
 */
const overrunMsMax = 10_000;
/** Nothing is left to send at close, but the client's own default is five seconds. */
const flushAtCloseMs = 100;

/** How long an abort waits for the answers to what was sent before it. */
const answersTimeoutMs = 1_000;

export class KafkaTransactionalProducer extends NativeRecordSender implements TransactionalProducer {
  readonly #producer: TransactionalProducerOptions;
  readonly #callTimeoutMs: number;
  #phase: Phase = 'created';
  #underWay: Call | undefined;
  #closing: Promise<void> | undefined;
  #hasRecords = false;
  #hasFailed = false;
  /** The offsets may still be on their way to the broker, though their call has ended. */
  #offsetsInDoubt = false;
  /** The transaction has been aborted and its client discarded; another one is to be initialised. */
  #renewing = false;
  /** A record was dropped because the transaction had failed behind the scenes. */
  #doomed = false;

  constructor(options: ResolvedOptions, producer: TransactionalProducerOptions, queues: QueueWatch) {
    super(options, `transactional producer ${producer.transactionalId}`, queues);
    this.#producer = producer;
    this.#callTimeoutMs = Math.min(producer.transactionTimeoutMs, endTimeoutMsMax);
  }

  async init(): Promise<void> {
    await this.#exclusively('init', () => this.#initialise());
    this.#phase = 'ready';
  }

  async #initialise(): Promise<void> {
    if (!this.isConnected) await this.connectClient(transactionalProducerProperties(this.options, this.#producer));
    try {
      await this.#call('init', (client, callback) => client.initTransactions(this.options.requestTimeoutMs, callback));
    } catch (error) {
      // Only an init that timed out goes on where it was; after any other error the client is of no more use.
      if ((error as BrokerError).code !== 'TIMED_OUT') await this.#discard();
      throw error;
    }
  }

  async #discard(): Promise<void> {
    await this.topicsRefreshed();
    // The call in which this happens is the only one, and has nothing under way itself.
    await this.disconnectClient(flushAtCloseMs, { calls: new CallsInFlight() });
    this.forgetClient();
  }

  async begin(): Promise<void> {
    await this.#exclusively('begin', () => this.#call('begin', (client, callback) => client.beginTransaction(callback)));
    this.#phase = 'open';
    this.#hasRecords = false;
    this.#hasFailed = false;
    this.#offsetsInDoubt = false;
    this.#doomed = false;
    this.reports.begun();
  }

  protected override beforeRecord(): void {
    const isBusy = this.#underWay !== undefined && this.#underWay !== 'sendOffsets';
    const mayQueue = this.#phase === 'open' && !isBusy && this.#closing === undefined;
    if (!mayQueue) assert(false, `produce on a ${this.name} that is ${this.#closing ? 'closed' : (this.#underWay ?? this.#phase)}`);
    this.#hasRecords = true;
  }

  /** The transaction has failed behind the scenes. It cannot commit any more, and its end says why; this record is no cause. */
  protected override isDropped(number: number | undefined): boolean {
    if (number !== errorNumbers.state && number !== errorNumbers.fatal) return false;
    this.#doomed = true;
    return true;
  }

  async sendOffsets(offsets: readonly OffsetToCommit[], consumer: GroupConsumer): Promise<void> {
    assert(consumer instanceof KafkaGroupConsumer, 'sendOffsets needs the consumer of the same broker');
    const list = toOffsetsToCommit(offsets);
    if (list.length === 0) return;
    // The native side reads the membership of this very consumer, and crashes when it is disconnected.
    const member = consumer.memberFor(offsets);
    this.#offsetsInDoubt = true;
    try {
      await this.#exclusively('sendOffsets', () =>
        this.#explained(
          this.#answered(
            // Held back until then is the closing of the member: the native side would read a consumer that is gone.
            member.calls.track(
              this.#call('sendOffsets', (client, callback) =>
                client.sendOffsetsToTransaction(list, member.client, this.#callTimeoutMs, callback),
              ),
            ),
          ),
        ),
      );
    } catch (error) {
      if (error instanceof BrokerError && error.kind === 'staleMember') consumer.refused();
      throw error;
    }
    consumer.accepted();
    this.#offsetsInDoubt = false;
  }

  /** The producer is of no more use once the bound has passed: the call may still be under way, and its successor fences it. */
  async #answered(call: Promise<void>): Promise<void> {
    // Also after the bound: closing must know that something is under way.
    void this.calls.track(call);
    const boundMs = this.#callTimeoutMs + overrunMsMax;
    if (await settledWithin(call, boundMs)) return call;
    this.#phase = 'unusable';
    throw new BrokerError({
      code: 'OFFSETS_UNANSWERED',
      kind: 'fatal',
      message: `sendOffsets of the ${this.name} has not called back within ${boundMs} ms. ${replaceProducer}`,
    });
  }

  async commit(): Promise<void> {
    await this.#exclusively('commit', async () => {
      this.#phase = 'committing';
      await this.#explained(this.#call('commit', (client, callback) => client.commitTransaction(this.#callTimeoutMs, callback)));
    });
    this.#phase = 'ready';
  }

  async abort(): Promise<void> {
    await this.#exclusively('abort', async () => {
      if (!this.#renewing) await this.#abort();
      if (!this.#renewing) return;
      await this.#initialise();
      this.#renewing = false;
    });
    this.#phase = 'ready';
  }

  async #abort(): Promise<void> {
    if (this.#phase === 'open') await this.#answersIn();
    this.#phase = 'aborting';
    await this.#call('abort', (client, callback) => client.abortTransaction(this.#callTimeoutMs, callback));
    await this.reports.settled();
    this.#renewing = this.reports.hasPurged || this.#offsetsInDoubt;
    if (this.#renewing) await this.#discard();
  }

  /**
   * Waits for what was sent. Also because the client registers a transaction's partitions with its first records, which the coordinator puts
   * off while the markers of the transaction before are under way: an abort that overtakes the registration is answered with a fatal error.
   */
  async #answersIn(): Promise<void> {
    if (this.#hasFailed || !this.#hasRecords || this.#doomed) return;
    // Whatever it answers, the abort decides.
    await this.flushClient(answersTimeoutMs).catch(() => undefined);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #close(): Promise<void> {
    return this.disconnectClient(flushAtCloseMs, { before: () => this.#abortAtClose() });
  }

  /** Asked when nothing is under way any more: a commit that was may have failed, and the transaction be open still. */
  async #abortAtClose(): Promise<void> {
    if (this.#phase !== 'open') return;
    await this.#answersIn();
    try {
      await this.#call('abort', (client, callback) => client.abortTransaction(this.#callTimeoutMs, callback));
    } catch (error) {
      this.options.logger.warn(`The ${this.name} closes with its transaction open: ${String(error)}`);
    }
  }

  async #exclusively(call: Call, run: () => Promise<void>): Promise<void> {
    assert(this.#underWay === undefined, `${call} on the ${this.name} while its ${this.#underWay} is under way`);
    if (this.#closing !== undefined || this.#phase === 'unusable') throw this.#noMoreUse(call);
    assert(allowedIn[call].includes(this.#phase), `${call} on the ${this.name} in phase ${this.#phase}`);
    this.#underWay = call;
    try {
      await this.calls.track(run());
    } catch (error) {
      this.#phaseAfter(error);
      throw error;
    } finally {
      this.#underWay = undefined;
    }
  }

  /** Retriable: the phase stays, so that only the same call may follow. */
  #phaseAfter(error: unknown): void {
    this.#hasFailed = true;
    if (!(error instanceof BrokerError)) return;
    if (error.kind === 'fenced') this.#phase = 'unusable';
    else if (error.kind === 'abortable' && this.#phase === 'committing') this.#phase = 'open';
  }

  #call(call: Call, start: (client: NativeProducer, callback: Callback) => void): Promise<void> {
    const client = this.client();
    return nativeCall<void>(
      (thrown) => this.classify(thrown, call),
      (callback) => start(client, callback),
    );
  }

  /** The call's own error says "abort"; the reports say which record was refused. */
  async #explained(call: Promise<void>): Promise<void> {
    try {
      await call;
    } catch (error) {
      if (!(error instanceof BrokerError) || error.kind !== 'abortable') throw error;
      await this.reports.settled();
      throw this.reports.cause === undefined ? error : explain(error, this.reports.cause.error);
    }
  }

  #noMoreUse(call: Call): BrokerError {
    const closed = this.#closing !== undefined;
    return new BrokerError({
      code: closed ? 'PRODUCER_CLOSED' : 'FENCED',
      kind: closed ? 'closed' : 'fenced',
      message: `${call} on the ${this.name}, which is ${closed ? 'closed' : 'fenced: replace it by a new one'}.`,
    });
  }
}

function explain(error: BrokerError, refused: BrokerError): BrokerError {
  return new BrokerError({
    code: refused.code,
    kind: 'abortable',
    message: `${error.message} Cause: ${refused.message}`,
    brokerCode: refused.brokerCode,
    place: refused.place,
    cause: refused,
  });
}
