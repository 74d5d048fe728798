import {
  bytes,
  type Headers,
  int64,
  keyValueStore,
  murmur2,
  partitionForKey,
  type ProcessorContext,
  sleep,
  string,
  topic,
  TopologyBuilder,
} from '@tally/streams';
import { afterEach, describe, expect, it } from 'vitest';
import { amounts, letterTopology, results, sums, sumTopology, tickTopology, totals, words } from './driver-topologies.suite.js';
import { TestDriverError, TopologyTestDriver } from './index.js';

const startMs = Date.UTC(2026, 0, 1);
const running: TopologyTestDriver[] = [];

afterEach(async () => {
  for (const driver of running.splice(0)) await driver.close();
});

async function start(...parts: Parameters<typeof TopologyTestDriver.start>): Promise<TopologyTestDriver> {
  const driver = await TopologyTestDriver.start(...parts);
  running.push(driver);
  return driver;
}

const text = (data: Uint8Array | null): string | null => (data === null ? null : Buffer.from(data).toString());
/** All unread outputs as `key=value`. */
const emitted = (driver: TopologyTestDriver): string[] => driver.readEmitted().map(({ key, value }) => `${text(key)}=${text(value)}`);

describe('piping and reading', () => {
  it('gives outputs typed by their handles, with timestamp, headers and partition', async () => {
    const driver = await start(sumTopology());
    const headers: Headers = [{ name: 'trace', value: Buffer.from('x') }];
    await driver.input(amounts).pipe('anna', 5n, { timestampMs: 17, headers });
    await driver.input(amounts).pipe('anna', 2n);
    const output = driver.output(totals);
    expect(output.read()).toEqual({ key: 'anna', value: 5n, timestampMs: 17, headers, partition: 0 });
    expect(output.isEmpty).toBe(false);
    expect(output.read()).toEqual({ key: 'anna', value: 7n, timestampMs: startMs, headers: [], partition: 0 });
    expect(output.read()).toBeUndefined();
    expect(output.isEmpty).toBe(true);
    expect(output.readAll()).toEqual([]);
  });

  it.each([0, -5, startMs + 400 * 86_400_000])('takes the timestamp %i, whatever the clock says', async (timestampMs) => {
    const driver = await start(sumTopology());
    await driver.input(amounts).pipe('anna', 5n, { timestampMs });
    expect(
      driver
        .output(totals)
        .readAll()
        .map((record) => record.timestampMs),
    ).toEqual([timestampMs]);
  });

  it('spreads keys over the partitions as producers do, unless one is named', async () => {
    const driver = await start(sumTopology(), { partitions: 5 });
    const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`);
    for (const key of keys) await driver.input(amounts).pipe(key, 1n);
    expect(murmur2(Buffer.from('21'))).toBe(-973_932_308);
    const expected = keys.map((key) => [key, partitionForKey(Buffer.from(key), 5)]);
    expect(
      driver
        .output(totals)
        .readAll()
        .map(({ key, partition }) => [key, partition]),
    ).toEqual(expected);
    await driver.input(amounts).pipe('key-0', 1n, { partition: 4 });
    await driver.input(amounts).pipe('key-0', 1n, { partition: 4 });
    // The state of another partition knows nothing of the key.
    expect(
      driver
        .output(totals)
        .readAll()
        .map(({ value }) => value),
    ).toEqual([1n, 2n]);
  });

  it('takes nulls, and bytes that the serdes cannot read', async () => {
    const driver = await start(letterTopology(), { worker: { errors: { deserialization: { action: 'skip' } } } });
    await driver.input(words).pipe(null, null);
    await driver.input(words).pipeBytes('a', null);
    await driver.input(words).pipeBytes('b', Buffer.from([0xff]));
    expect(
      driver
        .output(results)
        .readAll()
        .map(({ key, value }) => [key, value]),
    ).toEqual([
      [null, null],
      ['a', null],
    ]);
  });

  it('says what it cannot read', async () => {
    const driver = await start(letterTopology());
    await driver.input(words).pipe('a', null);
    const narrow = topic('results', { key: string(), value: string() });
    expect(() => driver.output(narrow).read()).toThrow(expect.objectContaining({ code: 'NULL_UNEXPECTED' }));
  });

  it('reads raw bytes by a handle of bytes', async () => {
    const driver = await start(sumTopology());
    await driver.input(amounts).pipe('anna', 258n);
    const raw = topic('totals', { key: bytes(), value: bytes() });
    expect([...(driver.output(raw).read()?.value ?? [])]).toEqual([0, 0, 0, 0, 0, 0, 1, 2]);
  });

  it('makes topics that are chosen per record when something is sent to them', async () => {
    const builder = new TopologyBuilder();
    builder.processor(builder.source(words), {
      name: 'route',
      process: (record, context) => context.send(topic(`to-${record.key ?? ''}`, words), record.key, record.value),
    });
    const driver = await start(builder.build(), { partitions: 3 });
    await driver.input(words).pipe('anna', 'hello');
    expect(driver.readEmitted().map((record) => [record.topic, record.partition])).toEqual([
      ['to-anna', partitionForKey(Buffer.from('anna'), 3)],
    ]);
  });
});

describe('the order', () => {
  it('is that of sending, over all topics', async () => {
    const other = topic('other', { key: string(), value: string() });
    const builder = new TopologyBuilder();
    builder.processor(builder.source(words), {
      name: 'both',
      process(record, context) {
        for (const letter of record.value ?? '') {
          context.send(results, letter, '1');
          context.send(other, letter, '2');
        }
      },
    });
    const driver = await start(builder.build(), { partitions: 3 });
    await driver.input(words).pipe('x', 'bca');
    expect(driver.readEmitted().map((record) => `${record.topic} ${text(record.key)}`)).toEqual([
      'results b',
      'other b',
      'results c',
      'other c',
      'results a',
      'other a',
    ]);
    expect(driver.output(other).isEmpty).toBe(true);
  });

  it('of one record: it first, then one by one what it has sent to topics that are read again, the lowest timestamp first', async () => {
    const [first, second] = ['first', 'second'].map((name) => topic(name, words));
    const builder = new TopologyBuilder();
    const echo = (name: string) => (record: { value: string | null; timestampMs: number }, context: ProcessorContext<string, string>) => {
      context.send(results, name, `${record.value ?? ''}@${record.timestampMs}`);
    };
    builder.processor(builder.source(first!, { subTopology: 'one' }), { name: 'first', process: echo('first') });
    builder.processor(builder.source(second!, { subTopology: 'two' }), { name: 'second', process: echo('second') });
    builder.processor(builder.source(words), {
      name: 'scatter',
      process(_record, context) {
        context.send(first!, 'k', 'a', { timestampMs: 30 });
        context.send(second!, 'k', 'b', { timestampMs: 10 });
        context.send(first!, 'k', 'c', { timestampMs: 20 });
        context.send(second!, 'k', 'd', { timestampMs: 40 });
        context.send(results, 'scatter', '');
      },
    });
    const driver = await start(builder.build());
    await driver.input(words).pipe('x', 'y', { timestampMs: 50 });
    // The heads are compared: c waits behind a.
    expect(
      driver
        .output(results)
        .readAll()
        .map(({ key, value }) => `${key} ${value}`),
    ).toEqual(['scatter ', 'second b@10', 'first a@30', 'first c@20', 'second d@40']);
    expect(driver.output(first!).readAll()).toHaveLength(2);
  });

  it('goes through repartition topics, whose records are no outputs', async () => {
    const driver = await start(letterTopology(), { partitions: 4 });
    await driver.input(words).pipe('x', 'ab');
    expect(emitted(driver)).toEqual(['x=ab', 'a=ab', 'b=ab']);
    expect(driver.readEmitted()).toEqual([]);
  });

  it('may be left to the worker: records piped together give the same records of each key', async () => {
    const [oneByOne, together] = [await start(sumTopology(), { partitions: 3 }), await start(sumTopology(), { partitions: 3 })];
    const records = Array.from({ length: 5_000 }, (_, index) => ({ key: `k${index % 7}`, value: BigInt(index), timestampMs: index }));
    for (const { key, value, timestampMs } of records.slice(0, 300)) await oneByOne.input(amounts).pipe(key, value, { timestampMs });
    await oneByOne.input(amounts).pipeAll(records.slice(300));
    await together.input(amounts).pipeAll(records);
    const byKey = (driver: TopologyTestDriver) => {
      const found = new Map<string, unknown[]>(records.slice(0, 7).map(({ key }) => [key, []]));
      for (const { key, ...rest } of driver.output(totals).readAll()) found.get(key)?.push(rest);
      return found;
    };
    const expected = byKey(together);
    expect([...expected.values()].flat()).toHaveLength(5_000);
    expect(byKey(oneByOne)).toEqual(expected);
  });
});

describe('stores', () => {
  it('are read and preset by their handles', async () => {
    const driver = await start(sumTopology(), { partitions: 3 });
    const store = driver.store(sums);
    await store.put('anna', 100n);
    await store.put('bert', 1n);
    await driver.input(amounts).pipe('anna', 5n);
    expect(
      driver
        .output(totals)
        .readAll()
        .map(({ value }) => value),
    ).toEqual([105n]);
    expect(await store.get('anna')).toBe(105n);
    await store.delete('bert');
    expect(await store.get('bert')).toBeUndefined();
    expect(await store.entries()).toEqual([['anna', 105n]]);
    await store.put('anna', 7n, { partition: (partitionForKey(Buffer.from('anna'), 3) + 1) % 3 });
    expect(await store.get('anna')).toBe(105n);
    expect((await store.entries()).map(([, value]) => value).toSorted()).toEqual([105n, 7n]);
  });

  it('keep the timestamps of their entries', async () => {
    const driver = await start(sumTopology());
    await driver.store(sums).put('anna', 1n, { timestampMs: 42 });
    expect(await driver.editStore(sums, 0, (store) => store.getWithTimestamp('anna'))).toEqual({ value: 1n, timestampMs: 42 });
  });

  it('are left alone by an edit that throws', async () => {
    const driver = await start(sumTopology());
    const edit = driver.editStore(sums, 0, (store) => {
      store.put('anna', 1n);
      throw new Error('changed my mind');
    });
    await expect(edit).rejects.toThrow('changed my mind');
    expect(await driver.store(sums).entries()).toEqual([]);
  });
});

describe('time', () => {
  it('stands still but for what is advanced', async () => {
    const driver = await start(sumTopology());
    for (let index = 0; index < 200; index += 1) await driver.input(amounts).pipe('anna', 1n);
    await driver.input(amounts).pipeAll(Array.from({ length: 20_000 }, () => ({ key: 'anna', value: 1n })));
    expect(driver.clock.nowMs()).toBe(startMs);
    await driver.advance(1_234);
    expect(driver.clock.nowMs()).toBe(startMs + 1_234);
  });

  it('calls a wall-clock punctuator once for each jump, when it is due to the millisecond', async () => {
    const driver = await start(tickTopology(10), { startMs: 5 });
    const seen: string[][] = [];
    for (const durationMs of [9, 1, 35, 4, 1]) {
      await driver.advance(durationMs);
      seen.push(emitted(driver));
    }
    // Due at 15, and 10 later each time; the jump to 50 passes 25, 35 and 45.
    expect(seen).toEqual([[], ['wallClock=15'], ['wallClock=50'], [], ['wallClock=55']]);
  });

  it('of the stream moves with the records: its punctuators run right after the record that made them due', async () => {
    const driver = await start(tickTopology(10));
    for (const timestampMs of [3, 9, 31, 38, 40]) await driver.input(words).pipe('k', `at ${timestampMs}`, { timestampMs });
    expect(emitted(driver)).toEqual([
      'record=at 3',
      'streamTime=3',
      'record=at 9',
      'record=at 31',
      'streamTime=31',
      'record=at 38',
      'record=at 40',
      'streamTime=40',
    ]);
  });

  it('may make a jump of years', async () => {
    const driver = await start(sumTopology());
    await driver.input(amounts).pipe('anna', 1n);
    for (let year = 0; year < 3; year += 1) await driver.advance(366 * 86_400_000);
    await driver.input(amounts).pipe('anna', 1n);
    expect(
      driver
        .output(totals)
        .readAll()
        .map(({ value }) => value),
    ).toEqual([1n, 2n]);
  });

  it('passes for handlers that wait on the clock', async () => {
    const driver: TopologyTestDriver = await start(sumTopology((amount) => sleep(driver.clock, Number(amount))));
    await driver.input(amounts).pipe('anna', 2_500n);
    expect(driver.clock.nowMs()).toBe(startMs + 2_500);
    await driver.input(amounts).pipeAll([30n, 20n, 10n].map((value) => ({ key: 'anna', value })));
    expect(
      driver
        .output(totals)
        .readAll()
        .map(({ value }) => value),
    ).toEqual([2_500n, 2_530n, 2_550n, 2_560n]);
    expect(driver.clock.nowMs()).toBe(startMs + 2_560);
  });

  it('passes for retries', async () => {
    let failures = 3;
    const flaky = (): void => {
      failures -= 1;
      if (failures >= 0) throw new Error('not yet');
    };
    const retry = { action: 'retry', retriesMax: 5, backoffMs: 1_000, then: { action: 'stop' } } as const;
    const driver = await start(sumTopology(flaky), { worker: { errors: { processing: retry } } });
    await driver.input(amounts).pipe('anna', 1n);
    expect(driver.output(totals).readAll()).toHaveLength(1);
    expect(driver.clock.nowMs()).toBeGreaterThan(startMs + 3_000);
  });
});

describe('failures', () => {
  it('come from the call that caused them, with the error that was thrown as their cause', async () => {
    const thrown = new Error('no such account');
    const driver = await start(
      sumTopology((amount) => {
        if (amount === 13n) throw thrown;
      }),
    );
    await driver.input(amounts).pipe('anna', 1n);
    const failure: unknown = await driver
      .input(amounts)
      .pipe('anna', 13n)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'RECORD_FAILED', place: { topic: 'amounts', offset: 1 } });
    expect((failure as Error).cause).toBe(thrown);
    await expect(driver.advance(1)).rejects.toBe(failure);
    // What was committed before stays to be read.
    expect(driver.output(totals).readAll()).toHaveLength(1);
    await driver.close();
  });

  it('of a start are thrown by it', async () => {
    const builder = new TopologyBuilder();
    const [left, right] = [topic('left', { ...words, partitions: 2 }), topic('right', { ...words, partitions: 3 })];
    const [one, other] = [builder.source(left), builder.source(right)];
    builder.copartition(one, other);
    builder.sink([one, other], results);
    await expect(start(builder.build())).rejects.toMatchObject({ name: 'InvalidConfigurationError', code: 'NOT_COPARTITIONED' });
    await expect(start(sumTopology(), { worker: { applicationId: 'no spaces' } })).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  });

  it('include handlers that never answer', async () => {
    const driver = await start(
      sumTopology(() => new Promise(() => {})),
      { worker: { handlerDeadlineMs: 2_000 } },
    );
    await expect(driver.input(amounts).pipe('anna', 1n)).rejects.toMatchObject({ cause: { code: 'HANDLER_DEADLINE' } });
    expect(driver.clock.nowMs()).toBeGreaterThanOrEqual(startMs + 2_000);
  });

  it('include calls for which something never ends', async () => {
    const retry = { action: 'retry', retriesMax: 1_000_000, backoffMs: 1_000, then: { action: 'stop' } } as const;
    const fail = (): void => {
      throw new Error('never');
    };
    const driver = await start(sumTopology(fail), { worker: { errors: { processing: retry } }, callTimeoutMs: 5_000 });
    await expect(driver.input(amounts).pipe('anna', 1n)).rejects.toMatchObject({ code: 'NOT_SETTLED' });
  });

  it('follow the error policies', async () => {
    const aside = topic('aside', { key: bytes(), value: bytes() });
    const driver = await start(sumTopology(), {
      worker: { errors: { deserialization: { action: 'deadLetter', topic: aside } } },
    });
    await driver.input(amounts).pipeBytes('anna', 'no number');
    expect(driver.health().counters).toMatchObject({ records: 1, recordsDeadLettered: 1 });
    expect(
      driver
        .output(aside)
        .readAll()
        .map(({ value }) => text(value)),
    ).toEqual(['no number']);
  });

  it('of the use of the driver say what is wrong', async () => {
    const driver = await start(sumTopology());
    const code = (use: () => unknown): unknown => {
      try {
        use();
      } catch (error) {
        expect(error).toBeInstanceOf(TestDriverError);
        return (error as TestDriverError).code;
      }
      return undefined;
    };
    expect(code(() => driver.input(totals))).toBe('TOPIC_NOT_READ');
    expect(code(() => driver.store(keyValueStore('other', { key: string(), value: int64() })))).toBe('STORE_UNKNOWN');
    await expect(driver.input(amounts).pipe('anna', 1n, { partition: 1 })).rejects.toMatchObject({ code: 'PARTITION_UNKNOWN' });
    expect(code(() => driver.createWorker({ topology: sumTopology() }, { applicationId: 'b', stateDirectory: 'b' }))).toBe('DRIVER_IN_USE');
    expect(code(() => new TopologyTestDriver().output(totals).read())).toBe('DRIVER_NOT_STARTED');
    await driver.close();
    await driver.close();
    expect(code(() => driver.output(totals).isEmpty)).toBe('DRIVER_CLOSED');
    await expect(driver.advance(1)).rejects.toMatchObject({ code: 'DRIVER_CLOSED' });
  });
});

describe('a driven worker', () => {
  it.each(['exactly-once', 'at-least-once', 'at-most-once'] as const)('keeps its guarantee, here %s', async (guarantee) => {
    const driver = await start(sumTopology(), { worker: { guarantee } });
    await driver.input(amounts).pipe('anna', 1n);
    await driver.input(amounts).pipe('anna', 2n);
    await driver.input(amounts).pipeAll(Array.from({ length: 10 }, () => ({ key: 'bert', value: 1n })));
    expect(
      driver
        .output(totals)
        .readAll()
        .map(({ value }) => value),
    ).toEqual([1n, 3n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, 10n]);
    expect(await driver.store(sums).entries()).toEqual([
      ['anna', 3n],
      ['bert', 10n],
    ]);
  });

  it('does the same for the same calls', async () => {
    const run = async () => {
      const driver = await start(letterTopology(), { partitions: 3, seed: 5 });
      for (let index = 0; index < 30; index += 1) await driver.input(words).pipe(index % 4 === 0 ? null : `k${index}`, 'hello');
      await driver
        .input(words)
        .pipeAll(Array.from({ length: 3_000 }, (_, index) => ({ key: index % 2 === 0 ? null : `k${index}`, value: 'abc' })));
      return driver.readEmitted();
    };
    const first = await run();
    expect(first.length).toBe(30 * 6 + 3_000 * 4);
    expect(new Set(first.map(({ partition }) => partition)).size).toBe(3);
    expect(await run()).toEqual(first);
  });

  it('is not disturbed by calls that are not awaited', async () => {
    const driver = await start(sumTopology());
    const calls = [driver.input(amounts).pipe('anna', 1n), driver.advance(10), driver.input(amounts).pipe('anna', 2n)];
    await Promise.all(calls);
    expect(
      driver
        .output(totals)
        .readAll()
        .map(({ value, timestampMs }) => [value, timestampMs - startMs]),
    ).toEqual([
      [1n, 0],
      [3n, 10],
    ]);
  });
});
