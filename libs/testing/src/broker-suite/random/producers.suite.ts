/**
 * Transactional producers under random commands. After each call that has set something going the rest of it is waited for (records arrive,
 * markers are written, offsets become stable), so that no later answer depends on the machine.
 */
import type { TransactionalProducer } from '@tally/streams';
import { type Answer, answerOf, persistently } from './answers.suite.js';
import { type Place, places, type PlannedOffset, type ProducerCall } from './commands.suite.js';
import type { Group } from './group.suite.js';
import { Sending } from './sending.suite.js';
import type { World } from './world.suite.js';

/** For records that never arrive, because an earlier batch was refused. */
const shortPatienceMs = 1_000;
/** For a producer to hear that another one has taken over. */
const takeoverPatienceMs = 600;
/** For the markers of a transaction that has failed, which may have reached no partition. */
const doomedPatienceMs = 1_000;

/** Longer than a sequence takes on a busy machine. */
const transactionTimeoutMs = 60_000;
const shortTransactionTimeoutMs = 3_000;

/** Ends of the partitions before a call. */
type Ends = ReadonlyMap<Place, number>;

/** Whether a call writes records or markers. */
const movesEnds: Readonly<Record<ProducerCall['call'], boolean>> = {
  init: false,
  begin: false,
  produce: true,
  produceWrong: true,
  sendOffsets: false,
  commit: true,
  abort: true,
  close: true,
};

/** What is known of a producer's transaction: for waiting alone, answers are never made of it. */
class Transactional {
  readonly sending: Sending;
  isOpen = false;
  /** A call has failed, or another producer has taken over: nothing more of this transaction arrives. */
  isDoomed = false;
  /** By another producer with its transactional id. */
  isReplaced = false;
  /** It knows that it was replaced, or has outlived its transaction. */
  isFenced = false;
  /** Heard of before that happened. */
  failuresBefore = 0;
  readonly touched = new Set<Place>();
  readonly offsetsSent = new Set<Place>();

  constructor(
    world: World,
    readonly producer: TransactionalProducer,
  ) {
    this.sending = new Sending(world, producer);
  }

  ended(): void {
    this.isOpen = false;
    this.isDoomed = this.isReplaced;
    this.touched.clear();
    this.offsetsSent.clear();
  }
}

export class Producers {
  private readonly current = new Map<string, Transactional>();
  private readonly former = new Map<string, Transactional>();
  private readonly all: TransactionalProducer[] = [];
  private shortLived = 0;

  constructor(
    private readonly world: World,
    private readonly group: Group,
  ) {}

  /** Places whose offsets an open transaction holds. */
  get offsetsHeld(): ReadonlySet<Place> {
    return new Set([...this.current.values()].flatMap((each) => [...each.offsetsSent]));
  }

  async open(id: string): Promise<Answer> {
    const made = this.make(id, transactionTimeoutMs);
    const predecessor = this.current.get(id);
    const ends = predecessor === undefined ? new Map<Place, number>() : await this.ends();
    this.current.set(id, made);
    if (predecessor !== undefined) this.former.set(id, predecessor);
    const answer = await answerOf(async () => {
      await made.producer.init();
      return 'initialised';
    });
    if (predecessor !== undefined) {
      await this.untilMarked(predecessor, ends);
      const { isOpen } = predecessor;
      predecessor.isReplaced = true;
      predecessor.failuresBefore = predecessor.sending.failuresHeard;
      predecessor.ended();
      // It does not know yet.
      predecessor.isOpen = isOpen;
    }
    return answer;
  }

  async call(id: string, isFormer: boolean, call: ProducerCall): Promise<Answer> {
    if (isFormer && !this.former.has(id)) return 'nobody';
    if (!isFormer && !this.current.has(id)) await this.open(id);
    const subject = (isFormer ? this.former : this.current).get(id)!;
    const ends = movesEnds[call.call] ? await this.ends() : new Map<Place, number>();
    const answer = await this.start(subject, call);
    await this.settle(subject, call, answer, ends);
    return answer;
  }

  async overlap(id: string, first: ProducerCall, second: ProducerCall): Promise<Answer> {
    if (!this.current.has(id)) await this.open(id);
    const subject = this.current.get(id)!;
    const ends = await this.ends();
    const starting = [this.start(subject, first), this.start(subject, second)];
    const answers = await Promise.all(starting);
    await this.settle(subject, first, answers[0], ends);
    await this.settle(subject, second, answers[1], ends);
    return answers;
  }

