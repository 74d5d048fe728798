/** Checks the topics that a topology needs before anything is processed, and creates the internal ones. */
import { type Clock, sleep } from '../core/clock.js';
import { InvalidConfigurationError } from '../core/errors.js';
import type { ErrorPolicies, ErrorPolicy } from '../topology/error-policy.js';
import type { SubTopology, Topology } from '../topology/topology.js';
import type { BrokerAdmin, TopicDescription } from './broker.js';
import type { ChangelogTopic } from './commit.js';
import { type Destinations, changelogTopicName } from './destinations.js';
import type { ResolvedOptions } from './options.js';
import { repartitionPartitions } from './repartition-partitions.js';
import { type MatchedTopics, TopicPatterns, noTopicMatches } from './topic-patterns.js';

export interface InputTopic {
  /** Name of the handle in the topology. */
  readonly handle: string;
  /** What state that is made of it says of its origin: the handle's name, or of a pattern the topic's own. */
  readonly source: string;
  /** Made by Tally, for this application. */
  readonly isInternal: boolean;
  /** Name on the broker. */
  readonly name: string;
  readonly topicId: string;
  readonly partitions: number;
  /** Where a partition without a committed offset starts; internal topics from the beginning. */
  readonly startAt: 'earliest' | 'latest';
}

/** A topic that every worker reads whole. */
export interface GlobalTopic {
  readonly name: string;
  readonly topicId: string;
  readonly partitions: number;
}

export interface TopicPlan {
  /** Input topics of each sub-topology. Grows when a topic is found that matches a pattern. */
  readonly inputs: Map<string, readonly InputTopic[]>;
  /** Number of tasks of each sub-topology. */
  readonly tasks: ReadonlyMap<string, number>;
  readonly changelogs: ReadonlyMap<string, ChangelogTopic & { readonly partitions: number }>;
  /** By the global store's name. */
  readonly globals: ReadonlyMap<string, GlobalTopic>;
}

/** Physical names of all source topics of the tasks. */
export function subscriptionOf({ inputs }: TopicPlan): readonly string[] {
  return [...new Set([...inputs.values()].flat().map((topic) => topic.name))].sort();
}

/** How long a topic just created may stay invisible. */
const visibilityBoundMs = 15_000;

export class TopicPlanner {
  private readonly patterns: TopicPatterns;

  constructor(
    private readonly topology: Topology,
    private readonly admin: BrokerAdmin,
    private readonly destinations: Destinations,
    private readonly options: ResolvedOptions,
    private readonly clock: Clock,
  ) {
    this.patterns = new TopicPatterns(topology, admin, options.applicationId);
  }

  async plan(): Promise<TopicPlan> {
    const described = new Map(await this.describeExternal());
    const matched = await this.patterns.find();
    for (const { handle, topics } of matched) {
      if (topics.length === 0) throw noTopicMatches(handle);
      described.set(handle.name, { name: handle.name, topicId: '', partitions: Math.max(...topics.map(({ partitions }) => partitions)) });
    }
    await this.prepareRepartitionTopics(described);
    const inputs = new Map(this.topology.subTopologies.map((sub) => [sub.id, this.inputsOf(sub, described, matched)]));
    const tasks = new Map([...inputs].map(([id, topics]) => [id, Math.max(...topics.map((topic) => topic.partitions))]));
    for (const sub of this.topology.subTopologies) this.checkCopartitioning(sub, inputs.get(sub.id) ?? []);
    const changelogs = await this.prepareChangelogs(tasks);
    await this.checkSinks();
    const globals = new Map([...this.topology.globalStores].map(([name, { topic }]) => [name, this.globalTopic(topic.name, described)]));
    return { inputs, tasks, changelogs, globals };
  }

