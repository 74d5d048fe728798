/** Global tables, and streams joined with them. */
import { keyValueStore } from '@tally/streams';
import { joiner, keySelector } from '../functions.js';
import type { BuildOperator } from '../node.js';
import { requiredText, textField } from '../scenario.js';
import { type Data, nullableSerdeOf, type Present, serdeOf, typeNamed } from '../types.js';

export const globalTable: BuildOperator = (operator, build) => {
  const key = typeNamed(textField(operator, 'keyType'));
  const value = typeNamed(textField(operator, 'valueType'));
  const topic = build.input(requiredText(operator, 'topic'), key, value);
  const name = build.storeName(operator);
  const store = name === undefined ? undefined : keyValueStore(name, { key: serdeOf(key), value: serdeOf(value) });
  if (store !== undefined) build.showStore(store, key, value);
  return { kind: 'globalTable', global: build.streams.globalTable(topic, store), key, value };
};

/** Of a stream with a global table. */
export const joinGlobal: Readonly<Record<'join' | 'leftJoin', BuildOperator>> = { join: joined(false), leftJoin: joined(true) };

function joined(isLeft: boolean): BuildOperator {
  return (operator, build) => {
    const { stream, key, value } = build.nodeOf(operator.from, 'stream');
    const table = build.nodeOf(operator['with'], 'globalTable');
    const selector = keySelector(requiredText(operator, 'selector'), key, value);
    const made = joiner(requiredText(operator, 'joiner'), value, table.value, key);
    const options = {
      key: (v: Present, k: Data) => selector.call(v, k),
      join: (v: Present, row: Present | null, k: Data) => made.call(v, row, k),
      value: nullableSerdeOf(made.type),
    };
    const result = isLeft ? stream.leftJoinGlobal(table.global, options) : stream.joinGlobal(table.global, options);
    return { kind: 'stream', stream: result, key, value: made.type };
  };
}
