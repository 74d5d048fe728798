/** Topics that records are sent to: physical names, partition counts and bounds, so that a record is refused while it is in hand. */
import { RecordRefusedError } from '../core/errors.js';
import type { Topology, UntypedTopic } from '../topology/topology.js';
import type { BrokerAdmin } from './broker.js';
import type { Destination } from './scope.js';

export class Destinations {
  private readonly byHandle = new Map<string, Destination>();
  private readonly physical = new Map<string, string>();
  private readonly lookUps = new Map<string, Promise<void>>();
  /** By physical name; kept when partition counts are forgotten. */
  private readonly counts = new Map<string, { records: number }>();

  constructor(
    private readonly admin: BrokerAdmin,
    topology: Topology,
    applicationId: string,
    private readonly recordBytesMax: number,
    private readonly unwritableTimestampMs?: number,
  ) {
    for (const { topic, name } of topology.repartitionTopics) this.physical.set(topic.name, repartitionTopicName(applicationId, name));
  }

  /** `undefined` while nothing is known of the topic: look it up. */
  of(topic: UntypedTopic): Destination | undefined {
    const known = this.byHandle.get(topic.name);
    if (known === undefined || topic.maxRecordBytes === undefined) return known;
    return { ...known, recordBytesMax: topic.maxRecordBytes };
  }

  byName(name: string): Destination | undefined {
    return this.byHandle.get(name);
  }

  /** The name of the topic on the broker: internal ones carry the application id. */
  physicalName(handleName: string): string {
    return this.physical.get(handleName) ?? handleName;
  }

  /**
   * Asks the cluster for the topic's partitions.
   * @throws RecordRefusedError `TOPIC_UNKNOWN` when it does not exist.
   */
  lookUp(name: string): Promise<void> {
    let running = this.lookUps.get(name);
    if (running === undefined) {
      running = this.describe(name).finally(() => this.lookUps.delete(name));
      this.lookUps.set(name, running);
    }
    return running;
  }

  /** Forgets partition counts, so that they are asked anew: partitions may have been added, or the topic deleted. */
  forget(): void {
    this.byHandle.clear();
  }

  private async describe(name: string): Promise<void> {
    const physical = this.physicalName(name);
    const description = (await this.admin.describeTopics([physical])).get(physical);
    if (description === undefined) {
      throw new RecordRefusedError('TOPIC_UNKNOWN', `Topic '${physical}' does not exist. Create it, then the record can be sent.`, {
        topic: physical,
      });
    }
    this.byHandle.set(name, {
      name: physical,
      partitions: description.partitions,
      recordBytesMax: this.recordBytesMax,
      unwritableTimestampMs: this.unwritableTimestampMs,
      sent: this.countOf(physical),
    });
  }

  private countOf(topic: string): { records: number } {
    let count = this.counts.get(topic);
    if (count === undefined) this.counts.set(topic, (count = { records: 0 }));
    return count;
  }

  /** Records handed to a transaction or a producer, by physical name of the topic. */
  get sent(): ReadonlyMap<string, { readonly records: number }> {
    return this.counts;
  }
}

/** @param name as the topology names it, `<operator>-repartition`. */
export function repartitionTopicName(applicationId: string, name: string): string {
  return `${applicationId}-${name}`;
}

export function changelogTopicName(applicationId: string, store: string): string {
  return `${applicationId}-${store}-changelog`;
}