  private async describeExternal(): Promise<ReadonlyMap<string, TopicDescription>> {
    const internal = new Set(this.topology.repartitionTopics.map(({ topic }) => topic.name));
    const wanted = [...this.topology.nodes.values()]
      .flatMap((node) => (node.kind === 'source' ? node.topics.filter(({ pattern }) => pattern === undefined) : []))
      .concat([...this.topology.globalStores.values()].map(({ topic }) => topic))
      .filter(({ name }) => !internal.has(name));
    const described = await this.admin.describeTopics([...new Set(wanted.map(({ name }) => name))]);
    const missing = wanted.map(({ name }) => name).filter((name) => !described.has(name));
    if (missing.length > 0) throw missingTopics([...new Set(missing)], 'read from');
    for (const { name, partitions } of wanted) {
      const found = described.get(name)?.partitions;
      if (partitions === undefined || partitions === found) continue;
      throw new InvalidConfigurationError(
        'PARTITIONS_MISMATCH',
        `Topic '${name}' has ${found} partitions, but it is declared with ${partitions}. Change the declaration or the topic.`,
        { topic: name },
      );
    }
    return described;
  }

  private async prepareRepartitionTopics(described: Map<string, TopicDescription>): Promise<void> {
    const external = new Map([...described].map(([name, { partitions }]) => [name, partitions]));
    const counts = repartitionPartitions(this.topology, external);
    const config = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1', ...this.commonConfig() };
    for (const { topic } of this.topology.repartitionTopics) {
      const physical = this.destinations.physicalName(topic.name);
      described.set(topic.name, await this.ensure(physical, counts.get(topic.name) ?? 1, config, 'repartition topic'));
    }
  }

  private inputsOf(
    sub: SubTopology,
    described: ReadonlyMap<string, TopicDescription>,
    matched: readonly MatchedTopics[],
  ): readonly InputTopic[] {
    return sub.sourceTopics.flatMap((handle) => {
      const match = matched.find((each) => each.handle.name === handle);
      if (match !== undefined) return match.topics;
      const found = described.get(handle);
      if (found === undefined) throw missingTopics([handle], 'read from');
      const { name, topicId, partitions } = found;
      const isInternal = this.destinations.physicalName(handle) !== handle;
      return [{ handle, source: handle, isInternal, name, topicId, partitions, startAt: this.startAt(handle) }];
    });
  }

  private globalTopic(handle: string, described: ReadonlyMap<string, TopicDescription>): GlobalTopic {
    const found = described.get(handle);
    if (found === undefined) throw missingTopics([handle], 'read from');
    return found;
  }

  private startAt(handle: string): 'earliest' | 'latest' {
    if (this.destinations.physicalName(handle) !== handle) return 'earliest';
    for (const node of this.topology.nodes.values()) {
      const topic = node.kind === 'source' ? node.topics.find(({ name }) => name === handle) : undefined;
      if (topic !== undefined) return topic.startAt ?? 'earliest';
    }
    return 'earliest';
  }

  private checkCopartitioning(sub: SubTopology, inputs: readonly InputTopic[]): void {
    for (const group of sub.copartitioned) {
      const members = inputs.filter(({ handle }) => group.includes(handle));
      if (new Set(members.map(({ partitions }) => partitions)).size <= 1) continue;
      throw new InvalidConfigurationError(
        'NOT_COPARTITIONED',
        `Topics that are joined need equal numbers of partitions: ${countsOf(members)}. Repartition one of the streams, or recreate the topic.`,
      );
    }
    // The group's assignor keeps equal partition numbers together only where the counts are equal too (and number 0 always): between two
    // workers a task would have one of its inputs here and one there, and would never be opened by either.
    if (new Set(inputs.map(({ partitions }) => partitions).filter((partitions) => partitions > 1)).size <= 1) return;
    throw new InvalidConfigurationError(
      'NOT_COPARTITIONED',
      `Topics that run through the same nodes need equal numbers of partitions (or one), or workers could not share them: ${countsOf(inputs)}. ` +
        `Give each topic nodes of its own, repartition one of the streams, or recreate the topic.`,
    );
  }

