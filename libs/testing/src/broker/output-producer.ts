/** The idempotent, not transactional producer of a simulated process. */
import type { DeliveryFailure, Headers, OutputProducer } from '@tally/streams';
import type { Connection } from './connection.js';
import { simulatedError } from './errors.js';
import { makeRecord } from './make-record.js';
import { RecordQueue } from './record-queue.js';
import { produce } from './requests/index.js';
import type { ProducerSettings } from './transactional-producer.js';

const deliveryTimeoutMs = 120_000;

export class SimulatedOutputProducer implements OutputProducer {
  private readonly queue: RecordQueue;
  private state: 'new' | 'connected' | 'closed' = 'new';

  constructor(
    private readonly connection: Connection,
    private readonly settings: ProducerSettings,
  ) {
    this.queue = new RecordQueue({
      connection,
      clientId: connection.process,
      ...settings,
      deliveryTimeoutMs,
      transactional: false,
      enter: () => Promise.resolve(),
      isAbandoned: () => this.state === 'closed',
      write: (at, records, isOutOfOrder) => produce(connection.cluster, at, records, { isOutOfOrder }),
    });
  }

  async connect(): Promise<void> {
    if (this.state !== 'new') throw this.connection.violation(`connect of an output producer in the state ${this.state}`);
    const { connection, settings } = this;
    await connection.call('connect', { clientId: connection.process, timeoutMs: settings.callTimeoutMs }, () => undefined);
    this.state = 'connected';
  }

  produce(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestampMs: number,
    headers: Headers,
  ): boolean {
    if (this.state !== 'connected') throw this.connection.violation(`produce of an output producer in the state ${this.state}`);
    return this.queue.add(makeRecord(this.connection, topic, partition, key, value, timestampMs, headers));
  }

  takeFailures(): readonly DeliveryFailure[] {
    return this.queue.takeFailures();
  }

  async flush(timeoutMs: number): Promise<void> {
    if (this.state !== 'connected') throw this.connection.violation(`flush of an output producer in the state ${this.state}`);
    if (!(await this.queue.flush(timeoutMs))) throw simulatedError('TIMED_OUT');
  }

  async close(): Promise<void> {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.queue.purge();
    await this.connection.sleep(0);
  }
}
