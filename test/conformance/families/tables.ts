/** Tables and what is made of one table row by row. */
import { int64, keyValueStore, type RowStore, versionedStore } from '@tally/streams';
import { keySelector, predicate, valueMapper } from '../functions.js';
import type { Build, BuildOperator, StreamNode, TableNode } from '../node.js';
import { transformer } from '../processors.js';
import { numberField, type Operator, requiredText, textField } from '../scenario.js';
import { long, nullableSerdeOf, type Present, serdeOf, text, type Type, typeNamed } from '../types.js';

export const tables: Readonly<Record<string, BuildOperator>> = {
  table(operator, build) {
    const key = typeNamed(textField(operator, 'keyType'));
    const value = typeNamed(textField(operator, 'valueType'));
    const topic = build.input(requiredText(operator, 'topic'), key, value, textField(operator, 'timestamps'));
    return { kind: 'table', table: build.streams.table(topic, namedStore(operator, build, key, value)), key, value };
  },

  toTable(operator, build) {
    const { stream, key, value } = build.nodeOf(operator.from, 'stream');
    return { kind: 'table', table: stream.toTable(materialized(operator, build, key, value)), key, value };
  },

  filter: onTable((operator, { table, key, value }, build) =>
    table.filter(predicate(requiredText(operator, 'predicate'), value, key), materialized(operator, build, key, value)),
  ),

  filterNot: onTable((operator, { table, key, value }, build) =>
    table.filterNot(predicate(requiredText(operator, 'predicate'), value, key), materialized(operator, build, key, value)),
  ),

  mapValues(operator, build) {
    const { table, key, value } = build.nodeOf(operator.from, 'table');
    const mapper = valueMapper(requiredText(operator, 'mapper'), value, key);
    const options = { ...materialized(operator, build, key, mapper.type), value: serdeOf(mapper.type) };
    return { kind: 'table', table: table.map(mapper.call, options), key, value: mapper.type };
  },

  transformValues(operator, build) {
    const { table, key, value } = build.nodeOf(operator.from, 'table');
    const own = textField(operator, 'transformerStore');
    const calls = own === undefined ? undefined : keyValueStore(own, { key: serdeOf(key), value: int64() });
    if (calls !== undefined) build.showStore(calls, key, long, false);
    const options = { ...materialized(operator, build, key, text), value: serdeOf(text) };
    const transform = transformer(requiredText(operator, 'transformer'), calls, key, value);
    return { kind: 'table', table: table.transformValues(transform, options), key, value: text };
  },

  toStream(operator, build) {
    const { table, key, value } = build.nodeOf(operator.from, 'table');
    // Its keys are never null, which the type of a scenario's streams does not say.
    const stream = table.toStream() as unknown as StreamNode['stream'];
    const spec = textField(operator, 'selector');
    if (spec === undefined) return { kind: 'stream', stream, key, value };
    const selector = keySelector(spec, key, value);
    return { kind: 'stream', stream: stream.selectKey(selector.call, { key: nullableSerdeOf(selector.type) }), key: selector.type, value };
  },
};

/** The store that the scenario names for the operator. */
export function namedStore(operator: Operator, build: Build, key: Type, value: Type): RowStore<Present, Present> | undefined {
  const name = build.storeName(operator);
  return name === undefined ? undefined : rowStore(operator, name, build, key, value);
}

/** Versioned where the scenario says so. */
export function rowStore(operator: Operator, name: string, build: Build, key: Type, value: Type): RowStore<Present, Present> {
  const historyRetentionMs = numberField(operator, 'versionedMs');
  const store =
    historyRetentionMs === undefined
      ? keyValueStore(name, { key: serdeOf(key), value: serdeOf(value) })
      : versionedStore(name, { key: build.trackedSerde(name, key), value: serdeOf(value), historyRetentionMs });
  return build.storeName(operator) === undefined ? store : build.showStore(store, key, value);
}

export function materialized(operator: Operator, build: Build, key: Type, value: Type): { readonly store?: RowStore<Present, Present> } {
  const store = namedStore(operator, build, key, value);
  return store === undefined ? {} : { store };
}

/** An operator that keeps the types of its table. */
function onTable(make: (operator: Operator, node: TableNode, build: Build) => TableNode['table']): BuildOperator {
  return (operator, build) => {
    const node = build.nodeOf(operator.from, 'table');
    return { ...node, table: make(operator, node, build) };
  };
}
