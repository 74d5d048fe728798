import {
  int64,
  keyValueStore,
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
import { describe, expect, it } from 'vitest';

const amounts = topic('amounts', { key: string(), value: int64() });
const windows = topic('windows', { key: timeWindowed(string(), { sizeMs: 10 }), value: nullable(int64()) });
const sessions = topic('sessions', { key: sessionWindowed(string()), value: nullable(int64()) });
const perWindow = windowStore('per-window', { key: string(), value: int64(), retentionMs: 1000, windowSizeMs: 10 });
const windowTotals = keyValueStore('window-totals', { key: string(), value: int64() });
const perSession = sessionStore('per-session', { key: string(), value: int64(), retentionMs: 1000 });
const sum = { initial: () => 0n, add: (all: bigint, amount: bigint) => all + amount };
const merge = (left: bigint, right: bigint): bigint => left + right;

type Row = readonly [start: string, value: bigint | null, timestampMs: number];

function row({ key, value, timestampMs }: { key: Windowed<string>; value: bigint | null; timestampMs: number }): Row {
  return [`${key.key}@${key.startMs}-${key.endMs}`, value, timestampMs];
}

describe('a windowed table', () => {
  it('goes to a topic, is queried, and is grouped by the key alone', async () => {
    const totals = topic('totals', { key: string(), value: nullable(int64()) });
    const streams = new StreamsBuilder();
    const table = streams
      .stream(amounts)
      .groupByKey()
      .windowedBy(tumbling({ sizeMs: 10, graceMs: 100 }))
      .aggregate(perWindow, sum);
    table.toStream().to(windows);
    table
      .groupBy((value, { key }) => [key, value], { key: string(), value: int64(), name: 'by-key' })
      .reduce(windowTotals, { add: merge, subtract: (left, right) => left - right })
      .toStream()
      .to(totals);
    const driver = await TopologyTestDriver.start(streams.build());
    for (const [amount, timestampMs] of [
      [1n, 1],
      [2n, 2],
      [4n, 15],
      [8n, 5],
    ] as const)
      await driver.input(amounts).pipe('a', amount, { timestampMs });
    expect(driver.output(windows).readAll().map(row)).toEqual([
      ['a@0-10', 1n, 1],
      ['a@0-10', 3n, 2],
      ['a@10-20', 4n, 15],
      ['a@0-10', 11n, 5],
    ]);
    expect(
      driver
        .output(totals)
        .readAll()
        .map(({ value }) => value),
    ).toEqual([1n, 3n, 7n, 15n]);
    expect(await driver.editStore(perWindow, 0, (store) => store.fetch('a', 0, 100).map(({ value }) => value))).toEqual([11n, 4n]);
    await driver.close();
  });

  it('is queried by a handle that leaves the length of the windows to it', async () => {
    const hourly = windowStore('hourly', { key: string(), value: int64(), retentionMs: 1000 });
    const streams = new StreamsBuilder();
    streams
      .stream(amounts)
      .groupByKey()
      .windowedBy(tumbling({ sizeMs: 10, graceMs: 0 }))
      .count(hourly);
    const driver = new TopologyTestDriver();
    const application = driver.createWorker({ topology: streams.build() }, { applicationId: 'test', stateDirectory: 'memory' });
    await application.start();
    await driver.input(amounts).pipe('a', 1n, { timestampMs: 12 });
    const windowsOf = [];
    for await (const entry of application.query(hourly).all()) windowsOf.push(entry);
    expect(windowsOf).toEqual([[{ key: 'a', startMs: 10, endMs: 20 }, 1n]]);
    await driver.close();
  });

  it('is suppressed until its windows close', async () => {
    const streams = new StreamsBuilder();
    const grouped = streams.stream(amounts).groupByKey();
    grouped
      .windowedBy(session({ gapMs: 10, graceMs: 5 }))
      .aggregate(perSession, { ...sum, merge })
      .suppress({ until: 'windowCloses' })
      .toStream()
      .to(sessions);
    grouped
      .windowedBy(sliding({ differenceMs: 10, graceMs: 5 }))
      .aggregate(perWindow, sum)
      .suppress({ until: 'windowCloses' })
      .toStream()
      .to(windows);
    const driver = await TopologyTestDriver.start(streams.build());
    for (const [amount, timestampMs] of [
      [1n, 20],
      [2n, 25],
      [4n, 40],
      [8n, 41],
    ] as const)
      await driver.input(amounts).pipe('a', amount, { timestampMs });
    expect(driver.output(sessions).readAll().map(row)).toEqual([['a@20-25', 3n, 25]]);
    expect(driver.output(windows).readAll().map(row)).toEqual([
      ['a@10-20', 1n, 20],
      ['a@15-25', 3n, 25],
      ['a@21-31', 2n, 25],
    ]);
    await driver.close();
  });

  it('comes out when its windows close, with a late record dropped and counted', async () => {
    const streams = new StreamsBuilder();
    streams
      .stream(amounts)
      .groupByKey()
      .windowedBy(tumbling({ sizeMs: 10, graceMs: 0 }))
      .aggregate(perWindow, sum, { emit: 'onClose' })
      .toStream()
      .to(windows);
    const driver = await TopologyTestDriver.start(streams.build());
    const input = driver.input(amounts);
    await input.pipe('a', 1n, { timestampMs: 1 });
    await input.pipe('a', 2n, { timestampMs: 12 });
    await input.pipe('a', 4n, { timestampMs: 9 });
    expect(driver.output(windows).readAll().map(row)).toEqual([['a@0-10', 1n, 1]]);
    expect(driver.health().counters.recordsDropped).toBe(1);
    await driver.close();
  });
});
