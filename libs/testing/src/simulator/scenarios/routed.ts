/** No state at all: a filter, and a sink that chooses its topic for each record. */
import { type ProcessorContext, string, topic, TopologyBuilder } from '@tally/streams';
import { type Item, item, itemBytes, itemOf, itemText } from './item.js';
import { Lanes, type Scenario, textOf } from './scenario.js';

const events = topic('events', { key: string(), value: item() });
const routes = [0, 1, 2].map((number) => topic(`route-${number}`, { key: string(), value: item() }));

const outputs = routes.map(({ name }) => ({ name }));
const isKept = ({ amount }: Item): boolean => amount % 7 !== 0;

function routeOf({ amount }: Item): (typeof routes)[number] {
  const route = routes[amount % routes.length];
  if (route === undefined) throw new Error('There is no route.');
  return route;
}

export const routedScenario: Scenario = {
  name: 'routed',
  weight: 2,
  guarantees: ['exactly-once', 'at-least-once', 'at-most-once'],
  inputs: [{ name: events.name }],
  outputs,
  stores: [],
  isStateful: false,
  isAsynchronous: false,
  topology() {
    const builder = new TopologyBuilder({ name: 'routes' });
    const kept = builder.processor(builder.source(events), {
      name: 'keep',
      process(record, context: ProcessorContext<string, Item>) {
        if (isKept(record.value)) context.forward(record);
      },
    });
    builder.sink(kept, (record) => routeOf(record.value));
    return builder.build();
  },
  record: (draw, id, partition) => ({
    topic: events.name,
    key: `${partition}/${draw.below(6)}`,
    value: itemBytes(id, draw.between(1, 1_000)),
  }),
  lane: ({ key, value }) => [textOf(key), itemText(itemOf(value))],
  storeText: (_store, value) => String(value),
  expect(inputs) {
    const lanes = new Lanes(outputs);
    for (const { key, value } of inputs) {
      const event = itemOf(value);
      if (isKept(event)) lanes.add(routeOf(event).name, key, itemText(event));
    }
    return { outputs: lanes.byTopic, stores: new Map() };
  },
  conserved: () => [],
};
