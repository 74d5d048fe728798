// @ts-check
/** Two versions of one application: the second one reads another topic beside the first one's. */
import { TopologyBuilder, int64, keyValueStore, string, topic } from '@tally/streams';

/** @param {string | undefined} name */
const input = (name) => topic(name ?? '', { key: string(), value: int64() });
const totals = keyValueStore('totals', { key: string(), value: int64() });

/**
 * Adds each record's number to the total of its key, and sends `number:total`.
 *
 * @param {number} version
 * @param {readonly [import('@tally/streams').Topic<string, bigint>, ...import('@tally/streams').Topic<string, bigint>[]]} inputs
 * @param {string | undefined} outputName
 */
function adding(version, inputs, outputName) {
  const output = topic(outputName ?? '', { key: string(), value: string() });
  const builder = new TopologyBuilder({ name: 'adding', version });
  builder.processor(builder.source(inputs, { subTopology: 'adding' }), {
    name: 'add',
    stores: [totals],
    process(record, context) {
      const store = context.store(totals);
      const total = (store.get(record.key) ?? 0n) + record.value;
      store.put(record.key, total);
      context.send(output, record.key, `${record.value}:${total}`);
    },
  });
  return { topology: builder.build(), stores: { totals } };
}

/** @type {Readonly<Record<string, (names: Readonly<Record<string, string>>) => {topology: import('@tally/streams').Topology, stores: Readonly<Record<string, typeof totals>>}>>} */
export const topologies = {
  before: (names) => adding(1, [input(names['input'])], names['output']),
  after: (names) => adding(2, [input(names['input']), input(names['later'])], names['output']),
};
