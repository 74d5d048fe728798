import { int64, nullable, StreamsBuilder, string, timeWindowed, topic, tumbling, windowStore } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

const minuteMs = 60_000;
const payments = topic('payments', { key: string(), value: int64() });
const perMinute = windowStore('per-minute', { key: string(), value: int64(), retentionMs: 60 * minuteMs });
const totals = topic('totals', { key: timeWindowed(string(), { sizeMs: minuteMs }), value: nullable(int64()) });

function topology() {
  const streams = new StreamsBuilder();
  streams
    .stream(payments)
    .groupByKey()
    .windowedBy(tumbling({ sizeMs: minuteMs, graceMs: 10_000 }))
    .aggregate(perMinute, { initial: () => 0n, add: (sum, amount) => sum + amount }, { emit: 'onClose' })
    .toStream()
    .to(totals);
  return streams.build();
}

it('tells what an account has paid in a minute, once it is over', async () => {
  const driver = await TopologyTestDriver.start(topology());
  const input = driver.input(payments);
  await input.pipe('alice', 5n, { timestampMs: 1_000 });
  await input.pipe('bob', 1n, { timestampMs: 65_000 });
  await input.pipe('alice', 2n, { timestampMs: 59_000 }); // late, but within the grace period
  expect(driver.output(totals).readAll()).toEqual([]);

  await input.pipe('bob', 1n, { timestampMs: 70_000 });
  expect(driver.output(totals).readAll()).toMatchObject([
    { key: { key: 'alice', startMs: 0, endMs: 60_000 }, value: 7n, timestampMs: 59_000 },
  ]);

  await input.pipe('alice', 9n, { timestampMs: 58_000 }); // too late
  expect(driver.health().counters.recordsDropped).toBe(1);
  await driver.close();
});
