import {
  int64,
  type KTable,
  keyValueStore,
  MemoryEngine,
  nullable,
  session,
  sessionStore,
  StreamsBuilder,
  string,
  type SuppressOptions,
  topic,
  type Topology,
  tumbling,
  type Windowed,
  windowStore,
} from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { TopologyTestDriver } from '../driver/index.js';
import { setting } from '../runtime/setting.suite.js';

const accounts = topic('accounts', { key: string(), value: nullable(string()) });
const out = topic('out', { key: string(), value: nullable(string()) });
const rows = keyValueStore('rows', { key: string(), value: string() });

type Suppressed = SuppressOptions<string>;

function topology(options: Suppressed, then: (table: KTable<string, string>) => KTable<string, string> = (table) => table): Topology {
  const streams = new StreamsBuilder();
  then(streams.table(accounts, rows).suppress(options)).toStream().to(out);
  return streams.build();
}

async function driven(options: Suppressed) {
  const driver = await TopologyTestDriver.start(topology(options));
  const input = driver.input(accounts);
  return {
    driver,
    pipe: async (key: string, value: string | null, timestampMs: number, header?: string) => {
      await input.pipe(key, value, { timestampMs, headers: header === undefined ? [] : [{ name: 'h', value: Buffer.from(header) }] });
      return driver
        .output(out)
        .readAll()
        .map(
          (record) =>
            `${record.key}=${record.value} @${record.timestampMs}${record.headers.map(({ value: of }) => ` ${Buffer.from(of).toString()}`).join('')}`,
        );
    },
  };
}

