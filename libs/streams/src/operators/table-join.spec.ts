import { describe, expect, it } from 'vitest';
import { type Change, noHeaders, type StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/index.js';
import { JoinedTable, type JoinKind } from './table-join.js';
import type { Row, Table } from './table.js';

type Rows = Map<string, Row<string>>;
type Changes = StreamRecord<string, Change<string>>;

function tableOf(rows: Rows, closesAfterMs?: number): Table<string, string> & { forced: boolean[] } {
  const forced: boolean[] = [];
  return {
    isVersioned: false,
    closesAfterMs,
    forced,
    sendOldValues: (force) => forced.push(force) > 0,
    view: () => ({ stores: [], get: (key) => rows.get(key) }),
  };
}

function joined(kind: JoinKind, left: Rows = new Map(), right: Rows = new Map()) {
  const tables = [tableOf(left), tableOf(right)] as const;
  const table = new JoinedTable(...tables, kind, (l, r, key) => (l === 'drop' ? null : `${key}:${l}|${r}`), undefined);
  return { table, tables };
}

function run(processor: Processor<string, Change<string>, string, Change<string>>, ...records: Changes[]) {
  const forwarded: Changes[] = [];
  const dropped: string[] = [];
  const context = {
    forward: (next: Changes) => void forwarded.push(next),
    drop: (reason: string) => void dropped.push(reason),
  } as unknown as ProcessorContext<string, Change<string>>;
  for (const record of records) expect(processor.process(record, context)).toBeUndefined();
  return { rows: forwarded.map(({ value, timestampMs }) => [value.newValue, timestampMs]), forwarded, dropped };
}

function change(newValue: string | null, timestampMs: number, oldValue: string | null = null, isLatest = true): Changes {
  return { key: 'a', value: { oldValue, newValue, isLatest }, timestampMs, headers: noHeaders };
}

const row = (value: string, timestampMs: number): Rows => new Map([['a', { value, timestampMs }]]);

describe('a join of tables', () => {
  it('has the larger timestamp of both rows', () => {
    expect(run(joined('inner', new Map(), row('r', 9)).table.createLeft(), change('l', 5), change('m', 12)).rows).toEqual([
      ['a:l|r', 9],
      ['a:m|r', 12],
    ]);
    expect(run(joined('inner', row('l', 9)).table.createRight(), change('r', 5)).rows).toEqual([['a:l|r', 9]]);
    expect(run(joined('left').table.createLeft(), change('l', -7)).rows).toEqual([['a:l|null', -7]]);
  });

  it.each([
    ['inner', 'createLeft', []],
    ['inner', 'createRight', []],
    ['left', 'createLeft', ['a:x|null', null]],
    ['left', 'createRight', []],
    ['outer', 'createLeft', ['a:x|null', null]],
    ['outer', 'createRight', ['a:null|x', null]],
  ] as const)('(%s, %s) knows what to make of a row without partner, and of its end', (kind, side, expected) => {
    const { rows, dropped } = run(joined(kind).table[side](), change('x', 1), change(null, 2, 'x'), change(null, 3));
    expect(rows.map(([value]) => value)).toEqual(expected);
    expect(dropped).toEqual([]);
  });

  it.each([
    ['inner', 'createLeft', null],
    ['inner', 'createRight', null],
    ['left', 'createLeft', null],
    ['left', 'createRight', 'a:o|null'],
    ['outer', 'createLeft', 'a:null|o'],
    ['outer', 'createRight', 'a:o|null'],
  ] as const)('(%s, %s) knows what is left when the partner goes', (kind, side, expected) => {
    const { table } = joined(kind, row('o', 1), row('o', 1));
    expect(run(table[side](), change(null, 2)).rows).toEqual([[expected, 2]]);
  });

  it('passes over updates that came out of order', () => {
    const { rows, dropped } = run(joined('outer').table.createLeft(), change('old', 1, null, false));
    expect([rows, dropped]).toEqual([[], ['outOfOrder']]);
  });

  it('asks both tables for their old rows as far as it needs them', () => {
    const asked = (kind: JoinKind): unknown => joined(kind).tables.map(({ forced }) => forced);
    expect([asked('inner'), asked('left'), asked('outer')]).toEqual([
      [[], []],
      [[true], []],
      [[true], [true]],
    ]);
    const { table, tables } = joined('inner', new Map(), row('r', 1));
    const old = (): unknown => run(table.createLeft(), change('new', 2, 'old')).forwarded.map(({ value }) => value.oldValue);
    expect(old()).toEqual([null]);
    expect(table.sendOldValues()).toBe(true);
    expect(tables.map(({ forced }) => forced)).toEqual([[true], [true]]);
    expect(old()).toEqual(['a:old|r']);
  });

  it('is closed when both tables are', () => {
    const closes = (left?: number, right?: number): unknown =>
      new JoinedTable(tableOf(new Map(), left), tableOf(new Map(), right), 'inner', () => null, undefined).closesAfterMs;
    expect([closes(3, 5), closes(3), closes(undefined, 5)]).toEqual([5, undefined, undefined]);
  });

  it('is a view whose rows are joined when they are read', () => {
    const read = (kind: JoinKind, left?: Rows, right?: Rows): unknown =>
      joined(kind, left, right)
        .table.view()
        .get('a', undefined as never);
    expect(read('inner', row('l', 3), row('r', 2))).toEqual({ value: 'a:l|r', timestampMs: 3 });
    expect(read('inner', row('l', 3))).toBeUndefined();
    expect(read('left', row('l', 3))).toEqual({ value: 'a:l|null', timestampMs: 3 });
    expect(read('left', undefined, row('r', 2))).toBeUndefined();
    expect(read('outer', undefined, row('r', 2))).toEqual({ value: 'a:null|r', timestampMs: 2 });
    expect(read('outer')).toBeUndefined();
    expect(read('inner', row('drop', 3), row('r', 2))).toBeUndefined();
  });
});
