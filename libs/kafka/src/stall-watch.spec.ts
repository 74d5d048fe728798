import { describe, expect, it, vi } from 'vitest';
import { type BrokerAdmin, type BrokerError, type OffsetSpec, silentLogger, type TopicPartition } from '@tally/streams';
import type { Owned } from './ownership.js';
import { StallWatch } from './stall-watch.js';

function watching(partitions: Owned[], log: Readonly<Record<number, readonly [earliest: number, end: number, stable?: number]>>) {
  const failures: BrokerError[] = [];
  const stuck = vi.fn<(silent: readonly TopicPartition[]) => void>();
  const rouse = vi.fn<(silent: readonly TopicPartition[]) => void>();
  let isAway = false;
  let isHeld = false;
  let answering: Promise<void> | undefined;
  let nowMs = 0;
  let asked = 0;
  const listOffsets = async (list: readonly TopicPartition[], spec: OffsetSpec) => {
    asked++;
    await answering;
    if (isAway) throw new Error('the broker is away');
    return list.map(({ topic, partition }) => {
      const [earliest = 0, end = 0, stable = end] = log[partition] ?? [];
      return { topic, partition, offset: { earliest, highWatermark: end, lastStable: stable }[spec] };
    });
  };
  const watch = new StallWatch({
    admin: { listOffsets } as unknown as BrokerAdmin,
    logger: silentLogger,
    active: () => partitions,
    isHeld: () => isHeld,
    failed: (error) => void failures.push(error),
    rouse,
    stuck,
    nowMs: () => nowMs,
  });
  const tick = (afterMs: number): void => {
    nowMs += afterMs;
    watch.tick();
  };
  const later = async (): Promise<void> => {
    tick(10_001);
    await watch.settled();
  };
  /** The broker answers when the returned function is called. */
  const holdAnswers = (): (() => void) => {
    let answer: () => void = () => {};
    answering = new Promise((resolve) => (answer = resolve));
    return answer;
  };
  const hold = (is: boolean): void => {
    isHeld = is;
  };
  const away = (is: boolean): void => {
    isAway = is;
  };
  return { watch, failures, rouse, stuck, tick, later, away, hold, holdAnswers, asked: () => asked };
}

const owned = (partition: number, position: number): Owned => ({
  topic: 't',
  partition,
  added: true,
  paused: false,
  leaving: false,
  released: false,
  position,
});

