// @ts-check
/**
 * The topologies of the worker processes, by name. Each takes the names of its topics and says which stores can be asked.
 * Every output carries the header `member`: the name of the process that made it.
 */
import { int64, keyValueStore, string, topic, TopologyBuilder } from '@tally/streams';

/**
 * @typedef {{topology: import('@tally/streams').Topology, stores: Readonly<Record<string, import('@tally/streams').KeyValueStoreDefinition<string, bigint>>>}} Built
 * @typedef {Readonly<Record<string, string>>} Names topic names, by their role in the topology
 */

/** @param {string} name */
const inputTopic = (name) => topic(name, { key: string(), value: int64() });
/** @param {string} name */
const outputTopic = (name) => topic(name, { key: string(), value: string() });
const totals = keyValueStore('totals', { key: string(), value: int64() });

/** Keys to which a punctuation of `ticks` adds. */
const tickKeys = 100;
const tickIntervalMs = 50;

/**
 * Adds the record's id to the total of its key, and sends `id:total`.
 *
 * @param {string} name of the processor
 * @param {import('@tally/streams').Topic<string, string>} output
 * @param {string} member
 */
function adding(name, output, member) {
  const headers = [{ name: 'member', value: Buffer.from(member) }];
  return {
    name,
    stores: [totals],
    /**
     * @param {import('@tally/streams').StreamRecord<string, bigint>} record
     * @param {import('@tally/streams').ProcessorContext<never, never>} context
     */
    process(record, context) {
      const store = context.store(totals);
      const total = (store.get(record.key) ?? 0n) + record.value;
      store.put(record.key, total);
      context.send(output, record.key, `${record.value}:${total}`, { headers });
    },
  };
}

/** @type {Readonly<Record<string, (names: Names, member: string) => Built>>} */
export const topologies = {
  /** `input` -> running totals -> `output`. */
  sums(names, member) {
    const builder = new TopologyBuilder({ name: 'sums' });
    builder.processor(builder.source(inputTopic(names['input'] ?? '')), adding('add', outputTopic(names['output'] ?? ''), member));
    return { topology: builder.build(), stores: { totals } };
  },

  /** `left` and `right`, partitioned alike, -> one store of running totals -> `output`. */
  pair(names, member) {
    const builder = new TopologyBuilder({ name: 'pair' });
    const left = builder.source(inputTopic(names['left'] ?? ''));
    const right = builder.source(inputTopic(names['right'] ?? ''));
    builder.processor([left, right], adding('add', outputTopic(names['output'] ?? ''), member));
    return { topology: builder.build(), stores: { totals } };
  },

  /** Records change nothing: a wall-clock punctuation counts, for each of its keys, how often it has run, and sends the counts. */
  ticks(names, member) {
    const builder = new TopologyBuilder({ name: 'ticks' });
    const output = outputTopic(names['output'] ?? '');
    const headers = [{ name: 'member', value: Buffer.from(member) }];
    builder.processor(builder.source(inputTopic(names['input'] ?? '')), {
      name: 'tick',
      stores: [totals],
      create: () => ({
        init(context) {
          const { partition } = context;
          context.schedule(tickIntervalMs, 'wallClock', (_timestampMs, tick) => {
            const store = tick.store(totals);
            for (let index = 0; index < tickKeys; index++) {
              const key = `${partition}/${index}`;
              const count = (store.get(key) ?? 0n) + 1n;
              store.put(key, count);
              tick.send(output, key, String(count), { partition, headers });
            }
          });
        },
        process() {},
      }),
    });
    return { topology: builder.build(), stores: { totals } };
  },
};
