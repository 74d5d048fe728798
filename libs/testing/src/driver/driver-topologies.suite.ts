/** Small topologies for the tests of the driver. */
import { int64, keyValueStore, nullable, type ProcessorContext, string, topic, type Topology, TopologyBuilder } from '@tally/streams';

export const amounts = topic('amounts', { key: string(), value: int64() });
export const totals = topic('totals', { key: string(), value: int64() });
export const words = topic('words', { key: nullable(string()), value: nullable(string()) });
export const results = topic('results', { key: nullable(string()), value: nullable(string()) });
export const sums = keyValueStore('sums', { key: string(), value: int64() });

/** Running totals by key. `before` runs first; what it returns is awaited. */
export function sumTopology(before?: (amount: bigint) => void | Promise<void>): Topology {
  const builder = new TopologyBuilder();
  const add = (key: string, amount: bigint, context: ProcessorContext<string, bigint>): void => {
    const sum = (context.store(sums).get(key) ?? 0n) + amount;
    context.store(sums).put(key, sum);
    context.forward({ ...context.record, key, value: sum });
  };
  const summed = builder.processor(builder.source(amounts), {
    name: 'sum',
    stores: [sums],
    process({ key, value }, context: ProcessorContext<string, bigint>) {
      const waiting = before?.(value);
      if (waiting === undefined) add(key, value, context);
      else return waiting.then(() => add(key, value, context));
    },
  });
  builder.sink(summed, totals);
  return builder.build();
}

/** Every record is written to `results`, and, re-keyed by its value's letters, through a repartition topic to `results` once more. */
export function letterTopology(): Topology {
  const builder = new TopologyBuilder();
  const source = builder.source(words);
  builder.sink(source, results);
  const letters = builder.processor(source, {
    name: 'letters',
    process(record, context: ProcessorContext<string | null, string | null>) {
      for (const letter of record.value ?? '') context.forward({ ...record, key: letter });
    },
  });
  builder.sink(builder.repartition(letters, { name: 'by-letter', key: words.key, value: words.value }), results);
  return builder.build();
}

/** Punctuators that write the time of their call to `results`, under their type as the key. */
export function tickTopology(intervalMs: number): Topology {
  const builder = new TopologyBuilder();
  const ticks = builder.processor(builder.source(words), {
    name: 'tick',
    create: () => ({
      init(context) {
        for (const type of ['streamTime', 'wallClock'] as const) {
          context.schedule(intervalMs, type, (timestampMs, call: ProcessorContext<string, string>) =>
            call.forward({ key: type, value: String(timestampMs), timestampMs, headers: [] }),
          );
        }
      },
      process(record, context: ProcessorContext<string, string>) {
        context.forward({ ...record, key: 'record', value: record.value ?? '' });
      },
    }),
  });
  builder.sink(ticks, results);
  return builder.build();
}
