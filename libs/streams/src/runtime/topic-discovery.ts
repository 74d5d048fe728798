/**
 * Looks for topics that have come since the start and match a pattern, and lets them join the tasks.
 *
 * A worker that has found a topic subscribes to it as well; the group gives its partitions to those who have, with the partitions of the same number
 * once all have found it. A task takes the topic in when it owns its partition: it commits what it has done, closes, and is opened again.
 */
import type { BrokerAdmin } from './broker.js';
import type { ConsumerGate } from './consumer-gate.js';
import type { TaskEnvironment } from './environment.js';
import type { Lock } from './lock.js';
import { TopicPatterns } from './topic-patterns.js';
import { type InputTopic, type TopicPlan, subscriptionOf } from './topics.js';

export class TopicDiscovery {
  private readonly patterns: TopicPatterns;
  private readonly refused = new Set<string>();

  constructor(
    private readonly environment: TaskEnvironment,
    admin: BrokerAdmin,
    private readonly plan: TopicPlan,
    private readonly gate: ConsumerGate,
    private readonly lock: Lock,
  ) {
    this.patterns = new TopicPatterns(environment.topology, admin, environment.options.applicationId);
  }

  async look(): Promise<void> {
    if (this.patterns.isEmpty) return;
    const fresh = (await this.patterns.find()).flatMap(({ topics }) => topics.filter((topic) => this.isNew(topic)));
    if (fresh.length === 0) return;
    await this.lock.run(async () => {
      // First the group: a topic that is planned is not looked for again.
      const names = [...subscriptionOf(this.plan), ...fresh.map(({ name }) => name)].toSorted();
      await this.gate.betweenConsumes(() => this.gate.consumer.subscribe(names));
      for (const topic of fresh) this.add(topic);
    });
  }

  private isNew(topic: InputTopic): boolean {
    if (this.refused.has(topic.name)) return false;
    const id = this.subTopologyOf(topic);
    if (this.plan.inputs.get(id)?.some(({ name }) => name === topic.name) === true) return false;
    return this.fits(topic, id);
  }

  /** Another number of partitions would need other changelogs, and tasks that cannot be shared. */
  private fits({ name, partitions }: InputTopic, id: string): boolean {
    const tasks = this.plan.tasks.get(id) ?? 0;
    if (partitions === 1 || partitions === tasks) return true;
    this.refused.add(name);
    this.environment.logger.error(
      `Topic '${name}' matches a pattern and is not read: it has ${partitions} partitions, and those of sub-topology '${id}' have ${tasks}. Create it anew with as many.`,
      { topic: name },
    );
    return false;
  }

  private add(topic: InputTopic): void {
    const id = this.subTopologyOf(topic);
    this.plan.inputs.set(id, [...(this.plan.inputs.get(id) ?? []), topic]);
    this.environment.logger.info(`Topic '${topic.name}' was found and joins sub-topology '${id}'.`, { topic: topic.name });
  }

  private subTopologyOf({ handle }: InputTopic): string {
    return this.environment.topology.subTopologies.find(({ sourceTopics }) => sourceTopics.includes(handle))?.id ?? handle;
  }
}
