import { json, nullable, session, sessionStore, sessionWindowed, StreamsBuilder, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

const clicks = topic('clicks', { key: string(), value: string() });
const visits = sessionStore('visits', { key: string(), value: json<string[]>(), retentionMs: 3_600_000 });
const visitedPages = topic('visited-pages', { key: sessionWindowed(string()), value: nullable(json<string[]>()) });

function topology() {
  const streams = new StreamsBuilder();
  streams
    .stream(clicks)
    .groupByKey()
    .windowedBy(session({ gapMs: 1_800_000, graceMs: 60_000 }))
    .aggregate(visits, {
      initial: () => [],
      add: (pages, page) => [...pages, page],
      merge: (earlier, later) => [...earlier, ...later],
    })
    .toStream()
    .to(visitedPages);
  return streams.build();
}

it('lists the pages of a visit', async () => {
  const driver = await TopologyTestDriver.start(topology());
  const input = driver.input(clicks);
  await input.pipe('ann', '/', { timestampMs: 0 });
  await input.pipe('ann', '/cart', { timestampMs: 600_000 });
  await input.pipe('ann', '/news', { timestampMs: 9_000_000 });
  expect(driver.output(visitedPages).readAll()).toMatchObject([
    { key: { key: 'ann', startMs: 0, endMs: 0 }, value: ['/'] },
    { key: { key: 'ann', startMs: 0, endMs: 0 }, value: null }, // the session has another end, and so another key
    { key: { key: 'ann', startMs: 0, endMs: 600_000 }, value: ['/', '/cart'] },
    { key: { key: 'ann', startMs: 9_000_000, endMs: 9_000_000 }, value: ['/news'] },
  ]);
  await driver.close();
});
