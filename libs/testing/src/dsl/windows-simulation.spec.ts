/** Windows, sessions and what waits for their close, through crashes, rebalances, aborted commits and lost disks. */
import {
  int64,
  nullable,
  session,
  sessionStore,
  sessionWindowed,
  sliding,
  StreamsBuilder,
  string,
  timeWindowed,
  topic,
  tumbling,
  windowStore,
} from '@tally/streams';
import { simulate, type Workload } from '@tally/testing';
import { expect, it } from 'vitest';

const amounts = topic('amounts', { key: string(), value: int64() });
const closedWindows = topic('closed-windows', { key: timeWindowed(string(), { sizeMs: 100 }), value: nullable(int64()) });
const closedSessions = topic('closed-sessions', { key: sessionWindowed(string()), value: nullable(int64()) });
const slidingWindows = topic('sliding-windows', { key: timeWindowed(string(), { sizeMs: 50 }), value: nullable(int64()) });
const perWindow = windowStore('per-window', { key: string(), value: int64(), retentionMs: 10_000 });
const perSession = sessionStore('per-session', { key: string(), value: int64(), retentionMs: 10_000 });
const perSlide = windowStore('per-slide', { key: string(), value: int64(), retentionMs: 10_000 });
const sum = { initial: () => 0n, add: (all: bigint, amount: bigint) => all + amount };

function topology() {
  const streams = new StreamsBuilder();
  const grouped = streams.stream(amounts).groupByKey();
  grouped
    .windowedBy(tumbling({ sizeMs: 100, graceMs: 20 }))
    .aggregate(perWindow, sum, { emit: 'onClose' })
    .toStream()
    .to(closedWindows);
  grouped
    .windowedBy(session({ gapMs: 30, graceMs: 20 }))
    .aggregate(perSession, { ...sum, merge: (left, right) => left + right }, { emit: 'onClose' })
    .toStream()
    .to(closedSessions);
  grouped
    .windowedBy(sliding({ differenceMs: 50, graceMs: 100 }))
    .aggregate(perSlide, sum)
    .toStream()
    .to(slidingWindows);
  return streams.build();
}

const workload: Workload = (load) => {
  for (let number = 0; number < 250; number += 1) {
    const timestampMs = load.startMs + number * 4 + load.random.between(0, 40);
    load.add(amounts, load.random.oneOf(['anna', 'bert', 'cleo', 'dora']), BigInt(load.random.between(1, 500)), { timestampMs });
  }
};

it('come out once, whatever happens to the workers', { timeout: 120_000 }, async () => {
  let emitted = 0;
  const report = await simulate(topology(), workload, {
    seeds: 8,
    invariants: {
      'no window and no session comes out twice'(result) {
        for (const closed of [closedWindows, closedSessions]) {
          const keys = result.recordsOf(closed).map(({ key: { key, startMs, endMs } }) => `${key} ${startMs} ${endMs}`);
          expect(new Set(keys).size).toBe(keys.length);
          emitted += keys.length;
        }
      },
    },
  });
  expect(report.histories).toBe(8);
  expect(report.crashes).toBeGreaterThan(0);
  expect(emitted).toBeGreaterThan(100);
});

it('(a window that depends on more than its records is noticed)', { timeout: 120_000 }, async () => {
  let calls = 0n;
  const streams = new StreamsBuilder();
  streams
    .stream(amounts)
    .groupByKey()
    .windowedBy(tumbling({ sizeMs: 100, graceMs: 0 }))
    .aggregate(perWindow, { initial: () => 0n, add: () => (calls += 1n) });
  await expect(simulate(streams.build(), workload, { seeds: 1, partitions: 1, workers: 1 })).rejects.toThrow(/state: store per-window has/);
});