  private async prepareChangelogs(tasks: ReadonlyMap<string, number>): Promise<TopicPlan['changelogs']> {
    const changelogs = new Map<string, ChangelogTopic & { readonly partitions: number }>();
    for (const sub of this.topology.subTopologies) {
      for (const store of sub.stores) {
        if (this.topology.stores.get(store)?.changelog !== true || this.topology.topicChangelogs.has(store)) continue;
        const config = {
          'cleanup.policy': 'compact',
          'delete.retention.ms': String(this.options.tombstoneRetentionMs),
          ...this.commonConfig(),
        };
        const name = changelogTopicName(this.options.applicationId, store);
        const found = await this.ensure(name, tasks.get(sub.id) ?? 1, config, `changelog of store '${store}'`);
        changelogs.set(store, { name, topicId: found.topicId, partitions: found.partitions });
      }
    }
    return changelogs;
  }

  private commonConfig(): Readonly<Record<string, string>> {
    return {
      'unclean.leader.election.enable': 'false',
      'max.message.bytes': String(Math.max(1_048_588, this.options.maxRecordBytes + 65_536)),
      // Records keep their own timestamps, however far in the future.
      'message.timestamp.after.max.ms': '9223372036854775807',
    };
  }

  private async ensure(
    name: string,
    partitions: number,
    config: Readonly<Record<string, string>>,
    what: string,
  ): Promise<TopicDescription> {
    const until = this.clock.monotonicMs() + visibilityBoundMs;
    let found = (await this.admin.describeTopics([name])).get(name);
    if (found === undefined) {
      await this.admin.createTopic({ name, partitions, replicationFactor: this.options.replicationFactor, config });
      for (;;) {
        found = (await this.admin.describeTopics([name])).get(name);
        if (found !== undefined) break;
        if (this.clock.monotonicMs() >= until) throw missingTopics([name], 'used internally');
        await sleep(this.clock, 50);
      }
    }
    if (found.partitions !== partitions) {
      throw new InvalidConfigurationError(
        'INTERNAL_TOPIC_PARTITIONS',
        `'${name}' (${what}) has ${found.partitions} partitions, but its sources have ${partitions}. Keyed state cannot be spread anew while it is in use: ` +
          `restore the former number of source partitions, or start under a new applicationId.`,
        { topic: name },
      );
    }
    return found;
  }

  /** Topics that are known before a record is sent to them; others are looked up when the first record comes. */
  private async checkSinks(): Promise<void> {
    const names = new Set<string>();
    for (const node of this.topology.nodes.values()) {
      if (node.kind === 'sink' && typeof node.topic !== 'function') names.add(node.topic.name);
      if (node.kind === 'processor') deadLetterTopics(node.errors).forEach((name) => names.add(name));
    }
    deadLetterTopics(this.options.errors).forEach((name) => names.add(name));
    const physical = [...names].map((name) => this.destinations.physicalName(name));
    const described = await this.admin.describeTopics(physical);
    const missing = physical.filter((name) => !described.has(name));
    if (missing.length > 0) throw missingTopics(missing, 'written to');
    for (const name of names) await this.destinations.lookUp(name);
  }
}

function countsOf(inputs: readonly InputTopic[]): string {
  return inputs.map(({ name, partitions }) => `'${name}' has ${partitions}`).join(', ');
}

function missingTopics(names: readonly string[], use: string): InvalidConfigurationError {
  const list = names.map((name) => `'${name}'`).join(', ');
  const [topic] = names;
  return new InvalidConfigurationError(
    'TOPIC_MISSING',
    `${names.length === 1 ? `Topic ${list} is` : `Topics ${list} are`} ${use} and do${names.length === 1 ? 'es' : ''} not exist. ` +
      `Create ${names.length === 1 ? 'it' : 'them'} (for example with kafka-topics.sh --create --topic ${topic ?? ''}) and start again.`,
    { topic },
  );
}

function deadLetterTopics(policies: ErrorPolicies | undefined): readonly string[] {
  if (policies === undefined) return [];
  return [policies.deserialization, policies.processing, policies.production].flatMap((choice) =>
    choice === undefined || typeof choice === 'function' ? [] : topicsOf(choice),
  );
}

function topicsOf(policy: ErrorPolicy): readonly string[] {
  if (policy.action === 'retry') return topicsOf(policy.then);
  if (policy.action !== 'deadLetter') return [];
  return [typeof policy.topic === 'string' ? policy.topic : policy.topic.name];
}
