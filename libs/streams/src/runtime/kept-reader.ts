import { errorOf } from '../core/errors.js';
import type { Broker, PartitionReader } from './broker.js';
import type { Logger } from './hooks.js';

/** A reader that is connected when it is needed, and made anew after it was closed. */
export class KeptReader {
  private reader: PartitionReader | undefined;

  constructor(
    private readonly broker: Broker,
    private readonly logger: Logger,
    /** For the log: "reader of changelogs". */
    private readonly name: string,
  ) {}

  /** While it is connected. */
  get current(): PartitionReader | undefined {
    return this.reader;
  }

  /** @throws BrokerError when it cannot be connected */
  async connected(): Promise<PartitionReader> {
    if (this.reader === undefined) {
      const reader = this.broker.createReader();
      await reader.connect();
      this.reader = reader;
    }
    return this.reader;
  }

  /** Never rejects. */
  async close(): Promise<void> {
    const { reader } = this;
    this.reader = undefined;
    try {
      await reader?.close();
    } catch (error) {
      this.logger.debug(`The ${this.name} failed to close: ${errorOf(error).message}`);
    }
  }
}
