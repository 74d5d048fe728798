/** The idempotent producer without transactions: outputs under `at-least-once`. */
import { assert, type OutputProducer } from '@tally/streams';
import { outputProducerProperties } from './client-properties.js';
import type { ResolvedOptions } from './options.js';
import type { QueueWatch } from './queue-watch.js';
import { NativeRecordSender } from './record-sender.js';

const flushAtCloseMs = 1_000;

export class KafkaOutputProducer extends NativeRecordSender implements OutputProducer {
  #closing: Promise<void> | undefined;

  constructor(options: ResolvedOptions, queues: QueueWatch) {
    super(options, 'output producer', queues);
  }

  async connect(): Promise<void> {
    assert(!this.isConnected, `the ${this.name} is connected twice`);
    await this.connectClient(outputProducerProperties(this.options));
  }

  async flush(timeoutMs: number): Promise<void> {
    this.#checkOpen('flush');
    await this.flushClient(timeoutMs);
    await this.reports.settled();
  }

  close(): Promise<void> {
    this.#closing ??= this.disconnectClient(flushAtCloseMs);
    return this.#closing;
  }

  protected override beforeRecord(): void {
    this.#checkOpen('produce');
  }

  protected override isDropped(): boolean {
    return false;
  }

  #checkOpen(call: 'produce' | 'flush'): void {
    assert(this.isConnected && this.#closing === undefined, `${call} on an output producer that is not connected`);
  }
}
