/** Processors of one's own. */
import { output, outputValue } from '@tally/streams';
import type { Build, BuildOperator, StreamNode } from '../node.js';
import { type NamedProcessor, processor, type Surroundings } from '../processors.js';
import { numberField, type Operator, requiredText } from '../scenario.js';
import { type Data, nullableSerdeOf } from '../types.js';

export const process: Readonly<Record<string, BuildOperator>> = {
  process(operator, build) {
    const node = build.nodeOf(operator.from, 'stream');
    const made = processorOf(operator, node, build);
    const { punctuator } = made;
    const stream = node.stream.process({
      ...storesOf(made),
      forwards: output<Data, Data>(),
      key: nullableSerdeOf(node.key),
      value: nullableSerdeOf(made.value),
      process: (record, context) =>
        made.process(record, {
          ...surroundings(context),
          emit: (key, value, timestampMs, headers) => context.forward({ key, value, timestampMs, headers }),
        }),
      punctuators:
        punctuator === undefined
          ? []
          : [
              {
                ...punctuator,
                run: (atMs, context) =>
                  punctuator.run(atMs, {
                    ...surroundings(context),
                    emit: (key, value, timestampMs, headers) => context.forward({ key, value, timestampMs, headers }),
                  }),
              },
            ],
    });
    return { kind: 'stream', stream, key: node.key, value: made.value };
  },

  processValues(operator, build) {
    const node = build.nodeOf(operator.from, 'stream');
    const made = processorOf(operator, node, build);
    const stream = node.stream.processValues({
      ...storesOf(made),
      forwards: outputValue<Data>(),
      value: nullableSerdeOf(made.value),
      process: (record, context) =>
        made.process(record, {
          ...surroundings(context),
          emit: (_key, value, timestampMs, headers) => context.forward(value, { timestampMs, headers }),
        }),
    });
    return { kind: 'stream', stream, key: node.key, value: made.value };
  },
};

function processorOf(operator: Operator, { key, value }: StreamNode, build: Build): NamedProcessor {
  const made = processor({
    spec: requiredText(operator, 'processor'),
    storeName: build.storeName(operator),
    retentionMs: numberField(operator, 'retentionMs') ?? 60_000,
    trackedSerde: (name, type) => build.trackedSerde(name, type),
    key,
    value,
  });
  if (made.store !== undefined) build.showStore(made.store, key, made.storeValue ?? value, made.storeTimestamps ?? false);
  return made;
}

function storesOf({ store }: NamedProcessor) {
  return store === undefined ? {} : { stores: { own: store } };
}

function surroundings(context: Omit<Surroundings, 'emit'>): Omit<Surroundings, 'emit'> {
  const { record, streamTimeMs, nowMs, stores } = context;
  return { record, streamTimeMs, nowMs, stores, drop: (reason) => context.drop(reason) };
}