describe('suppress', () => {
  it('forwards the last change of a key once its first one has waited long enough, with its own headers', async () => {
    const { driver, pipe } = await driven({ until: 'timeLimit', waitMs: 10 });
    expect(await pipe('a', 'x', 0, 'first')).toEqual([]);
    expect(await pipe('a', 'y', 9, 'second')).toEqual([]);
    expect(await pipe('b', 'z', 10, 'third')).toEqual(['a=y @9 second']);
    expect(await pipe('b', null, 12)).toEqual([]);
    expect(await pipe('c', 'w', 5)).toEqual([]);
    expect(await pipe('d', 'v', 20)).toEqual(['c=w @5', 'b=null @12']);
    await driver.close();
  });

  it('forwards the oldest early when more records than allowed would wait', async () => {
    const { driver, pipe } = await driven({ until: 'timeLimit', waitMs: 1_000, recordsMax: 2 });
    expect(await pipe('a', '1', 5)).toEqual([]);
    expect(await pipe('b', '1', 4)).toEqual([]);
    expect(await pipe('b', '2', 6)).toEqual([]);
    expect(await pipe('c', '1', 7)).toEqual(['b=2 @6']);
    await driver.close();
  });

  it('forwards as many early as the bytes ask for', async () => {
    const { driver, pipe } = await driven({ until: 'timeLimit', waitMs: 1_000, bytesMax: 200 });
    expect(await pipe('a', 'x'.repeat(60), 1)).toEqual([]);
    expect(await pipe('b', 'x', 2)).toEqual([]);
    expect((await pipe('c', 'y'.repeat(165), 3)).map((line) => line[0])).toEqual(['a', 'b']);
    expect((await pipe('d', 'z'.repeat(300), 4)).map((line) => line[0])).toEqual(['c', 'd']);
    await driver.close();
  });

  it('stops the worker where nothing may be forwarded early, and says what to do', async () => {
    const { driver, pipe } = await driven({ until: 'timeLimit', waitMs: 10, recordsMax: 1, whenFull: 'shutDown', name: 'held' });
    expect(await pipe('a', '1', 0)).toEqual([]);
    await expect(pipe('b', '1', 9)).rejects.toThrow(/"held" is full: it holds 2 records of 1.*Raise recordsMax/);
    await driver.close();
  });

  it('holds what it held when the process is started again, on the same disk or another one', async () => {
    for (const sameDisk of [true, false]) {
      const test = setting({ accounts: 1, out: 1 });
      const disk = new MemoryEngine();
      const built = topology({ until: 'timeLimit', waitMs: 10 });
      const first = await test.start(built, {}, {}, disk);
      test.cluster.append('accounts', 0, [
        { key: 'a', value: '1', timestampMs: 5 },
        { key: 'b', value: '1', timestampMs: 14 },
      ]);
      await test.until(() => first.health().counters.records === 2);
      await test.stop(first);
      expect(test.texts('out')).toEqual([]);
      const second = await test.start(built, {}, {}, sameDisk ? disk : new MemoryEngine());
      // Its stream time is known too: a record of before does not turn it back.
      test.cluster.append('accounts', 0, [{ key: 'a', value: '2', timestampMs: 1 }]);
      await test.until(() => second.health().counters.records === 1);
      expect(test.texts('out')).toEqual([]);
      test.cluster.append('accounts', 0, [{ key: 'c', value: '1', timestampMs: 15 }]);
      await test.until(() => second.health().counters.records === 2);
      expect(test.texts('out')).toEqual([['a', '2']]);
    }
  });

  it('is refused where there is nothing to wait for, or no serde to keep rows with', () => {
    const streams = new StreamsBuilder();
    const table = streams.table(accounts, rows);
    table.suppress({ until: 'windowCloses', name: 'final' } as unknown as Suppressed);
    table.map((row) => row.length, { name: 'lengths' }).suppress({ until: 'timeLimit', waitMs: 1 });
    expect(() => streams.build()).toThrow(/"final" cannot hold changes back: its rows do not belong to windows/);
    expect(() => streams.build()).toThrow(/"lengths-suppress" needs the value's serde/);
    for (const option of [{ waitMs: -1 }, { recordsMax: 0 }, { bytesMax: 0.5 }])
      expect(() => table.suppress({ until: 'timeLimit', waitMs: 1, ...option })).toThrow(`"${Object.keys(option)[0]}"`);
  });

  it('counts the rows that have left it where they are grouped anew', async () => {
    const counts = keyValueStore('counts', { key: string(), value: int64() });
    const streams = new StreamsBuilder();
    const counted = topic('counted', { key: string(), value: nullable(int64()) });
    streams
      .table(accounts, rows)
      .suppress({ until: 'timeLimit', waitMs: 10 })
      .groupBy((row) => [row, row], { key: string(), value: string() })
      .count(counts)
      .toStream()
      .to(counted);
    const driver = await TopologyTestDriver.start(streams.build());
    const input = driver.input(accounts);
    await input.pipe('a', 'red', { timestampMs: 0 });
    await input.pipe('b', 'red', { timestampMs: 1 });
    await input.pipe('z', 'blue', { timestampMs: 30 });
    await input.pipe('a', null, { timestampMs: 40 });
    await input.pipe('y', 'blue', { timestampMs: 60 });
    const texts = driver
      .output(counted)
      .readAll()
      .map(({ key, value }) => `${key} ${value}`);
    expect(texts).toEqual(['red 1', 'red 2', 'blue 1', 'red 1']);
    await driver.close();
  });

  describe('until windows close', () => {
    const words = topic('words', { key: string(), value: string() });
    const perWindow = windowStore('per-window', { key: string(), value: int64(), retentionMs: 1_000, windowSizeMs: 10 });
    const perSession = sessionStore('per-session', { key: string(), value: int64(), retentionMs: 1_000 });
    const finals = topic('finals', { key: string(), value: nullable(int64()) });

    function counting(kind: 'time' | 'session'): Topology {
      const streams = new StreamsBuilder();
      const grouped = streams.stream(words).groupByKey();
      const table: KTable<Windowed<string>, bigint> = kind === 'time'
        ? grouped.windowedBy(tumbling({ sizeMs: 10, graceMs: 5 })).count(perWindow)
        : grouped.windowedBy(session({ gapMs: 5, graceMs: 2 })).count(perSession);
      table
        .suppress({ until: 'windowCloses' })
        .toStream()
        .selectKey((_count, { key, startMs, endMs }) => `${key} ${startMs}-${endMs}`, { key: string() })
        .to(finals);
      return streams.build();
    }

    async function finalsOf(
      kind: 'time' | 'session',
      records: readonly (readonly [key: string, timestampMs: number])[],
    ): Promise<string[][]> {
      const driver = await TopologyTestDriver.start(counting(kind));
      const results: string[][] = [];
      for (const [key, timestampMs] of records) {
        await driver.input(words).pipe(key, 'w', { timestampMs });
        results.push(
          driver
            .output(finals)
            .readAll()
            .map((record) => `${record.key}: ${record.value} @${record.timestampMs}`),
        );
      }
      await driver.close();
      return results;
    }

    it('forwards one result for each window, by the ends of the windows and then by key, once grace is over', async () => {
      const results = await finalsOf('time', [
        ['b', 1],
        ['a', 9],
        ['b', 12],
        ['b', 3],
        ['c', 14],
        ['a', 15],
        ['c', 40],
      ]);
      expect(results.map((each) => each.join(', '))).toEqual([
        '',
        '',
        '',
        '',
        '',
        'a 0-10: 1 @9, b 0-10: 2 @3',
        'a 10-20: 1 @15, b 10-20: 1 @12, c 10-20: 1 @14',
      ]);
    });

    it('forwards sessions that can grow no more, and none of those that were merged', async () => {
      const results = await finalsOf('session', [
        ['a', 1],
        ['a', 4],
        ['a', 10],
        ['a', 8],
        ['b', 17],
        ['b', 19],
      ]);
      expect(results.map((each) => each.join(', '))).toEqual(['', '', '', '', 'a 1-10: 4 @10', '']);
    });
  });
});
