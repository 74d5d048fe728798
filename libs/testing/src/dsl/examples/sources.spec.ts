import { json, StreamsBuilder, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

interface Reading {
  readonly celsius: number;
  readonly takenAtMs: number;
}

const readings = topic('readings', {
  key: string(),
  value: json<Reading>(),
  timestamps: (reading) => reading.takenAtMs,
});
const warm = topic('warm', { key: string(), value: json<Reading>() });

it('gives each reading the time at which it was taken, and drops what has none', async () => {
  const streams = new StreamsBuilder();
  streams
    .stream(readings)
    .filter(({ celsius }) => celsius > 20)
    .to(warm);

  const driver = await TopologyTestDriver.start(streams.build());
  const input = driver.input(readings);
  await input.pipe('attic', { celsius: 31, takenAtMs: 5_000 }, { timestampMs: 9_000 });
  await input.pipe('attic', { celsius: 33, takenAtMs: -1 }, { timestampMs: 9_500 });

  expect(driver.output(warm).readAll()).toMatchObject([{ key: 'attic', timestampMs: 5_000 }]);
  expect(driver.health().counters.recordsDropped).toBe(1);
  await driver.close();
});
