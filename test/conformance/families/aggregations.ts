/** Groupings of streams and tables, and aggregations without windows. */
import type { RowStore } from '@tally/streams';
import { type Fold, fold, keySelector, valueMapper } from '../functions.js';
import type { Build, BuildOperator, GroupedNode, GroupedTableNode, TableNode } from '../node.js';
import { type Operator, requiredText, type Scalar, textField } from '../scenario.js';
import { type Data, long, nullableSerdeOf, parsed, type Present, serdeOf, text, type Type, typeNamed } from '../types.js';
import { rowStore } from './tables.js';

export const groupings: Readonly<Record<string, BuildOperator>> = {
  groupByKey(operator, build) {
    const { stream, key, value } = build.nodeOf(operator.from, 'stream');
    const grouped = stream.groupByKey({ ...named(operator), key: nullableSerdeOf(key), value: nullableSerdeOf(value) });
    return { kind: 'grouped', grouped, key, value };
  },

  groupBy(operator, build) {
    const from = build.node(operator.from);
    if (from.kind === 'stream') {
      const { call, type } = keySelector(requiredText(operator, 'selector'), from.key, from.value);
      const options = { ...named(operator), key: nullableSerdeOf(type), value: nullableSerdeOf(from.value) };
      return { kind: 'grouped', grouped: from.stream.groupBy(call, options), key: type, value: from.value };
    }
    const { table, key, value } = build.nodeOf(operator.from, 'table');
    const selector = keySelector(requiredText(operator, 'selector'), key, value);
    const mapper = valueMapper(textField(operator, 'mapper') ?? 'identity', value, key);
    const grouped = table.groupBy((v, k) => [selector.call(v, k), mapper.call(v, k)], {
      ...named(operator),
      key: serdeOf(selector.type),
      value: serdeOf(mapper.type),
    });
    return { kind: 'groupedTable', grouped, key: selector.type, value: mapper.type };
  },
};

/** On grouped streams and grouped tables. */
export const aggregations: Readonly<Record<string, BuildOperator>> = {
  count(operator, build) {
    const { grouped, key } = groupedNode(operator, build);
    const store = aggregateStore(operator, build, key, long) as unknown as RowStore<Present, bigint>;
    return { kind: 'table', table: grouped.count(store) as unknown as TableNode['table'], key, value: long };
  },

  reduce(operator, build) {
    const node = groupedNode(operator, build);
    const { key, value } = node;
    const store = aggregateStore(operator, build, key, value);
    // A reducer is not told the key.
    const add = withoutKey(fold(requiredText(operator, 'reducer'), value, value, key));
    if (node.kind === 'grouped') return { kind: 'table', table: node.grouped.reduce(store, add), key, value };
    const subtract = withoutKey(fold(requiredText(operator, 'subtractor'), value, value, key));
    return { kind: 'table', table: node.grouped.reduce(store, { add, subtract }), key, value };
  },

  aggregate(operator, build) {
    const node = groupedNode(operator, build);
    const { key, value } = node;
    const type = aggregateType(operator);
    const store = aggregateStore(operator, build, key, type);
    const initial = initialOf(operator, type);
    const add = fold(requiredText(operator, 'aggregator'), type, value, key);
    if (node.kind === 'grouped') return { kind: 'table', table: node.grouped.aggregate(store, { initial, add }), key, value: type };
    const subtract = fold(requiredText(operator, 'subtractor'), type, value, key);
    return { kind: 'table', table: node.grouped.aggregate(store, { initial, add, subtract }), key, value: type };
  },
};

/** The aggregate's type: named by the field, else that of the initial value. */
export function aggregateType(operator: Operator): Type {
  const name = textField(operator, 'type');
  if (name !== undefined) return typeNamed(name);
  return typeof operator['initial'] === 'number' ? long : text;
}

export function initialOf(operator: Operator, type: Type): () => Present {
  // An aggregate may begin with null here, which the types of applications rule out.
  const initial = parsed((operator['initial'] ?? null) as Scalar, type) as Present;
  return () => initial;
}

export function named(operator: Operator): { readonly name?: string } {
  const name = textField(operator, 'name');
  return name === undefined ? {} : { name };
}

export function aggregateStore(operator: Operator, build: Build, key: Type, value: Type): RowStore<Present, Present> {
  return rowStore(operator, build.storeNameOrOwn(operator), build, key, value);
}

function groupedNode(operator: Operator, build: Build): GroupedNode | GroupedTableNode {
  const node = build.node(operator.from);
  if (node.kind !== 'grouped' && node.kind !== 'groupedTable')
    throw new Error(`Node "${String(operator.from)}" is a ${node.kind}, no grouping.`);
  return node;
}

export function withoutKey(of: Fold): (aggregate: Data, value: Data) => Data {
  return (aggregate, value) => of(aggregate, value, null);
}
