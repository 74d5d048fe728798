/** The reader outside of any group of a simulated process. */
import type { BrokerError, ConsumedRecord, PartitionReader, TopicPartition, TopicPartitionOffset } from '@tally/streams';
import type { Connection } from './connection.js';
import { closedError } from './errors.js';
import { Fetcher } from './fetcher.js';
import type { Isolation } from './log.js';

const callTimeoutMs = 5_000;

export class SimulatedReader implements PartitionReader {
  private readonly fetcher: Fetcher;
  private outOfRange: BrokerError | undefined;
  private state: 'new' | 'connected' | 'closed' = 'new';

  constructor(
    private readonly connection: Connection,
    isolation: Isolation,
  ) {
    const outOfRange = (error: BrokerError): void => {
      this.outOfRange = error;
    };
    this.fetcher = new Fetcher({ connection, clientId: `${connection.process} reader`, isolation, outOfRange });
  }

  async connect(): Promise<void> {
    if (this.state !== 'new') throw this.connection.violation(`connect of a reader in the state ${this.state}`);
    await this.connection.call('connect', { clientId: this.connection.process, timeoutMs: callTimeoutMs }, () => undefined);
    this.state = 'connected';
  }

  /** A partition that is assigned already starts again at the given offset. */
  async assign(starts: readonly TopicPartitionOffset[]): Promise<void> {
    this.requireConnected('assign');
    this.fetcher.add(starts, false);
    this.fetcher.seek(starts);
    await this.connection.sleep(0);
  }

  async unassign(partitions: readonly TopicPartition[]): Promise<void> {
    this.requireConnected('unassign');
    this.fetcher.remove(partitions.filter((partition) => this.fetcher.has(partition)));
    await this.connection.sleep(0);
  }

  async read(recordsMax: number, timeoutMs: number): Promise<ConsumedRecord[]> {
    this.requireConnected('read');
    const records = await this.fetcher.read(recordsMax, timeoutMs);
    const error = this.outOfRange;
    this.outOfRange = undefined;
    if (error !== undefined && records.length === 0) throw error;
    return records;
  }

  position(partition: TopicPartition): number | undefined {
    return this.fetcher.position(partition);
  }

  async close(): Promise<void> {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.fetcher.interruptRead();
    while (this.fetcher.reading) await this.connection.sleep(1);
    await this.connection.sleep(0);
  }

  private requireConnected(call: string): void {
    if (this.state === 'closed') throw closedError('READER_CLOSED', 'The reader');
    if (this.state !== 'connected') throw this.connection.violation(`${call} of a reader in the state ${this.state}`);
  }
}
