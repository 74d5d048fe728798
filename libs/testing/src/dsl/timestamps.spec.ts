import {
  MemoryEngine,
  nullable,
  type RecordTimes,
  StreamsBuilder,
  string,
  type Timestamps,
  topic,
  type Topology,
  type WorkerOptions,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { simulatedError } from '../broker/index.js';
import { TopologyTestDriver } from '../driver/index.js';
import { setting } from '../runtime/setting.suite.js';

const out = topic('out', { key: nullable(string()), value: nullable(string()) });

/** The number that the value is, or the partition's time. */
function inValue(value: string | null, _key: string | null, { partitionTimeMs }: RecordTimes): number {
  if (value === 'bad') throw new Error('there is no time in it');
  if (value === 'half') return 0.5;
  return value === null || Number.isNaN(Number(value)) ? partitionTimeMs : Number(value);
}

function topology(timestamps: Timestamps<string | null, string | null>): Topology {
  const words = topic('words', { key: nullable(string()), value: nullable(string()), timestamps });
  const streams = new StreamsBuilder();
  streams.stream(words).to(out);
  return streams.build();
}

const words = topic('words', { key: nullable(string()), value: nullable(string()) });

async function timesOf(
  timestamps: Timestamps<string | null, string | null>,
  records: readonly (readonly [value: string | null, timestampMs: number])[],
  worker: Partial<WorkerOptions> = {},
) {
  const driver = await TopologyTestDriver.start(topology(timestamps), { worker });
  for (const [value, timestampMs] of records) await driver.input(words).pipe('k', value, { timestampMs });
  const times = driver
    .output(out)
    .readAll()
    .map(({ timestampMs }) => timestampMs);
  const { recordsDropped, recordsSkipped } = driver.health().counters;
  await driver.close();
  return { times, recordsDropped, recordsSkipped };
}

describe("a record's timestamp", () => {
  it('is its own, unless the topic says otherwise', async () => {
    expect(
      await timesOf('record', [
        ['x', 5],
        ['y', -3],
        ['z', 0],
      ]),
    ).toEqual({ times: [5, -3, 0], recordsDropped: 0, recordsSkipped: 0 });
  });

  it('drops the record where it is negative and that is asked for', async () => {
    expect(
      await timesOf('logAndSkip', [
        ['x', 5],
        ['y', -3],
        ['z', 0],
      ]),
    ).toMatchObject({ times: [5, 0], recordsDropped: 1 });
  });

  it('may be the largest of the partition so far instead of a negative one', async () => {
    const { times } = await timesOf('usePartitionTime', [
      ['x', 5],
      ['y', 3],
      ['z', -3],
      ['w', 7],
      ['v', -1],
    ]);
    expect(times).toEqual([5, 3, 5, 7, 7]);
    await expect(timesOf('usePartitionTime', [['x', -1]])).rejects.toThrow(
      /words-0 offset 0 cannot be told: it is -1, and the partition has had no record/,
    );
  });

  it('may be what a function of the value gives, with the time of the partition', async () => {
    const { times, recordsDropped } = await timesOf(inValue, [
      ['x', 50],
      ['7', 3],
      ['z', 9],
      ['-4', 9],
      ['2', 9],
      [null, 1],
    ]);
    expect(times).toEqual([7, 7, 2, 7]);
    expect(recordsDropped).toBe(2);
  });

  it('fails as a value that cannot be read does, where the function throws or gives no whole number', async () => {
    const records = [
      ['5', 1],
      ['bad', 8],
      ['half', 9],
      ['x', 1],
    ] as const;
    const skipping = await timesOf(inValue, records, { errors: { deserialization: { action: 'skip' } } });
    expect(skipping).toMatchObject({ times: [5, 5], recordsSkipped: 2 });
    await expect(timesOf(inValue, [['bad', 8]])).rejects.toThrow(/offset 0 cannot be told: there is no time in it/);
    await expect(timesOf(inValue, [['half', 8]])).rejects.toThrow(/0\.5, which is no whole number/);
  });

  it('is asked for once for each attempt that could not tell it', async () => {
    let calls = 0;
    const failsTwice = (value: string | null): number => {
      calls++;
      if (value === 'x' && calls < 3) throw new Error('not yet');
      return 4;
    };
    const retry = { action: 'retry', retriesMax: 5, backoffMs: 1, then: { action: 'stop' } } as const;
    expect(await timesOf(failsTwice, [['x', 1]], { errors: { deserialization: retry } })).toMatchObject({ times: [4] });
    expect(calls).toBe(3);
  });

  it('decides which of two inputs goes first, and what is dropped holds up nobody', async () => {
    const test = setting({ left: 1, right: 1, out: 1 });
    const streams = new StreamsBuilder();
    const [left, right] = ['left', 'right'].map((name) =>
      streams.stream(topic(name, { key: string(), value: string(), timestamps: (value) => Number(value) })),
    );
    left!.merge(right!).to(out);
    test.cluster.append(
      'left',
      0,
      ['10', '-1', '30'].map((value) => ({ key: 'l', value })),
    );
    test.cluster.append(
      'right',
      0,
      ['-1', '20', '5'].map((value) => ({ key: 'r', value })),
    );
    const worker = await test.start(streams.build());
    await test.until(() => worker.health().counters.records === 6);
    expect(test.texts('out').map(([, value]) => value)).toEqual(['10', '20', '5', '30']);
    expect(worker.health().counters.recordsDropped).toBe(2);
  });

  it('does not forget the time of the partition when a transaction is aborted, or the process ends', async () => {
    const test = setting({ words: 1, out: 1 });
    const disk = new MemoryEngine();
    const first = await test.start(topology('usePartitionTime'), {}, {}, disk);
    test.cluster.append('words', 0, [{ key: 'k', value: 'x', timestampMs: 50 }]);
    await test.until(() => first.health().counters.records === 1);
    test.cluster.faults.next('commitTransactionOffsets', { error: simulatedError('UNKNOWN_MEMBER_ID') });
    test.cluster.append('words', 0, [
      { key: 'k', value: 'y', timestampMs: 70 },
      { key: 'k', value: 'z', timestampMs: -1 },
    ]);
    await test.until(() => first.health().counters.records === 3);
    expect(first.health().counters.transactionsAborted).toBe(1);
    await test.stop(first);
    const second = await test.start(topology('usePartitionTime'), {}, {}, new MemoryEngine());
    test.cluster.append('words', 0, [{ key: 'k', value: 'w', timestampMs: -1 }]);
    await test.until(() => second.health().counters.records === 1);
    expect(test.cluster.allRecords('out').map(({ timestampMs }) => timestampMs)).toEqual([50, 70, 70, 70]);
  });

  it('is one for all who read the topic', () => {
    const read = (timestamps: Timestamps<string, string>) => topic('words', { key: string(), value: string(), timestamps });
    const streams = new StreamsBuilder();
    streams.stream(read('record')).to(read('logAndSkip'));
    expect(() => streams.stream(read('logAndSkip'))).toThrow(/"words" is read twice, with different timestamps/);
    expect(() => topic('words', { key: string(), value: string(), timestamps: 'wallClock' as 'record' })).toThrow(
      /"timestamps" of topic "words"/,
    );
  });
});
