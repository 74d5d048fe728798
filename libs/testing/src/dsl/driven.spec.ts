import { keyValueStore, type ProcessorContext, string, topic, type Topology, TopologyBuilder } from '@tally/streams';
import { expect, it } from 'vitest';
import { driven } from './driven.suite.js';

const input = topic('input', { key: string(), value: string() });
const out = topic('out', { key: string(), value: string() });
const store = keyValueStore('store', { key: string(), value: string() });

function topologyOf(process: (context: ProcessorContext<string, string>) => void | Promise<void>): Topology {
  const builder = new TopologyBuilder();
  const node = builder.processor(builder.source(input), {
    name: 'own',
    stores: [store],
    process: (_record, context: ProcessorContext<string, string>) => process(context),
  });
  builder.sink(node, out);
  return builder.build();
}

it('notices a processor that waits', async () => {
  const { pipe } = await driven(
    topologyOf(() => Promise.resolve()),
    out,
  );
  await expect(pipe(input, 'a', 'x', 1)).rejects.toThrow(/to be undefined/);
});

it('notices a read that waits', async () => {
  const seen: unknown[] = [];
  const { pipe } = await driven(
    topologyOf((context) => {
      const entries = context.store(store).all()[Symbol.asyncIterator]();
      void entries.next().then(undefined, (error: unknown) => seen.push(error));
    }),
    out,
  );
  await pipe(input, 'a', 'x', 1);
  expect(seen.map(String)).toEqual([expect.stringContaining('read a range of a store, which waits')]);
});
