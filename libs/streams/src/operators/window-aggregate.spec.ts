import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, StreamRecord } from '../core/record.js';
import type { Windowed } from '../core/windowed.js';
import { int64, type Serde, string } from '../serde/index.js';
import { windowStore } from '../topology/window-store.js';
import { countFold, type Fold } from './fold.js';
import { OperatorSetting, type Outcome } from './operator-setting.suite.js';
import { WindowAggregation } from './window-aggregate.js';
import { openWindowsOf } from './window-open.js';
import { type TimeWindows, type UnlimitedWindows, windowGrid } from './windows.js';

const tumbling: TimeWindows = { kind: 'time', sizeMs: 10, advanceMs: 10, graceMs: 0 };
const hopping: TimeWindows = { kind: 'time', sizeMs: 10, advanceMs: 5, graceMs: 3 };
const concat: Fold<string, string | null, string> = { initial: () => '', add: (all, value) => (value === 'x' ? null : `${all}${value}`) };

const headers = [{ name: 'trace', value: Buffer.from('1') }];

function record<V>(key: string | null, value: V, timestampMs: number): StreamRecord<string | null, V> {
  return { key, value, timestampMs, headers };
}

interface Options {
  readonly retentionMs?: number;
  readonly oldValues?: boolean;
  readonly onClose?: boolean;
}

function setting<V, A>(
  windows: TimeWindows | UnlimitedWindows,
  fold: Fold<string, V, A>,
  value: Parameters<typeof windowStore<string, A>>[1]['value'],
  { retentionMs = 100, oldValues = false, onClose = false }: Options = {},
) {
  const store = windowStore('windows', { key: string(), value, retentionMs, windowSizeMs: 10 });
  const open = onClose ? openWindowsOf('windows-open', store) : undefined;
  const table = new WindowAggregation(store, windowGrid(windows), fold, open);
  if (oldValues) table.sendOldValues();
  return OperatorSetting.open(table.create, open === undefined ? [store] : [store, open]);
}

const counting = (windows: TimeWindows | UnlimitedWindows, options?: Options) =>
  setting<unknown, bigint>(windows, countFold, int64(), options);
const concatenating = (windows: TimeWindows | UnlimitedWindows, options?: Options) => setting(windows, concat, string(), options);

/** `key@start=row at time`, with the old row in front where it is told. */
function shown({ forwarded, dropped }: Outcome<Windowed<string>, Change<unknown>>): string[] {
  const rows = forwarded.map(({ key, value: { oldValue, newValue }, timestampMs }) => {
    const old = oldValue === null ? '' : `${String(oldValue)}->`;
    return `${key.key}@${key.startMs}-${key.endMs}=${old}${String(newValue)} at ${timestampMs}`;
  });
  return [...rows, ...dropped];
}

