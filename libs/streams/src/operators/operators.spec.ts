import { describe, expect, it } from 'vitest';
import type { StreamRecord } from '../core/record.js';
import { int64, string } from '../serde/index.js';
import { keyValueStore, type KeyValueStore, type Processor, type ProcessorContext } from '../topology/index.js';
import {
  filterOperator,
  flatMapOperator,
  flatMapRecordOperator,
  forEachOperator,
  mapOperator,
  mapRecordOperator,
  peekOperator,
  requireKeyOperator,
  selectKeyOperator,
  toStreamOperator,
} from './stateless.js';
import { countFold } from './fold.js';
import { StreamAggregation } from './stream-aggregate.js';

const balances = keyValueStore('balances', { key: string(), value: int64() });
const headers = [{ name: 'trace', value: Buffer.from('1') }];

interface Entry {
  readonly value: unknown;
  readonly timestampMs: number;
}

/** A store and a list of what was forwarded; everything else is out of an operator's reach. */
function bench(): {
  entries: Map<unknown, Entry>;
  dropped: string[];
  run: <K, V, KO, VO>(processor: Processor<K, V, KO, VO>, record: StreamRecord<K, V>) => StreamRecord<KO, VO>[];
} {
  const entries = new Map<unknown, Entry>();
  const dropped: string[] = [];
  const store = {
    getWithTimestamp: (key: unknown) => entries.get(key),
    putWithTimestamp: (key: unknown, value: unknown, timestampMs: number) => void entries.set(key, { value, timestampMs }),
    delete: (key: unknown) => void entries.delete(key),
  } as unknown as KeyValueStore<unknown, unknown>;
  return {
    entries,
    dropped,
    run(processor, given) {
      const forwarded: StreamRecord<never, never>[] = [];
      const context = {
        forward: (next: StreamRecord<never, never>) => void forwarded.push(next),
        drop: (reason: string) => void dropped.push(reason),
        store: () => store,
      };
      expect(processor.process(given, context as unknown as ProcessorContext<never, never> as never)).toBeUndefined();
      return forwarded;
    },
  };
}

function record<K, V>(key: K, value: V, timestampMs = 7): StreamRecord<K, V> {
  return { key, value, timestampMs, headers };
}

describe('stateless operators', () => {
  const { run } = bench();
  const given = record('a', 3);

  it('keep timestamp and headers, and leave the record as it was', () => {
    expect(run(mapOperator((value: number, key: string) => `${key}${value}`)(), given)).toEqual([record('a', 'a3')]);
    expect(run(mapRecordOperator((value: number, key: string) => [value, key] as const)(), given)).toEqual([record(3, 'a')]);
    expect(run(selectKeyOperator((value: number, key: string) => `${key}${value}`)(), given)).toEqual([record('a3', 3)]);
    expect(run(flatMapOperator((value: number, key: string) => [value, key])(), given)).toEqual([record('a', 3), record('a', 'a')]);
    expect(run(flatMapOperator(() => new Set<number>())(), given)).toEqual([]);
    expect(given).toEqual(record('a', 3));
  });

  it('pass the very record on where nothing changes', () => {
    expect(run(filterOperator((value: number) => value === 3)(), given)[0]).toBe(given);
    expect(run(filterOperator((_value: number, key: string) => key !== 'a')(), given)).toEqual([]);
    const seen: unknown[] = [];
    expect(run(peekOperator((value: number, key: string) => seen.push(key, value))(), given)[0]).toBe(given);
    expect(seen).toEqual(['a', 3]);
  });

  it('hand nulls through', () => {
    expect(run(mapOperator((value: null) => value)(), record(null, null))).toEqual([record(null, null)]);
    expect(run(selectKeyOperator(() => 1)(), record(null, null))).toEqual([record(1, null)]);
  });

  it('let through what has a key', () => {
    const processor = requireKeyOperator<string | null | undefined, number | null>()();
    expect(run(processor, record(null, 1))).toEqual([]);
    expect(run(processor, record(undefined, 1))).toEqual([]);
    expect(run(processor, record('', null))).toEqual([record('', null)]);
  });

  it('turn changes into new rows', () => {
    const processor = toStreamOperator<string, number>()();
    expect(run(processor, record('a', { oldValue: 1, newValue: 2, isLatest: true }))).toEqual([record('a', 2)]);
    expect(run(processor, record('a', { oldValue: 1, newValue: null, isLatest: true }))).toEqual([record('a', null)]);
  });

  it('make several records, and none', () => {
    const pairs = flatMapRecordOperator(
      (value: number, key: string) =>
        new Map<unknown, string>([
          [value, key],
          ['b', 'c'],
        ]),
    )();
    expect(run(pairs, given)).toEqual([record(3, 'a'), record('b', 'c')]);
    const seen: unknown[] = [];
    expect(run(forEachOperator((value: number, key: string) => seen.push(key, value))(), given)).toEqual([]);
    expect(seen).toEqual(['a', 3]);
  });
});

