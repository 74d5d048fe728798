import { int64, keyValueStore, nullable, string, StreamsBuilder, topic, type Topology } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { TopologyTestDriver } from '../driver/index.js';

const words = topic('words', { key: nullable(string()), value: nullable(string()) });
const lengths = topic('lengths', { key: nullable(string()), value: nullable(int64()) });
const counts = keyValueStore('counts', { key: string(), value: int64() });

async function dropsOf(topology: Topology, records: readonly (readonly [key: string | null, value: string | null])[]): Promise<number> {
  const driver = new TopologyTestDriver();
  const application = driver.createWorker({ topology }, { applicationId: 'test', stateDirectory: 'memory' });
  await application.start();
  for (const [key, value] of records) await driver.input(words).pipe(key, value);
  const { recordsDropped } = application.health().counters;
  await driver.close();
  return recordsDropped;
}

describe('what operators pass over', () => {
  it('is counted, once for each operator, when its epoch is committed', async () => {
    const streams = new StreamsBuilder();
    streams.stream(words).groupByKey().count(counts);
    streams.table(words);
    const records = [
      ['a', 'x'],
      [null, 'x'],
      ['a', null],
    ] as const;
    expect(await dropsOf(streams.build(), records)).toBe(3);
  });

  it('is not counted for a record that was rolled back', async () => {
    const streams = new StreamsBuilder();
    streams.table(words);
    streams.stream(words).process({
      process(_record, context) {
        context.drop('late');
        context.rollback();
      },
    });
    expect(await dropsOf(streams.build(), [[null, 'x']])).toBe(1);
  });
});

describe('a table without a store', () => {
  it('gets one when it is grouped, and moves its rows between groups', async () => {
    const streams = new StreamsBuilder();
    streams
      .table(words)
      .groupBy((word, key) => [String(word.length), key], { key: string(), value: string() })
      .count(counts)
      .toStream()
      .to(lengths);
    const driver = await TopologyTestDriver.start(streams.build());
    const input = driver.input(words);
    await input.pipe('a', 'xy');
    await input.pipe('b', 'yz');
    await input.pipe('a', 'x');
    await input.pipe('b', null);
    expect(
      driver
        .output(lengths)
        .readAll()
        .map(({ key, value }) => [key, value]),
    ).toEqual([
      ['2', 1n],
      ['2', 2n],
      ['2', 1n],
      ['1', 1n],
      ['2', 0n],
    ]);
    await driver.close();
  });
});
