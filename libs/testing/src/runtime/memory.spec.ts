import { TopologyBuilder, keyValueStore, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { setting } from './setting.suite.js';

const documents = topic('documents', { key: string(), value: string() });
const copies = topic('copies', { key: string(), value: string() });
const newest = keyValueStore('newest', { key: string(), value: string() });

function keeping() {
  const builder = new TopologyBuilder({ name: 'keeping' });
  builder.processor(builder.source(documents), {
    name: 'keep',
    stores: [newest],
    process(record, context) {
      context.store(newest).put(record.key, record.value);
      context.send(copies, record.key, record.value);
    },
  });
  return builder.build();
}

describe('the memory of a worker', () => {
  it('keeps within its bound in the middle of a batch too', async () => {
    const test = setting({ documents: 1, copies: 1 });
    const bufferBytesMax = 1024 * 1024;
    const documentBytes = 20_000;
    const value = 'x'.repeat(documentBytes);
    test.cluster.append(
      'documents',
      0,
      Array.from({ length: 300 }, (_, index) => ({ key: `d${index}`, value })),
    );
    let mostBytes = 0;
    const worker = await test.start(
      keeping(),
      { bufferBytesMax },
      {
        commitPoint: () => {
          mostBytes = Math.max(mostBytes, worker.health().memory.bufferedBytes);
        },
      },
    );
    await test.until(() => worker.health().counters.records === 300);
    // The record that reaches the bound is the last one taken: its output and its entry are what may lie above.
    expect(mostBytes).toBeGreaterThan(bufferBytesMax / 2);
    expect(mostBytes).toBeLessThan(bufferBytesMax + 3 * documentBytes);
  });
});
