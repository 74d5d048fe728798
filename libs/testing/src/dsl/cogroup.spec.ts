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
  type Windowed,
  windowStore,
} from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

const ones = topic('ones', { key: string(), value: int64() });
const tens = topic('tens', { key: string(), value: int64() });
const windowed = topic('windowed', { key: timeWindowed(string(), { sizeMs: 10 }), value: nullable(int64()) });
const sessions = topic('sessions', { key: sessionWindowed(string()), value: nullable(int64()) });
const perWindow = windowStore('per-window', { key: string(), value: int64(), retentionMs: 1000, windowSizeMs: 10 });
const perSession = sessionStore('per-session', { key: string(), value: int64(), retentionMs: 1000 });
const fold = {
  initial: () => 0n,
  add: { ones: (sum: bigint, value: bigint) => sum + value, tens: (sum: bigint, value: bigint) => sum + 10n * value },
};

function grouped() {
  const streams = new StreamsBuilder();
  return { streams, cogroup: streams.cogroup({ ones: streams.stream(ones).groupByKey(), tens: streams.stream(tens).groupByKey() }) };
}

async function outputs(streams: StreamsBuilder, output: typeof windowed, given: readonly (readonly [typeof ones, number])[]) {
  const driver = await TopologyTestDriver.start(streams.build());
  for (const [input, timestampMs] of given) await driver.input(input).pipe('a', 1n, { timestampMs });
  const rows = driver.output(output).readAll();
  const { recordsDropped } = driver.health().counters;
  await driver.close();
  return { rows: rows.map(({ key, value }) => [bounds(key), value]), recordsDropped };
}

function bounds({ startMs, endMs }: Windowed<string>): string {
  return `${startMs}-${endMs}`;
}

it('several streams are aggregated by window, each with a stream time of its own', async () => {
  const { streams, cogroup } = grouped();
  cogroup
    .windowedBy(tumbling({ sizeMs: 10, graceMs: 0 }))
    .aggregate(perWindow, fold)
    .toStream()
    .to(windowed);
  expect(
    await outputs(streams, windowed, [
      [ones, 1],
      [tens, 2],
      [ones, 15],
      [tens, 3],
      [ones, 4],
    ]),
  ).toEqual({
    rows: [
      ['0-10', 1n],
      ['0-10', 11n],
      ['10-20', 1n],
      ['0-10', 21n],
    ],
    recordsDropped: 1,
  });
});

it('several streams are aggregated by sliding window', async () => {
  const { streams, cogroup } = grouped();
  cogroup
    .windowedBy(sliding({ differenceMs: 10, graceMs: 100 }))
    .aggregate(perWindow, fold)
    .toStream()
    .to(windowed);
  expect(
    await outputs(streams, windowed, [
      [ones, 20],
      [tens, 25],
    ]),
  ).toEqual({
    rows: [
      ['10-20', 1n],
      ['21-31', 10n],
      ['15-25', 11n],
    ],
    recordsDropped: 0,
  });
});

it('several streams are aggregated by session', async () => {
  const { streams, cogroup } = grouped();
  cogroup
    .windowedBy(session({ gapMs: 10, graceMs: 100 }))
    .aggregate(perSession, { ...fold, merge: (left, right) => left + right })
    .toStream()
    .to(sessions);
  expect(
    await outputs(streams, sessions, [
      [ones, 1],
      [tens, 20],
      [ones, 11],
    ]),
  ).toEqual({
    rows: [
      ['1-1', 1n],
      ['20-20', 10n],
      ['1-1', null],
      ['20-20', null],
      ['1-20', 12n],
    ],
    recordsDropped: 0,
  });
});
