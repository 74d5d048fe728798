/** What the commands of one sequence act on, and how they wait for what takes a moment. */
import type { Broker, PartitionReader, TopicPartition } from '@tally/streams';
import { persistently } from './answers.suite.js';
import { type Place, places } from './commands.suite.js';

/** A broker with two topics that belong to this sequence alone as long as it runs, and readers that are used by one sequence at a time. */
export interface Playground {
  readonly broker: Broker;
  readonly topics: { readonly plain: string; readonly compacted: string };
  readonly committedReader: PartitionReader;
  readonly uncommittedReader: PartitionReader;
  /** Differs for each sequence on this cluster: ids of groups and transactions begin with it. */
  readonly prefix: string;
  addPartitions(topic: string, total: number): Promise<void>;
  deleteTopic(topic: string): Promise<void>;
  /** Pauses by the broker's clock. */
  sleep(durationMs: number): Promise<void>;
  /** Monotonic. */
  nowMs(): number;
}

/** Records with old timestamps must neither be deleted by retention nor make the compacted topic begin a new segment, for old ones are cleaned. */
const segmentMs = '100000000000000';

export const topicSettings = {
  plain: { partitions: 2, config: { 'max.message.bytes': '20000', 'retention.ms': '-1' } },
  compacted: { partitions: 1, config: { 'cleanup.policy': 'compact', 'max.message.bytes': '20000', 'segment.ms': segmentMs } },
} as const;

const pauseMs = 4;
/** More than anything takes that a command waits for. */
const patienceMsMax = 30_000;

export class World {
  /** Where the sequence has found the partitions: it counts offsets from there. */
  private readonly bases = new Map<Place, number>();

  private constructor(readonly playground: Playground) {}

  static async on(playground: Playground): Promise<World> {
    const world = new World(playground);
    await world.untilSettled();
    const ends = await world.offsets(places, 'highWatermark');
    for (const [place, end] of ends) world.bases.set(place, end);
    return world;
  }

  get broker(): Broker {
    return this.playground.broker;
  }

  partitionOf(place: Place): TopicPartition {
    const [role, partition] = place.split('/') as ['plain' | 'compacted', string];
    return { topic: this.playground.topics[role], partition: Number(partition) };
  }

  placeOf({ topic, partition }: TopicPartition): Place {
    return `${topic === this.playground.topics.plain ? 'plain' : 'compacted'}/${partition}` as Place;
  }

  baseOf(place: Place): number {
    return this.bases.get(place) ?? 0;
  }

  /** Offsets of before the sequence count as its start. */
  relative(place: Place, offset: number): number {
    return Math.max(0, offset - this.baseOf(place));
  }

  absolute(place: Place, relativeOffset: number): number {
    return this.baseOf(place) + relativeOffset;
  }

  async offsets(at: readonly Place[], spec: 'earliest' | 'highWatermark' | 'lastStable'): Promise<Map<Place, number>> {
    const partitions = at.map((place) => this.partitionOf(place));
    const listed = await persistently(() => this.broker.admin.listOffsets(partitions, spec));
    return new Map(listed.map((each) => [this.placeOf(each), each.offset]));
  }

  async end(place: Place): Promise<number> {
    return (await this.offsets([place], 'highWatermark')).get(place) ?? 0;
  }

  /** An offset between the first that this sequence may see and the end: 0 is the former, 5 the latter. */
  async share(place: Place, fifths: number): Promise<number> {
    const start = Math.max(this.baseOf(place), (await this.offsets([place], 'earliest')).get(place) ?? 0);
    const end = await this.end(place);
    return start + Math.floor(((end - start) * fifths) / 5);
  }

  /** @returns whether it came to pass. What did not shows in later answers. */
  async until(reached: () => boolean | Promise<boolean>, patienceMs = patienceMsMax): Promise<boolean> {
    const { playground } = this;
    const deadlineMs = playground.nowMs() + patienceMs;
    while (!(await reached())) {
      if (playground.nowMs() > deadlineMs) return false;
      await playground.sleep(pauseMs);
    }
    return true;
  }

  /** No transaction is open any more, and none has a marker to come. */
  async untilSettled(): Promise<boolean> {
    return this.until(async () => {
      const [ends, stable] = [await this.offsets(places, 'highWatermark'), await this.offsets(places, 'lastStable')];
      return places.every((place) => ends.get(place) === stable.get(place));
    });
  }
}
