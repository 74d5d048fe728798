// @ts-check
/**
 * An application whose handlers call a service and write afterwards, several keys of a task at once. While the file `gate` exists, the
 * service does not answer calls for some of the records; when the scope of such a record ends meanwhile, its handler writes all the same.
 */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { TopologyBuilder, int64, keyValueStore, string, topic } from '@tally/streams';

const totals = keyValueStore('totals', { key: string(), value: int64() });
/** One record of so many is held at the gate. */
const heldEvery = 100n;
const pollMs = 10;

/** @param {string} event @param {object} fields */
function report(event, fields) {
  process.stdout.write(`${JSON.stringify({ event, atMs: Date.now(), ...fields })}\n`);
}

/**
 * What became of each write: `accepted`, or the name of the error.
 *
 * @param {Readonly<Record<string, () => void>>} writes
 */
function attempt(writes) {
  return Object.fromEntries(
    Object.entries(writes).map(([name, write]) => {
      try {
        write();
        return [name, 'accepted'];
      } catch (error) {
        return [name, /** @type {Error} */ (error).name];
      }
    }),
  );
}

/** @type {Readonly<Record<string, (names: Readonly<Record<string, string>>) => {topology: import('@tally/streams').Topology, stores: Readonly<Record<string, typeof totals>>}>>} */
export const topologies = {
  calling(names) {
    const gate = names['gate'] ?? '';
    const input = topic(names['input'] ?? '', { key: string(), value: int64() });
    const output = topic(names['output'] ?? '', { key: string(), value: string() });

    /** @param {bigint} id @param {AbortSignal} signal */
    async function callService(id, signal) {
      if (id % heldEvery !== 0n || !existsSync(gate)) {
        await new Promise((resolve) => setImmediate(resolve));
        return;
      }
      report('held', { id: String(id) });
      while (existsSync(gate) && !signal.aborted) await sleep(pollMs);
    }

    const builder = new TopologyBuilder({ name: 'calling' });
    const called = builder.processor(builder.source(input), {
      name: 'call',
      stores: [totals],
      concurrency: { perTask: 8, orderedBy: 'key' },
      /** @param {import('@tally/streams').StreamRecord<string, bigint>} record @param {import('@tally/streams').ProcessorContext<string, string>} context */
      async process(record, context) {
        const { signal } = context;
        const store = context.store(totals);
        const total = (store.get(record.key) ?? 0n) + record.value;
        await callService(record.value, signal);
        const text = `${record.value}:${total}`;
        if (signal.aborted) {
          const outcome = attempt({
            put: () => store.put(record.key, 999_999_999n),
            delete: () => store.delete(record.key),
            get: () => void store.get(record.key),
            store: () => void context.store(totals),
            forward: () => context.forward({ ...record, value: 'late' }),
            send: () => context.send(output, record.key, 'late'),
          });
          report('late', { id: String(record.value), outcome });
        }
        store.put(record.key, total);
        context.forward({ ...record, value: text });
      },
    });
    builder.sink(called, output);
    return { topology: builder.build(), stores: { totals } };
  },
};
