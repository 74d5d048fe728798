// @ts-check
/**
 * Topologies for records that nobody wants: `poison` does what its records ask it to do wrong, `copy` passes everything on as it is.
 * For worker processes; see topologies.mjs.
 */
import { bytes, json, keyValueStore, nullable, string, topic, TopologyBuilder, int64 } from '@tally/streams';

/**
 * @typedef {import('./topologies.mjs').Built} Built
 * @typedef {import('./topologies.mjs').Names} Names
 * @typedef {{id: number, n: number, ask?: string}} Order
 * @typedef {import('@tally/streams').ProcessorContext<never, never>} Context
 */

const totals = keyValueStore('totals', { key: string(), value: int64() });
/** Its changelog topic takes less than the application thinks. */
const notes = keyValueStore('notes', { key: string(), value: string() });

const megabyte = 1_048_576;
/** More than the topic `narrow` and the changelog of `notes` take, less than the application's own bound. */
const beyondBroker = 'x'.repeat(300_000);

/** @param {Names} names */
function outputsOf(names) {
  const of = (/** @type {string} */ role, /** @type {object} */ options = {}) =>
    topic(names[role] ?? `${role}-is-missing`, { key: string(), value: string(), ...options });
  return {
    output: of('output'),
    narrow: of('narrow'),
    unknown: of('unknown'),
    /** The same topic for records that are larger than the client takes. */
    wide: topic(names['output'] ?? '', { key: string(), value: bytes(), maxRecordBytes: 64 * megabyte }),
  };
}

/** @type {Readonly<Record<string, (context: Context, key: string, outputs: ReturnType<typeof outputsOf>) => void | Promise<void>>>} */
const misdeeds = {
  throw() {
    throw new Error('the handler was asked to throw');
  },
  async reject() {
    await Promise.resolve();
    throw new Error('the handler was asked to reject');
  },
  throwTwice(context) {
    if (context.record.attempt <= 2) throw new Error(`the handler was asked to throw twice, this is attempt ${context.record.attempt}`);
  },
  tooLarge: (context, key, { output }) => context.send(output, key, 'x'.repeat(2 * megabyte)),
  null: (context, key, { output }) => context.send(output, key, /** @type {string} */ (/** @type {unknown} */ (null))),
  unknown: (context, key, { unknown }) => context.send(unknown, key, 'x'),
  header: (context, key, { output }) => context.send(output, key, 'x', { headers: [{ name: 'nul\0', value: Buffer.alloc(1) }] }),
  notATime: (context, key, { output }) => context.send(output, key, 'x', { timestampMs: Number.NaN }),
  partition: (context, key, { output }) => context.send(output, key, 'x', { partition: 99 }),
  state: (context, key) => context.store(notes).put(key, 'x'.repeat(2 * megabyte)),
  /** From here on it is the client or the broker that refuses. */
  client: (context, key, { wide }) => context.send(wide, key, Buffer.alloc(17 * megabyte)),
  timeZero: (context, key, { output }) => context.send(output, key, 'x', { timestampMs: 0 }),
  narrow: (context, key, { narrow }) => context.send(narrow, key, beyondBroker),
  future: (context, key, { output }) => context.send(output, key, 'x', { timestampMs: Date.now() + 3 * 3_600_000 }),
  changelog: (context, key) => context.store(notes).put(key, beyondBroker),
  grow(context) {
    const store = context.store(notes);
    store.put('grown', (store.get('grown') ?? '') + beyondBroker.slice(0, 60_000));
  },
  small: (context, key, { narrow }) => context.send(narrow, key, 'small'),
};

/** @type {Readonly<Record<string, (names: Names, member: string) => Built>>} */
export const topologies = {
  /** `input` -> running totals -> `output`; then what the record asks for. */
  poison(names) {
    const outputs = outputsOf(names);
    const input = topic(names['input'] ?? '', { key: string(), value: json() });
    const builder = new TopologyBuilder({ name: 'poison' });
    builder.processor(builder.source(input), {
      name: 'obey',
      stores: [totals, notes],
      process(record, context) {
        const { id, n, ask } = /** @type {Order} */ (record.value);
        const store = context.store(totals);
        const total = (store.get(record.key) ?? 0n) + BigInt(n);
        store.put(record.key, total);
        context.send(outputs.output, record.key, `${id}:${total}`);
        return ask === undefined ? undefined : misdeeds[ask]?.(context, record.key, outputs);
      },
    });
    return { topology: builder.build(), stores: { totals } };
  },

  /** Running totals as in `poison`; after a record that asks for it, the next tick of the wall clock sends more than the broker takes. */
  punctual(names) {
    const outputs = outputsOf(names);
    const input = topic(names['input'] ?? '', { key: string(), value: json() });
    const builder = new TopologyBuilder({ name: 'punctual' });
    builder.processor(builder.source(input), {
      name: 'obey',
      stores: [totals],
      create() {
        let isAsked = false;
        return {
          init(context) {
            context.schedule(50, 'wallClock', (_timestampMs, tick) => {
              if (isAsked) tick.send(outputs.narrow, 'asked', beyondBroker);
              isAsked = false;
            });
          },
          process(record, context) {
            const { id, n, ask } = /** @type {Order} */ (record.value);
            if (ask !== undefined) isAsked = true;
            const store = context.store(totals);
            const total = (store.get(record.key) ?? 0n) + BigInt(n);
            store.put(record.key, total);
            context.send(outputs.output, record.key, `${id}:${total}`);
          },
        };
      },
    });
    return { topology: builder.build(), stores: { totals } };
  },

  /** `input` -> `output` and the store `copies`, byte for byte; a header `twice` makes it send the value twice over. */
  copy(names) {
    const handle = (/** @type {string} */ role) => topic(names[role] ?? '', { key: nullable(bytes()), value: nullable(bytes()) });
    const copies = keyValueStore('copies', { key: bytes(), value: bytes() });
    const builder = new TopologyBuilder({ name: 'copy' });
    const output = handle('output');
    builder.processor(builder.source(handle('input')), {
      name: 'copy',
      stores: [copies],
      process({ key, value, timestampMs, headers }, context) {
        if (key !== null && value !== null) context.store(copies).put(key, value);
        const sent = value !== null && headers.some(({ name }) => name === 'twice') ? Buffer.concat([value, value]) : value;
        context.send(output, key, sent, { timestampMs, headers });
      },
    });
    return { topology: builder.build(), stores: {} };
  },
};
