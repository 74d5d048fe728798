/** Joins of two tables. */
import type { RowStore, Serde } from '@tally/streams';
import { joiner, keySelector } from '../functions.js';
import type { Build, BuildOperator, TableNode } from '../node.js';
import { type Operator, requiredText, textField } from '../scenario.js';
import { type Data, type Present, serdeOf } from '../types.js';
import { materialized } from './tables.js';

export const tableJoins: Readonly<Record<string, BuildOperator>> = {
  join: onTables((left, right, join, options) => left.join(right, join, options)),
  leftJoin: onTables((left, right, join, options) => left.leftJoin(right, join, options)),
  outerJoin: onTables((left, right, join, options) => left.outerJoin(right, join, options)),
};

type Table = TableNode['table'];
type Join = (left: Data, right: Data, key: Present) => Data;
interface Options {
  readonly store?: RowStore<Present, Present>;
  readonly value: Serde<Present>;
}

function onTables(make: (left: Table, right: Table, join: Join, options: Options) => Table): BuildOperator {
  return (operator, build) => {
    if (operator['foreignKey'] !== undefined) return byForeignKey(operator, build);
    const left = build.nodeOf(operator.from, 'table');
    const right = build.nodeOf(operator['with'], 'table');
    const { call, type } = joiner(requiredText(operator, 'joiner'), left.value, right.value, left.key);
    const options = { ...materialized(operator, build, left.key, type), value: serdeOf(type) };
    // The oracle's joiners of tables do not see the key.
    const table = make(left.table, right.table, (ofLeft, ofRight) => call(ofLeft, ofRight, null), options);
    return { kind: 'table', table, key: left.key, value: type };
  };
}

function byForeignKey(operator: Operator, build: Build): TableNode {
  const left = build.nodeOf(operator.from, 'table');
  const right = build.nodeOf(operator['with'], 'table');
  const { call, type } = joiner(requiredText(operator, 'joiner'), left.value, right.value, left.key);
  const selector = keySelector(requiredText(operator, 'foreignKey'), left.key, left.value);
  const name = textField(operator, 'name');
  const options = {
    ...materialized(operator, build, left.key, type),
    ...(name === undefined ? {} : { name }),
    value: serdeOf(type),
    foreignKey: (row: Present, key: Present) => selector.call(row, key),
    join: (ofLeft: Present, ofRight: Data) => call(ofLeft, ofRight, null),
  };
  if (operator.op === 'outerJoin') throw new Error('There is no outer join by a foreign key.');
  const table = operator.op === 'join' ? left.table.joinOn(right.table, options) : left.table.leftJoinOn(right.table, options);
  return { kind: 'table', table, key: left.key, value: type };
}
