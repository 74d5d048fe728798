/** Topics that are read because their names match a pattern. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { Topology, UntypedSourceTopic } from '../topology/topology.js';
import type { BrokerAdmin } from './broker.js';
import { changelogTopicName, repartitionTopicName } from './destinations.js';
import type { InputTopic } from './topics.js';

type Pattern = UntypedSourceTopic & { readonly pattern: RegExp };

/** Begins the names of Kafka's internal topics. */
const kafkasOwn = '__';

export interface MatchedTopics {
  readonly handle: Pattern;
  readonly topics: readonly InputTopic[];
}

export class TopicPatterns {
  private readonly handles: readonly Pattern[];
  /** What the topology names elsewhere, and what Tally makes for it. */
  private readonly excluded: ReadonlySet<string>;

  constructor(
    topology: Topology,
    private readonly admin: BrokerAdmin,
    applicationId: string,
  ) {
    const sources = [...topology.nodes.values()].flatMap((node) => (node.kind === 'source' ? node.topics : []));
    this.handles = sources.filter((topic): topic is Pattern => topic.pattern !== undefined);
    const sinks = [...topology.nodes.values()].flatMap((node) =>
      node.kind === 'sink' && typeof node.topic !== 'function' ? [node.topic] : [],
    );
    this.excluded = new Set([
      ...[...sources, ...sinks].map(({ name }) => name),
      ...Array.from(topology.globalStores.values(), ({ topic }) => topic.name),
      ...topology.repartitionTopics.map(({ name }) => repartitionTopicName(applicationId, name)),
      ...Array.from(topology.stores.keys(), (store) => changelogTopicName(applicationId, store)),
    ]);
  }

  get isEmpty(): boolean {
    return this.handles.length === 0;
  }

  /** Topics of each pattern, by name. A topic that several patterns match belongs to the first. */
  async find(): Promise<readonly MatchedTopics[]> {
    if (this.isEmpty) return [];
    const left = new Set((await this.admin.listTopics()).filter((name) => !this.excluded.has(name) && !name.startsWith(kafkasOwn)));
    const found: MatchedTopics[] = [];
    for (const handle of this.handles) {
      const names = [...left].filter((name) => handle.pattern.test(name)).toSorted();
      for (const name of names) left.delete(name);
      const described = await this.admin.describeTopics(names);
      const topics = [...described.values()].map(({ name, topicId, partitions }): InputTopic => ({
        handle: handle.name,
        source: name,
        isInternal: false,
        name,
        topicId,
        partitions,
        startAt: handle.startAt ?? 'earliest',
      }));
      found.push({ handle, topics });
    }
    return found;
  }
}

export function noTopicMatches({ name, pattern }: Pattern): InvalidConfigurationError {
  return new InvalidConfigurationError(
    'TOPIC_MISSING',
    `No topic matches ${String(pattern)}, the pattern of '${name}'. Create the first one and start again; further ones are found while the application runs.`,
    { topic: name },
  );
}
