import { describe, expect, it } from 'vitest';
import { type BrokerAdmin, type BrokerError, type OffsetSpec, silentLogger, type TopicPartition } from '@tally/streams';
import type { Owned } from './ownership.js';
import { StallWatch } from './stall-watch.js';

function watching(partitions: Owned[], log: Readonly<Record<number, readonly [earliest: number, end: number]>>) {
  const failures: BrokerError[] = [];
  let nowMs = 0;
  let asked = 0;
  const listOffsets = (list: readonly TopicPartition[], spec: OffsetSpec) => {
    asked++;
    return Promise.resolve(
      list.map((at) => ({ topic: at.topic, partition: at.partition, offset: log[at.partition]?.[spec === 'earliest' ? 0 : 1] ?? 0 })),
    );
  };
  const watch = new StallWatch({
    admin: { listOffsets } as unknown as BrokerAdmin,
    logger: silentLogger,
    active: () => partitions,
    failed: (error) => void failures.push(error),
    nowMs: () => nowMs,
  });
  const later = async (): Promise<void> => {
    nowMs += 10_001;
    watch.tick();
    await watch.settled();
  };
  return { watch, failures, later, asked: () => asked };
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
    const { watch, failures } = watching([owned(0, 10), owned(1, 3)], { 0: [0, 4], 1: [0, 4] });
    await watch.suspect();
    expect(failures).toMatchObject([{ place: { partition: 0, offset: 10 } }]);
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
