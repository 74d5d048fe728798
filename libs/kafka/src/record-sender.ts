/** What both producers are: a native client that queues records exactly as they are, and says what the broker refused. */
import { assert, type BrokerError, type DeliveryFailure, type Headers, partitionName, type RecordSender } from '@tally/streams';
import { toNativeBytes } from './bytes.js';
import { ClientLog } from './client-log.js';
import { DeliveryReports } from './delivery-reports.js';
import { disconnectWhenIdle } from './disconnect.js';
import { classify, errorNumbers, numberOf, type Operation } from './errors.js';
import { toNativeHeaders } from './headers.js';
import { CallsInFlight, nativeCall } from './native-call.js';
import { loadNativeModule, type NativeProducer } from './native.js';
import type { ResolvedOptions } from './options.js';
import type { QueueWatch } from './queue-watch.js';
import { checkRecord } from './record-checks.js';
import { TopicRefresh } from './topic-refresh.js';

const pollIntervalMs = 100;

export abstract class NativeRecordSender implements RecordSender {
  protected readonly options: ResolvedOptions;
  /** For messages. */
  protected readonly name: string;
  protected readonly calls = new CallsInFlight();
  protected readonly reports = new DeliveryReports();
  readonly #topics = new TopicRefresh(this.calls);
  #client: NativeProducer | undefined;

  #unfollow: () => void = () => {};

  constructor(
    options: ResolvedOptions,
    name: string,
    private readonly queues: QueueWatch,
  ) {
    this.options = options;
    this.name = name;
  }

  /** Asserts that a record may be queued now. */
  protected abstract beforeRecord(): void;

  /** Whether a record that the client refuses with this error is dropped, and no cause of anything. */
  protected abstract isDropped(number: number | undefined): boolean;

  produce(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestampMs: number,
    headers: Headers,
  ): boolean {
    this.beforeRecord();
    checkRecord(topic, partition, key, value, timestampMs);
    const nativeHeaders = toNativeHeaders(headers, topic);
    const client = this.client();
    try {
      // Buffers alone: a string key would end at its first NUL. No opaque: it would leak, since successes are not reported.
      client.produce(topic, partition, toNativeBytes(value), toNativeBytes(key), timestampMs, undefined, nativeHeaders);
      return true;
    } catch (thrown) {
      return this.#refused(client, thrown, topic, partition);
    }
  }

  #refused(client: NativeProducer, thrown: unknown, topic: string, partition: number): boolean {
    const number = numberOf(thrown);
    if (number === errorNumbers.queueFull) return false;
    if (this.isDropped(number)) return true;
    if (number === errorNumbers.unknownPartition && this.#topics.awaits(client, topic)) return false;
    throw classify(thrown, 'produce', `Queueing a record for ${partition < 0 ? topic : partitionName({ topic, partition })}`, {
      topic,
      partition,
    });
  }

  takeFailures(): readonly DeliveryFailure[] {
    return this.reports.takeFailures();
  }

  protected get isConnected(): boolean {
    return this.#client !== undefined;
  }

  protected client(): NativeProducer {
    const client = this.#client;
    // Asked for with each record: the message is made only when it is needed.
    if (client === undefined) assert(false, `the ${this.name} is used before it is connected`);
    return client;
  }

  protected async connectClient(properties: Readonly<Record<string, string>>): Promise<void> {
    const client = new (loadNativeModule().Producer)({ ...properties, dr_cb: true });
    new ClientLog(this.options.logger, this.name).listen(client);
    this.reports.listen(client);
    this.#unfollow = this.queues.follow(client);
    await this.calls.track(
      nativeCall<unknown>(
        (thrown) => this.classify(thrown, 'connect'),
        (callback) => client.connect({ allTopics: false, timeout: this.options.requestTimeoutMs }, callback),
      ),
    );
    client.setPollInterval(pollIntervalMs);
    this.#client = client;
  }

  /** Waits until all that is queued has been answered. */
  protected flushClient(timeoutMs: number): Promise<void> {
    const client = this.client();
    return this.calls.track(
      nativeCall<void>(
        (thrown) => this.classify(thrown, 'flush'),
        (callback) => client.flush(Math.max(1, Math.floor(timeoutMs)), callback),
      ),
    );
  }

  /** Disconnects once `calls` have ended and `before` has been done; what is queued is sent for up to `flushMs`. */
  protected disconnectClient(
    flushMs: number,
    { calls = this.calls, before }: { calls?: CallsInFlight; before?: () => Promise<void> } = {},
  ) {
    this.#unfollow();
    return disconnectWhenIdle({
      name: this.name,
      client: () => this.#client,
      calls,
      timeoutMs: this.options.closeTimeoutMs,
      logger: this.options.logger,
      disconnect: (callback) => this.#client?.disconnect(flushMs, callback),
      ...(before === undefined ? {} : { before }),
    });
  }

  /** Resolves when the client is not asked for a topic any more. */
  protected topicsRefreshed(): Promise<unknown> {
    return this.#topics.settled();
  }

  /** Another client may be connected afterwards. */
  protected forgetClient(): void {
    this.#client = undefined;
  }

  protected classify(thrown: unknown, operation: Operation): BrokerError {
    return classify(thrown, operation, `${operation} of the ${this.name}`);
  }
}
