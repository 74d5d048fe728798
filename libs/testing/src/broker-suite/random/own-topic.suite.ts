/** A topic that belongs to one sequence alone and may be made, grown, removed and made again. */
import { type Answer, answerOf, bytesOf, headersOf, persistently } from './answers.suite.js';
import type { RecordShape } from './commands.suite.js';
import type { World } from './world.suite.js';

export class OwnTopic {
  private readonly name: string;
  private exists = false;
  /** Ids that were seen, in their order: what they are is of no interest, only whether it is another one. */
  private readonly ids: string[] = [];

  constructor(private readonly world: World) {
    this.name = `${world.playground.prefix}-own`;
  }

  async make(partitions: number): Promise<Answer> {
    const answer = await answerOf(() =>
      this.world.broker.admin.createTopic({ name: this.name, partitions, replicationFactor: -1, config: { 'retention.ms': '-1' } }),
    );
    this.exists = true;
    return [answer, await this.describe()];
  }

  async grow(more: number): Promise<Answer> {
    const before = await this.description();
    if (before === undefined) return 'nothing';
    const partitions = before.partitions + more;
    await this.world.playground.addPartitions(this.name, partitions);
    await this.world.until(async () => (await this.description())?.partitions === partitions);
    return this.describe();
  }

  async remove(): Promise<Answer> {
    if (!this.exists) return 'nothing';
    this.exists = false;
    await this.world.playground.deleteTopic(this.name);
    await this.world.until(async () => (await this.description()) === undefined);
    return this.describe();
  }

  /** With a producer of its own: what an older one remembers of the topic is a matter of time. */
  async write(partition: number, records: readonly RecordShape[]): Promise<Answer> {
    if (partition >= ((await this.description())?.partitions ?? 0)) return 'no such partition';
    const producer = this.world.broker.createOutputProducer();
    await persistently(() => producer.connect());
    for (const record of records)
      producer.produce(this.name, partition, bytesOf(record.key), bytesOf(record.value), record.timestampMs, headersOf(record));
    const answer = await answerOf(() => producer.flush(10_000));
    await producer.close();
    return [answer, producer.takeFailures().length];
  }

  async look(): Promise<Answer> {
    const partitions = (await this.description())?.partitions ?? 1;
    const all = Array.from({ length: partitions }, (_, partition) => ({ topic: this.name, partition }));
    const offsets = await answerOf(async () => {
      const listed = await this.world.broker.admin.listOffsets(all, 'highWatermark');
      return listed.map(({ offset }) => offset);
    });
    return [await this.describe(), offsets];
  }

  async close(): Promise<void> {
    if (this.exists) await this.world.playground.deleteTopic(this.name);
  }

  private async description() {
    return (await persistently(() => this.world.broker.admin.describeTopics([this.name]))).get(this.name);
  }

  private async describe(): Promise<Answer> {
    const found = await this.description();
    if (found === undefined) return 'none';
    if (!this.ids.includes(found.topicId)) this.ids.push(found.topicId);
    return { partitions: found.partitions, id: this.ids.indexOf(found.topicId) };
  }
}
