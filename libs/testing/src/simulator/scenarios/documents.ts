/** Large values, so that buffers reach their bound: the newest document of each key. */
import { keyValueStore, type ProcessorContext, string, topic, TopologyBuilder } from '@tally/streams';
import { type Item, item, itemBytes, itemOf, itemText } from './item.js';
import { exactly, Lanes, type Scenario, textOf } from './scenario.js';

const uploads = topic('uploads', { key: string(), value: item() });
const stored = topic('stored', { key: string(), value: item() });
const newest = keyValueStore('newest', { key: string(), value: string() });

const outputs = [{ name: stored.name }];
const charactersPerUnit = 1_000;

/** Cut from one long text, so that it costs nothing to make. */
const text = 'tally '.repeat(10_000);
const contentOf = ({ id, amount }: Item): string => `${id}:${text.slice(0, amount * charactersPerUnit)}`;

export const documentsScenario: Scenario = {
  name: 'documents',
  weight: 1,
  guarantees: exactly,
  inputs: [{ name: uploads.name }],
  outputs,
  stores: [newest],
  isStateful: true,
  isAsynchronous: false,
  bufferBytesMax: 1024 * 1024,
  topology() {
    const builder = new TopologyBuilder({ name: 'documents' });
    const kept = builder.processor(builder.source(uploads), {
      name: 'keep',
      stores: [newest],
      process(record, context: ProcessorContext<string, Item>) {
        context.store(newest).put(record.key, contentOf(record.value));
        context.forward(record);
      },
    });
    builder.sink(kept, stored);
    return builder.build();
  },
  record: (draw, id, partition) => ({
    topic: uploads.name,
    key: `${partition}/${draw.below(40)}`,
    value: itemBytes(id, draw.between(1, 40)),
  }),
  lane: ({ key, value }) => [textOf(key), itemText(itemOf(value))],
  storeText: (_store, value) => `${String(value).split(':')[0]}:${String(value).length}`,
  expect(inputs) {
    const lanes = new Lanes(outputs);
    const held = new Map<string, string>();
    for (const { key, value } of inputs) {
      const document = itemOf(value);
      lanes.add(stored.name, key, itemText(document));
      held.set(key, `${document.id}:${contentOf(document).length}`);
    }
    return { outputs: lanes.byTopic, stores: new Map([[newest.name, held]]) };
  },
  conserved: () => [],
};