describe('windows of one size', () => {
  it('take each record once where they do not overlap', async () => {
    const { process } = bound(await counting(tumbling));
    expect(process('a', 1, 0)).toEqual(['a@0-10=1 at 0']);
    expect(process('a', 1, 9)).toEqual(['a@0-10=2 at 9']);
    expect(process('a', 1, 10)).toEqual(['a@10-20=1 at 10']);
    expect(process('b', 1, 15)).toEqual(['b@10-20=1 at 15']);
  });

  it('take each record into all of them where they overlap, and none before time 0', async () => {
    const { process } = bound(await concatenating(hopping));
    expect(process('a', '1', 7)).toEqual(['a@0-10=1 at 7', 'a@5-15=1 at 7']);
    expect(process('a', '2', 3)).toEqual(['a@0-10=12 at 7']);
    expect(process('a', '3', -1)).toEqual([]);
  });

  it('are closed when the stream time has come to their end and the grace period', async () => {
    const { process } = bound(await concatenating(hopping));
    process('a', '1', 7);
    expect(process('b', '2', 12)).toEqual(['b@5-15=2 at 12', 'b@10-20=2 at 12']);
    expect(process('a', '3', 9)).toEqual(['a@0-10=13 at 9', 'a@5-15=13 at 9']);
    process('b', '4', 13);
    expect(process('a', '5', 9)).toEqual(['a@5-15=135 at 9', 'late']);
    process('b', '6', 30);
    expect(process('a', '7', 9)).toEqual(['late', 'late']);
  });

  it('drop records without a key, which say nothing of the time either', async () => {
    const { process } = bound(await counting(tumbling));
    expect(process(null, 1, 500)).toEqual(['nullKey']);
    expect(process('a', 1, 3)).toEqual(['a@0-10=1 at 3']);
  });

  it('show null values to the function, whose null removes the row', async () => {
    const { process } = bound(await concatenating(tumbling, { oldValues: true }));
    expect(process('a', null, 1)).toEqual(['a@0-10=->null at 1']);
    expect(process('a', '2', 0)).toEqual(['a@0-10=null->null2 at 1']);
    expect(process('a', 'x', 2)).toEqual(['a@0-10=null2->null at 2']);
    expect(process('a', '3', 0)).toEqual(['a@0-10=->3 at 0']);
  });

  it('begin with the first value where there is no initial one', async () => {
    const { process } = bound(await setting<string | null, string>(tumbling, { add: (left, right) => `${left}+${right}` }, string()));
    expect(process('a', '1', 1)).toEqual(['a@0-10=1 at 1']);
    expect(process('a', '2', 0)).toEqual(['a@0-10=1+2 at 1']);
    expect(process('b', null, 0)).toEqual(['b@0-10=null at 0']);
  });

  it('keep the headers of the record', async () => {
    const operator = await counting(tumbling);
    expect(operator.process(record('a', 1, 0)).forwarded[0]?.headers).toBe(headers);
  });

  it('may be one that never ends', async () => {
    const { process } = bound(await counting({ kind: 'unlimited', startMs: 5 }));
    expect(process('a', 1, 4)).toEqual([]);
    expect(process('a', 1, 5)).toEqual(['a@5-Infinity=1 at 5']);
    expect(process('a', 1, 1_000_000)).toEqual(['a@5-Infinity=2 at 1000000']);
    expect(process('a', 1, 6)).toEqual(['a@5-Infinity=3 at 1000000']);
  });

  it('say that a row was not kept where the store has seen a much later time', async () => {
    const operator = await counting(tumbling, { retentionMs: 10 });
    const store = windowStore('windows', { key: string(), value: int64(), retentionMs: 10 });
    operator.write(store, (opened) => opened.put('z', 1n, 200_000));
    expect(bound(operator).process('a', 1, 5)).toEqual(['a@0-10=1 at 5', 'expired']);
    expect(operator.read(store, (opened) => opened.get('a', 0))).toBeUndefined();
  });

  it('hold what a model says, whatever the order of the records', async () => {
    const records = fc.array(fc.record({ key: fc.constantFrom('a', 'b'), timestampMs: fc.nat({ max: 60 }) }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(records, fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }), async (given, sizeMs, advance) => {
        const advanceMs = Math.min(sizeMs, advance);
        const store = windowStore('windows', { key: string(), value: int64(), retentionMs: 1000, windowSizeMs: sizeMs });
        const grid = windowGrid({ kind: 'time', sizeMs, advanceMs, graceMs: 1000 });
        const table = new WindowAggregation<string, number, bigint>(store, grid, countFold);
        const operator = await OperatorSetting.open(table.create, [store]);
        for (const { key, timestampMs } of given) operator.process(record(key, 1, timestampMs));
        const expected = new Map<string, bigint>();
        for (const { key, timestampMs } of given) {
          for (let startMs = 0; startMs <= timestampMs; startMs += advanceMs) {
            const window = `${key}@${startMs}`;
            if (timestampMs < startMs + sizeMs) expected.set(window, (expected.get(window) ?? 0n) + 1n);
          }
        }
        const rows = await operator.list(store, (opened) => opened.all());
        expect(new Map(rows.map(([{ key, startMs }, count]) => [`${key}@${startMs}`, count]))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});

describe('windows that are emitted when they close', () => {
  it('come out once, by their starts, then by the bytes of their keys, with the headers of the record that closes them', async () => {
    const operator = await concatenating(hopping, { onClose: true });
    const { process } = bound(operator);
    expect(process('b', '1', 7)).toEqual([]);
    expect(process('a', '2', 3)).toEqual([]);
    expect(process('a', '3', 12)).toEqual([]);
    const closing = operator.process(record('c', '4', 18));
    expect(shown(closing)).toEqual(['a@0-10=2 at 3', 'b@0-10=1 at 7', 'a@5-15=3 at 12', 'b@5-15=1 at 7']);
    expect(closing.forwarded[0]?.headers).toBe(headers);
    expect(process('a', '5', 18)).toEqual([]);
    expect(process('a', '6', 9)).toEqual(['late', 'late']);
  });

  it('do not come out where their row was removed', async () => {
    const { process } = bound(await concatenating(tumbling, { onClose: true }));
    process('a', '1', 1);
    process('a', 'x', 2);
    process('b', '1', 1);
    expect(process('c', '1', 10)).toEqual(['b@0-10=1 at 1']);
  });

  it('are lost where stream time leaves the retention of their store behind at once', async () => {
    for (const [retentionMs, expected] of [
      [30, []],
      [31, ['a@10-20=2 at 15']],
    ] as const) {
      const { process } = bound(await concatenating(tumbling, { onClose: true, retentionMs }));
      process('a', '1', 5);
      expect(process('a', '2', 15)).toEqual(['a@0-10=1 at 5']);
      expect(process('a', '3', 49)).toEqual(expected);
      expect(process('a', '4', 69)).toEqual(['a@40-50=3 at 49']);
    }
  });

  it('do not come out for ever where a key is written as other bytes than those it was read from', async () => {
    const shouting: Serde<string> = { ...string(), name: 'shouting', deserialize: (bytes) => string().deserialize(bytes).toUpperCase() };
    const store = windowStore('windows', { key: shouting, value: int64(), retentionMs: 100, windowSizeMs: 10 });
    const open = openWindowsOf('windows-open', store);
    const { create } = new WindowAggregation<string, number, bigint>(store, windowGrid(tumbling), countFold, open);
    const operator = await OperatorSetting.open(create, [store, open]);
    operator.process(record('a', 1, 5));
    expect(() => operator.process(record('a', 1, 15))).toThrow('the serde timeOrdered(shouting) writes a key as other bytes');
  });

  it('come out neither twice nor never when records fail, epochs are aborted or the disk is lost', async () => {
    const operator = await concatenating(tumbling, { onClose: true });
    const { process } = bound(operator);
    process('a', '1', 5);
    operator.commit();
    expect(shown(operator.fail(record('b', '2', 10)))).toEqual(['a@0-10=1 at 5']);
    expect(process('b', '2', 10)).toEqual(['a@0-10=1 at 5']);
    operator.abort();
    expect(process('b', '2', 12)).toEqual(['a@0-10=1 at 5']);
    operator.commit();
    await operator.restore();
    expect(process('b', '3', 13)).toEqual([]);
    expect(process('a', '4', 9)).toEqual(['late']);
    expect(process('b', '5', 20)).toEqual(['b@10-20=23 at 13']);
  });
});

/** With records that are written shortly, and what comes of them. */
function bound<V, A>(operator: OperatorSetting<string | null, V, Windowed<string>, Change<A>>) {
  return { process: (key: string | null, value: V, timestampMs: number) => shown(operator.process(record(key, value, timestampMs))) };
}
