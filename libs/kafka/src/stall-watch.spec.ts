import { describe, expect, it, vi } from 'vitest';
import { type BrokerAdmin, type BrokerError, type OffsetSpec, silentLogger, type TopicPartition } from '@tally/streams';
import type { Owned } from './ownership.js';
import { StallWatch } from './stall-watch.js';

function watching(partitions: Owned[], log: Readonly<Record<number, readonly [earliest: number, end: number, stable?: number]>>) {
  const failures: BrokerError[] = [];
  const stuck = vi.fn<() => void>();
  let isAway = false;
  let nowMs = 0;
  let asked = 0;
  const listOffsets = (list: readonly TopicPartition[], spec: OffsetSpec) => {
    asked++;
    if (isAway) return Promise.reject(new Error('the broker is away'));
    return Promise.resolve(
      list.map(({ topic, partition }) => {
        const [earliest = 0, end = 0, stable = end] = log[partition] ?? [];
        return { topic, partition, offset: { earliest, highWatermark: end, lastStable: stable }[spec] };
      }),
    );
  };
  const watch = new StallWatch({
    admin: { listOffsets } as unknown as BrokerAdmin,
    logger: silentLogger,
    active: () => partitions,
    failed: (error) => void failures.push(error),
    stuck,
    nowMs: () => nowMs,
  });
  const later = async (): Promise<void> => {
    nowMs += 10_001;
    watch.tick();
    await watch.settled();
  };
  const away = (is: boolean): void => {
    isAway = is;
  };
  return { watch, failures, stuck, later, away, asked: () => asked };
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
    expect(stuck).toHaveBeenCalledOnce();
    expect(failures).toEqual([]);
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
