/** One group under random commands: members come and go, consume, and commit offsets. */
import { isDeepStrictEqual } from 'node:util';
import type { ConsumedRecord, GroupConsumer } from '@tally/streams';
import { type Answer, answerOf, recordAnswer } from './answers.suite.js';
import { type Place, places, type PlannedOffset } from './commands.suite.js';
import { byText, consumeMs, Member, Members } from './members.suite.js';
import type { World } from './world.suite.js';

const membersMax = 2;

export class Group {
  /** The consumer that has left last. */
  formerConsumer: GroupConsumer | undefined;
  private readonly members: Members;
  private topics: 'plain' | 'both' = 'both';
  private made = 0;

  constructor(private readonly world: World) {
    this.members = new Members(world);
  }

  get wasUsed(): boolean {
    return this.made > 0;
  }

  holderOf(place: Place): GroupConsumer | undefined {
    return this.members.holderOf(place)?.consumer;
  }

  async join(): Promise<Answer> {
    if (this.members.all.length === membersMax) return 'enough';
    const member = new Member(this.world, `${this.world.playground.prefix}-${this.made++}`);
    await this.members.pauseAll();
    this.members.all.push(member);
    await member.consumer.subscribe(this.topicNames());
    return this.settle();
  }

  async leave(place: Place): Promise<Answer> {
    const member = this.members.holderOf(place);
    if (member === undefined) return 'nobody';
    await this.members.pauseAll();
    this.members.remember(member, member.held);
    this.members.all = this.members.all.filter((each) => each !== member);
    this.formerConsumer = member.consumer;
    await member.consumer.close();
    return this.members.all.length === 0 ? 'empty' : this.settle();
  }

  async subscribe(topics: 'plain' | 'both'): Promise<Answer> {
    if (this.members.all.length === 0) return 'nobody';
    await this.members.pauseAll();
    this.topics = topics;
    for (const { consumer } of this.members.all) await consumer.subscribe(this.topicNames());
    return this.settle();
  }

  /** Everything that is committed and not paused, up to where a reader of committed records may come now. */
  async consume(): Promise<Answer> {
    if (this.members.all.length === 0) return 'nobody';
    const active = places.filter((place) => this.members.holderOf(place) !== undefined && !this.members.paused.has(place));
    const targets = await this.world.offsets(places, 'lastStable');
    const records: ConsumedRecord[] = [];
    const isReached = await this.world.until(async () => {
      for (const { consumer } of this.members.all) records.push(...(await consumer.consume(100, consumeMs)));
      return active.every((place) => this.members.positionOf(place) >= (targets.get(place) ?? 0));
    });
    return [isReached, places.map((place) => [place, this.recordsOf(place, records)]), this.position(places)];
  }

  async pauseOrResume(call: 'pause' | 'resume', at: readonly Place[]): Promise<Answer> {
    return this.eachHolder(at, (consumer, held) => {
      for (const place of held) this.members.paused[call === 'pause' ? 'add' : 'delete'](place);
      return consumer[call](held.map((place) => this.world.partitionOf(place)));
    });
  }

  async seek(place: Place, fifths: number): Promise<Answer> {
    const offset = await this.world.share(place, fifths);
    return this.eachHolder([place], (consumer) => consumer.seek([{ ...this.world.partitionOf(place), offset }]));
  }

  async assignAgain(place: Place, fifths: number): Promise<Answer> {
    const start = { ...this.world.partitionOf(place), offset: await this.world.share(place, fifths) };
    return this.eachHolder([place], (consumer) => consumer.assign([start], { paused: this.members.paused.has(place) }));
  }

  position(at: readonly Place[]): Answer {
    return at.map((place) => {
      const position = this.holderOf(place)?.position(this.world.partitionOf(place));
      return [place, position === undefined ? 'none' : this.world.relative(place, position)];
    });
  }

  async commitOffsets({ at, offset, metadata }: PlannedOffset): Promise<Answer> {
    const absolute = { ...this.world.partitionOf(at), offset: this.world.absolute(at, offset), metadata };
    return this.eachHolder([at], (consumer) => consumer.commitOffsets([absolute]));
  }

  /** @param isSettled whether no transaction holds one of the offsets: then a marker may be late, and "pending" is no answer. */
  async stableOffsets(at: readonly Place[], isSettled: boolean): Promise<Answer> {
    const { broker, playground } = this.world;
    const partitions = at.map((place) => this.world.partitionOf(place));
    let answer: Answer;
    await this.world.until(async () => {
      answer = await answerOf(async () => {
        const found = await broker.admin.stableOffsets(playground.prefix, partitions);
        return found.map((each) => {
          const place = this.world.placeOf(each);
          return [place, each.offset === undefined ? 'none' : each.offset - this.world.baseOf(place), each.metadata];
        });
      });
      return !isSettled || typeof answer !== 'string';
    });
    return answer;
  }

  /** The group learns with the next heartbeat what a member has let go. */
  async describe(): Promise<Answer> {
    const held = this.members.all.map((member) => [...member.held].sort()).sort(byText);
    let described: Answer;
    await this.world.until(async () => {
      const members = await this.world.broker.admin.describeGroup(this.world.playground.prefix);
      described = members.map(({ partitions }) => partitions.map((at) => this.world.placeOf(at)).sort()).sort(byText);
      return isDeepStrictEqual(described, held);
    });
    return described;
  }

  /** Records before the offset are about to be deleted: who would read them goes on behind them. */
  async skipTo(place: Place, offset: number): Promise<void> {
    if (this.members.positionOf(place) >= offset) return;
    this.members.setPosition(place, offset);
    await this.holderOf(place)?.seek([{ ...this.world.partitionOf(place), offset }]);
  }

  close(): Promise<void> {
    return this.members.close();
  }

  private settle(): Promise<Answer> {
    return this.members.settle(this.topics === 'both' ? places : places.filter((place) => place.startsWith('plain')));
  }

  private topicNames(): string[] {
    const { plain, compacted } = this.world.playground.topics;
    return this.topics === 'both' ? [plain, compacted] : [plain];
  }

  private recordsOf(place: Place, records: readonly ConsumedRecord[]): Answer[] {
    return records
      .filter((record) => this.world.placeOf(record) === place)
      .map((record) => recordAnswer(record, this.world.relative(place, record.offset)));
  }

  private async eachHolder(
    at: readonly Place[],
    call: (consumer: GroupConsumer, held: readonly Place[]) => Promise<void>,
  ): Promise<Answer> {
    const answers: Answer[] = [];
    for (const member of this.members.all) {
      const held = at.filter((place) => member.held.has(place));
      if (held.length === 0) continue;
      answers.push(await answerOf(async () => [held.length, await call(member.consumer, held)]));
    }
    return answers.sort(byText);
  }
}
