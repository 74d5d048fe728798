/** The admin client of a simulated process. */
import {
  type BrokerAdmin,
  BrokerError,
  type CommittedOffset,
  type GroupMember,
  type OffsetSpec,
  type TopicDescription,
  type TopicPartition,
  type TopicPartitionOffset,
  type TopicSpecification,
} from '@tally/streams';
import type { SimulatedCluster } from './cluster.js';
import type { Connection } from './connection.js';
import { closedError, simulatedError } from './errors.js';
import type { RequestName } from './faults.js';
import { createTopic, deleteRecords, describeGroup, describeTopics, listOffsets, stableOffsets } from './requests/index.js';

export class SimulatedAdmin implements BrokerAdmin {
  private closed = false;

  constructor(
    private readonly connection: Connection,
    private readonly callTimeoutMs: number,
  ) {}

  listTopics(): Promise<readonly string[]> {
    return this.call('listTopics', (cluster) => Array.from(cluster.topics.all(), ({ name }) => name));
  }

  describeTopics(names: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>> {
    return this.call('describeTopics', (cluster) => describeTopics(cluster, names));
  }

  createTopic(topic: TopicSpecification): Promise<void> {
    return this.call('createTopic', (cluster) => createTopic(cluster, topic));
  }

  listOffsets(partitions: readonly TopicPartition[], spec: OffsetSpec): Promise<readonly TopicPartitionOffset[]> {
    return this.call('listOffsets', (cluster) => listOffsets(cluster, partitions, spec));
  }

  async stableOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<readonly CommittedOffset[]> {
    try {
      return await this.call('stableOffsets', (cluster) => stableOffsets(cluster, groupId, partitions));
    } catch (error) {
      // "No answer" must never be taken for "no offset".
      if (error instanceof BrokerError && error.kind === 'retriable') throw simulatedError('UNSTABLE_OFFSET_COMMIT');
      throw error;
    }
  }

  deleteRecords(before: readonly TopicPartitionOffset[]): Promise<void> {
    return this.call('deleteRecords', (cluster) => deleteRecords(cluster, before));
  }

  describeGroup(groupId: string): Promise<readonly GroupMember[]> {
    return this.call('describeGroup', (cluster) => describeGroup(cluster, groupId));
  }

  close(): void {
    this.closed = true;
  }

  private async call<T>(name: RequestName, request: (cluster: SimulatedCluster) => T): Promise<T> {
    if (this.closed) throw closedError('ADMIN_CLOSED', `The admin client (${name})`);
    const { cluster, process } = this.connection;
    return this.connection.call(name, { clientId: process, timeoutMs: this.callTimeoutMs }, () => request(cluster));
  }
}