  /** All in one command, for nothing else may take time while the short timeout runs. */
  async outlive(at: Place, call: ProducerCall): Promise<Answer> {
    const subject = this.make(`short-${this.shortLived++}`, shortTransactionTimeoutMs);
    const { producer } = subject;
    await persistently(() => producer.init());
    await producer.begin();
    const before = await this.world.end(at);
    await subject.sending.records(at, [{ key: 'a', value: 'a', timestampMs: 1, headers: [] }]);
    const isAborted = await this.world.until(async () => (await this.world.end(at)) === before + 2);
    const answers = [isAborted, await this.start(subject, call)];
    if (call.call === 'produce') {
      await this.untilFenced(subject);
      answers.push(await this.start(subject, { call: 'commit' }));
    }
    return answers;
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((producer) => producer.close()));
  }

  private ends(): Promise<Ends> {
    return this.world.offsets(places, 'highWatermark');
  }

  private make(id: string, timeoutMs: number): Transactional {
    const { broker, playground } = this.world;
    const transactionalId = `${playground.prefix}-${id}`;
    const producer = broker.createTransactionalProducer({ transactionalId, transactionTimeoutMs: timeoutMs, clientId: transactionalId });
    this.all.push(producer);
    return new Transactional(this.world, producer);
  }

  private async start(subject: Transactional, call: ProducerCall): Promise<Answer> {
    const { producer, sending } = subject;
    switch (call.call) {
      case 'produce':
        return sending.records(call.at, call.records);
      case 'produceWrong':
        return sending.wrong(call.at, call.wrong);
      case 'sendOffsets':
        return this.sendOffsets(producer, call.offsets, call.by);
      case 'init':
      case 'begin':
      case 'commit':
      case 'abort':
      case 'close': {
        const answer = await answerOf(async () => {
          await producer[call.call]();
          return 'done';
        });
        return call.call === 'commit' || call.call === 'abort' ? [answer, sending.takeFailures()] : answer;
      }
    }
  }

  private async sendOffsets(
    producer: TransactionalProducer,
    planned: readonly PlannedOffset[],
    by: 'holder' | 'formerMember',
  ): Promise<Answer> {
    const consumer = by === 'formerMember' ? this.group.formerConsumer : this.group.holderOf(planned[0]!.at);
    if (consumer === undefined) return 'nobody';
    return answerOf(async () => {
      await producer.sendOffsets(
        planned.map(({ at, offset, metadata }) => ({ ...this.world.partitionOf(at), offset: this.world.absolute(at, offset), metadata })),
        consumer,
      );
      return 'done';
    });
  }

  /** Waits until what the call has set going has come to rest. */
  private async settle(subject: Transactional, call: ProducerCall, answer: Answer, ends: Ends): Promise<void> {
    const done = firstOf(answer) === 'done';
    if (firstOf(answer) === 'fenced') subject.isFenced = true;
    switch (call.call) {
      case 'begin':
        if (done) subject.isOpen = true;
        return;
      case 'produce':
      case 'produceWrong':
        return this.settleRecords(subject, call, answer, ends);
      case 'sendOffsets':
        for (const { at } of done ? call.offsets : []) subject.offsetsSent.add(at);
        return;
      case 'commit':
      case 'abort':
      case 'close':
        if (firstOf(answer) === 'broken rule') return;
        if (done) await this.untilMarked(subject, ends);
        if (done) subject.ended();
        else subject.isDoomed = true;
        return;
      case 'init':
        return;
    }
  }

  private async settleRecords(
    subject: Transactional,
    call: Extract<ProducerCall, { at: Place }>,
    answer: Answer,
    ends: Ends,
  ): Promise<void> {
    const { sending } = subject;
    const queued = (Array.isArray(answer) ? answer : [answer]).filter((each) => each === 'queued').length;
    if (queued === 0 || !subject.isOpen) return;
    if (subject.isReplaced) return this.untilFenced(subject);
    const isInDoubt = subject.isDoomed || sending.refusedAt.has(call.at);
    const expected = (ends.get(call.at) ?? 0) + queued;
    const isAnswered = await this.world.until(
      async () => (await this.world.end(call.at)) >= expected || sending.hasFailures,
      isInDoubt ? shortPatienceMs : undefined,
    );
    subject.touched.add(call.at);
    sending.refusedAt.delete(call.at);
    if (sending.hasFailures) sending.refusedAt.add(call.at);
    if (!isAnswered || sending.hasFailures) subject.isDoomed = true;
  }

  /** Until then the producer cannot tell that its records go nowhere, and would abort what the broker has never heard of. */
  private async untilFenced(subject: Transactional): Promise<void> {
    const { sending, failuresBefore } = subject;
    subject.isFenced ||= await this.world.until(() => sending.failuresHeard > failuresBefore, takeoverPatienceMs);
  }

  /** Each partition of a transaction that has ended gets a marker, and the group's offsets are stable again. */
  private async untilMarked(subject: Transactional, ends: Ends): Promise<void> {
    await this.world.until(
      async () => {
        const now = await this.ends();
        return [...subject.touched].every((place) => (now.get(place) ?? 0) > (ends.get(place) ?? 0));
      },
      subject.isDoomed ? doomedPatienceMs : undefined,
    );
    const others = new Set([...this.current.values()].filter((each) => each !== subject).flatMap((each) => [...each.offsetsSent]));
    const own = [...subject.offsetsSent].filter((place) => !others.has(place));
    if (own.length > 0) await this.group.stableOffsets(own, true);
  }
}

function firstOf(answer: Answer): unknown {
  return Array.isArray(answer) ? answer[0] : answer;
}