describe('the watch over silent partitions', () => {
  it('names a partition that fell behind its log, once it was silent', async () => {
    const { failures, later } = watching([owned(0, 5), owned(1, 5)], { 0: [7, 9], 1: [0, 5] });
    await later();
    expect(failures).toEqual([]);
    await later();
    expect(failures).toMatchObject([{ code: 'OFFSET_OUT_OF_RANGE', kind: 'invalid', place: { topic: 't', partition: 0, offset: 5 } }]);
  });

  it('names a partition beyond the end of its log, when the client hints at one', async () => {
    const { watch, failures, stuck } = watching([owned(0, 10), owned(1, 3)], { 0: [0, 4], 1: [0, 4] });
    await watch.suspect();
    expect(failures).toMatchObject([{ place: { partition: 0, offset: 10 } }]);
    expect(stuck).not.toHaveBeenCalled();
  });

  it('says that a client is stuck which brings nothing of any partition, though there are records', async () => {
    const { failures, stuck, later } = watching([owned(0, 5), owned(1, 5)], { 0: [0, 5], 1: [0, 9] });
    for (let checks = 0; checks < 3; checks++) await later();
    expect(stuck).not.toHaveBeenCalled();
    await later();
    expect(stuck.mock.calls).toEqual([[[expect.objectContaining({ partition: 1 })]]]);
    expect(failures).toEqual([]);
  });

  it('says so of one partition while others go on, but only after minutes', async () => {
    const moving = owned(0, 0);
    const { stuck, later } = watching([moving, owned(1, 5)], { 0: [0, 900], 1: [0, 9] });
    for (let checks = 0; checks < 30; checks++) {
      moving.position = checks;
      await later();
    }
    expect(stuck).not.toHaveBeenCalled();
    moving.position = 100;
    await later();
    expect(stuck.mock.calls).toEqual([[[expect.objectContaining({ partition: 1 })]]]);
  });

  it('waits twice as long for a client that is silent where the last one was, and no longer where another was', async () => {
    const partition = owned(0, 5);
    const { stuck, later } = watching([partition], { 0: [0, 9] });
    const checksUntilStuck = async (): Promise<number> => {
      stuck.mockClear();
      let checks = 0;
      for (; stuck.mock.calls.length === 0; checks++) await later();
      return checks;
    };
    const first = await checksUntilStuck();
    // The first check only sees where the partition stands.
    const counted = first - 1;
    expect(await checksUntilStuck()).toBe(1 + counted * 2);
    expect(await checksUntilStuck()).toBe(1 + counted * 4);
    (partition as { position: number }).position = 6;
    expect(await checksUntilStuck()).toBe(first);
    expect(await checksUntilStuck()).toBe(1 + counted * 2);
  });

  it('counts checks that an outage has held up once, and not right behind one another', async () => {
    const { watch, stuck, tick, holdAnswers, asked } = watching([owned(0, 5)], { 0: [0, 9] });
    tick(10_001);
    await watch.settled();
    const answer = holdAnswers();
    for (let ticks = 0; ticks < 20; ticks++) tick(10_001);
    expect(asked()).toBe(1);
    answer();
    await watch.settled();
    for (let ticks = 0; ticks < 19; ticks++) {
      tick(1_000);
      await watch.settled();
      expect(stuck).not.toHaveBeenCalled();
    }
    for (let ticks = 0; ticks < 2; ticks++) {
      tick(1_000);
      await watch.settled();
    }
    expect(stuck).toHaveBeenCalledOnce();
  });

  it('counts nothing while a rebalance waits for its answer, nor what was counted before', async () => {
    const { watch, stuck, tick, later, hold, holdAnswers } = watching([owned(0, 5)], { 0: [0, 9] });
    for (let rounds = 0; rounds < 4; rounds++) {
      for (let checks = 0; checks < 3; checks++) await later();
      hold(true);
      for (let ticks = 0; ticks < 5; ticks++) await later();
      hold(false);
    }
    for (let checks = 0; checks < 3; checks++) await later();
    // Nor one that was under way.
    const answer = holdAnswers();
    tick(10_001);
    hold(true);
    watch.tick();
    hold(false);
    answer();
    await watch.settled();
    for (let checks = 0; checks < 3; checks++) await later();
    expect(stuck).not.toHaveBeenCalled();
  });

  it('first rouses partitions whose end may have been missed, between two consumes', async () => {
    const [missed, moving] = [owned(0, 5), owned(1, 0)];
    const { rouse, stuck, tick, later } = watching([missed, moving], { 0: [0, 6], 1: [0, 99] });
    for (let checks = 0; checks < 3; checks++) {
      moving.position = checks;
      await later();
    }
    expect(rouse).not.toHaveBeenCalled();
    tick(1);
    expect(rouse.mock.calls).toEqual([[[missed]]]);
    missed.position = 6;
    for (let checks = 0; checks < 40; checks++) {
      moving.position = 10 + checks;
      await later();
    }
    expect(rouse).toHaveBeenCalledOnce();
    expect(stuck).not.toHaveBeenCalled();
  });

  it('rouses no partition that has been paused meanwhile', async () => {
    const partitions = [owned(0, 5)];
    const { rouse, tick, later } = watching(partitions, { 0: [0, 9] });
    for (let checks = 0; checks < 3; checks++) await later();
    partitions.length = 0;
    tick(1);
    expect(rouse).not.toHaveBeenCalled();
  });

  it('does not say so while something comes, while nothing may be read, or right after the broker was away', async () => {
    const moving = owned(0, 0);
    const busy = watching([moving, owned(1, 5)], { 0: [0, 90], 1: [0, 9] });
    const pending = watching([owned(0, 5)], { 0: [0, 9, 5] });
    const returning = watching([owned(0, 5)], { 0: [0, 9] });
    for (let checks = 0; checks < 12; checks++) {
      moving.position = checks;
      returning.away(checks % 3 === 0);
      for (const { later } of [busy, pending, returning]) await later();
    }
    for (const { stuck } of [busy, pending, returning]) expect(stuck).not.toHaveBeenCalled();
  });

  it('asks nothing while records come', async () => {
    const busy = owned(0, 0);
    const { failures, later, asked } = watching([busy], { 0: [50, 60] });
    for (let count = 0; count < 5; count++) {
      busy.position = count;
      await later();
    }
    expect([failures, asked()]).toEqual([[], 0]);
  });
});