describe('aggregate', () => {
  const change = (oldValue: unknown, newValue: unknown) => ({ oldValue, newValue, isLatest: true });
  const sum = (oldValues = true) => {
    const table = new StreamAggregation<string, bigint, bigint>(balances, { initial: () => 100n, add: (total, value) => total + value });
    if (oldValues) table.sendOldValues();
    return table.create();
  };

  it('begins with the initial value, which is the old row too', () => {
    const { run, entries } = bench();
    const processor = sum();
    expect(run(processor, record('a', 1n))).toEqual([record('a', change(100n, 101n))]);
    expect(run(processor, record('a', 2n, 9))).toEqual([record('a', change(101n, 103n), 9)]);
    expect(entries.get('a')).toEqual({ value: 103n, timestampMs: 9 });
  });

  it('tells the old row only to those who ask for it', () => {
    const { run } = bench();
    const processor = sum(false);
    expect(run(processor, record('a', 1n))).toEqual([record('a', change(null, 101n))]);
    expect(run(processor, record('a', 1n))).toEqual([record('a', change(null, 102n))]);
  });

  it('bears the largest timestamp of what it holds', () => {
    const { run, entries } = bench();
    const processor = sum();
    run(processor, record('a', 1n, 50));
    expect(run(processor, record('a', 1n, 20))).toEqual([record('a', change(101n, 102n), 50)]);
    expect(entries.get('a')?.timestampMs).toBe(50);
    expect(run(processor, record('b', 1n, -5))).toEqual([record('b', change(100n, 101n), -5)]);
  });

  it('drops null keys and null values, and keeps empty ones', () => {
    const { run, entries, dropped } = bench();
    const processor = new StreamAggregation<string, string, bigint>(balances, countFold).create();
    expect(run(processor, record(null, 'x'))).toEqual([]);
    expect(run(processor, record('a', null))).toEqual([]);
    expect(dropped).toEqual(['nullKey', 'nullValue']);
    expect(entries.size).toBe(0);
    expect(run(processor, record('', ''))).toEqual([record('', change(null, 1n))]);
  });

  it('removes the row where the result is null, and says so even where there was none', () => {
    const { run, entries } = bench();
    const add = (total: bigint, value: bigint) => (value === 0n ? null : total + value);
    const table = new StreamAggregation<string, bigint, bigint>(balances, { initial: () => 0n, add });
    table.sendOldValues();
    const processor = table.create();
    run(processor, record('a', 5n));
    expect(run(processor, record('a', 0n, 3))).toEqual([record('a', change(5n, null))]);
    expect(entries.size).toBe(0);
    expect(run(processor, record('b', 0n, 3))).toEqual([record('b', change(0n, null), 3)]);
    expect(run(processor, record('a', 5n, 1))).toEqual([record('a', change(0n, 5n), 1)]);
  });

  it('counts', () => {
    const { run } = bench();
    const processor = new StreamAggregation<string, number, bigint>(balances, countFold).create();
    const counts = [1, 2, 3].map((value) => run(processor, record('a', value))[0]?.value.newValue);
    expect(counts).toEqual([1n, 2n, 3n]);
  });

  it('reduces: the first value is the first aggregate, without a call', () => {
    const { run } = bench();
    const calls: unknown[] = [];
    const add = (total: bigint, value: bigint): bigint => {
      calls.push([total, value]);
      return total * 10n + value;
    };
    const processor = new StreamAggregation<string, bigint, bigint>(balances, { add }).create();
    expect([1n, 2n, 3n].map((value) => run(processor, record('a', value))[0]?.value.newValue)).toEqual([1n, 12n, 123n]);
    expect(calls).toEqual([
      [1n, 2n],
      [12n, 3n],
    ]);
  });
});
