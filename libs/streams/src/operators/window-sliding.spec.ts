import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, StreamRecord } from '../core/record.js';
import type { Windowed } from '../core/windowed.js';
import { string } from '../serde/index.js';
import { windowStore } from '../topology/window-store.js';
import type { Fold } from './fold.js';
import { OperatorSetting, type Outcome } from './operator-setting.suite.js';
import { openWindowsOf } from './window-open.js';
import { SlidingWindowAggregation } from './window-sliding.js';

const concat: Fold<string, string, string> = { initial: () => '', add: (all, value) => `${all}${value}` };
const noHeaders: StreamRecord<never, never>['headers'] = [];

async function setting(differenceMs: number, graceMs: number, { onClose = false, oldValues = false, fold = concat } = {}) {
  const retentionMs = 2 * differenceMs + graceMs + 1;
  const store = windowStore('windows', { key: string(), value: string(), retentionMs, windowSizeMs: differenceMs });
  const open = onClose ? openWindowsOf('windows-open', store) : undefined;
  const table = new SlidingWindowAggregation(store, { kind: 'sliding', differenceMs, graceMs }, fold, open);
  if (oldValues) table.sendOldValues();
  const operator = await OperatorSetting.open(table.create, open === undefined ? [store] : [store, open]);
  const process = (key: string | null, value: string | null, timestampMs: number): string[] =>
    shown(operator.process({ key, value, timestampMs, headers: noHeaders }));
  return { store, operator, process };
}

function shown({ forwarded, dropped }: Outcome<Windowed<string>, Change<string>>): string[] {
  const rows = forwarded.map(({ key, value: { oldValue, newValue }, timestampMs }) => {
    const old = oldValue === null ? '' : `${oldValue}->`;
    return `${key.startMs}-${key.endMs}=${old}${newValue} at ${timestampMs}`;
  });
  return [...rows, ...dropped];
}

describe('sliding windows', () => {
  it('end with a record, or start right after one', async () => {
    const { process } = await setting(10, 50);
    expect(process('a', 'A', 20)).toEqual(['10-20=A at 20']);
    expect(process('a', 'B', 25)).toEqual(['21-31=B at 25', '15-25=AB at 25']);
    expect(process('a', 'C', 40)).toEqual(['30-40=C at 40']);
  });

  it('take a record that comes late into all that it lies in, and begin its own with what was there', async () => {
    const { process } = await setting(10, 50);
    process('a', 'A', 20);
    process('a', 'C', 30);
    expect(process('a', 'B', 25)).toEqual(['21-31=CB at 30', '20-30=ACB at 30', '15-25=AB at 25', '26-36=C at 30']);
  });

  it('do not start before time 0: one window takes what would', async () => {
    const { process } = await setting(10, 50);
    expect(process('a', 'A', 5)).toEqual(['0-10=A at 5']);
    expect(process('a', 'B', 0)).toEqual(['1-11=A at 5', '0-10=AB at 5']);
    expect(process('a', 'C', 8)).toEqual(['1-11=AC at 8', '6-16=C at 8', '0-10=ABC at 8']);
    expect(process('a', 'D', -1)).toEqual(['invalidTimestamp']);
  });

  it('are closed when the stream time has passed their end and the grace period', async () => {
    const { process } = await setting(10, 5);
    process('b', 'B', 35);
    expect(process('a', 'A', 20)).toEqual(['late']);
    expect(process('a', 'A', 19)).toEqual(['late']);
    expect(process('a', 'A', 30)).toEqual(['20-30=A at 30']);
    expect(process('a', 'C', 21)).toEqual(['20-30=AC at 30', '22-32=A at 30', 'late']);
  });

  it('skip null keys and null values', async () => {
    const { process } = await setting(10, 0);
    expect(process(null, 'A', 90)).toEqual(['nullKey']);
    expect(process('a', null, 90)).toEqual(['nullValue']);
    expect(process('a', 'A', 20)).toEqual(['10-20=A at 20']);
  });

  it('tell the old rows to those who ask for them', async () => {
    const { process } = await setting(10, 50, { oldValues: true });
    process('a', 'A', 20);
    expect(process('a', 'B', 20)).toEqual(['10-20=A->AB at 20']);
  });

  it('begin with the first value where there is no initial one', async () => {
    const { process } = await setting(10, 50, { fold: { add: (left, right) => `${left}+${right}` } });
    expect(process('a', 'A', 20)).toEqual(['10-20=A at 20']);
    expect(process('a', 'B', 22)).toEqual(['21-31=B at 22', '12-22=A+B at 22']);
  });

  it('come out once when they close, by their starts', async () => {
    const { process, operator } = await setting(5, 2, { onClose: true });
    expect(process('a', 'A', 3)).toEqual([]);
    process('a', 'B', 6);
    process('b', 'C', 7);
    expect(process('a', 'D', 12)).toEqual(['0-5=A at 3', '1-6=AB at 6', '2-7=C at 7', '4-9=B at 6']);
    operator.commit();
    await operator.restore();
    expect(process('a', 'E', 15)).toEqual(['7-12=D at 12']);
  });

  it('hold what lies in them, whatever the order of the records', async () => {
    const times = fc.array(fc.nat({ max: 40 }), { maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(times, fc.integer({ min: 1, max: 12 }), async (given, differenceMs) => {
        const { store, operator, process } = await setting(differenceMs, 1000);
        for (const timestampMs of given) process('a', `${timestampMs}.`, timestampMs);
        const rows = await operator.list(store, (opened) => opened.all());
        expect(new Map(rows.map(([{ startMs }, held]) => [startMs, sortedTimes(held)]))).toEqual(windowsOf(given, differenceMs));
      }),
      { numRuns: 150 },
    );
  });
});

function sortedTimes(held: string): number[] {
  return held
    .split('.')
    .slice(0, -1)
    .map(Number)
    .toSorted((left, right) => left - right);
}

/** By definition: what lies in the window that ends with each record, and in that which starts right after it if there is anything in it. */
function windowsOf(times: readonly number[], differenceMs: number): Map<number, number[]> {
  const within = (startMs: number): number[] =>
    times.filter((timeMs) => timeMs >= startMs && timeMs <= startMs + differenceMs).toSorted((left, right) => left - right);
  const starts = times.flatMap((timeMs) => [Math.max(0, timeMs - differenceMs), timeMs + 1]);
  return new Map(starts.map((startMs) => [startMs, within(startMs)] as const).filter(([, held]) => held.length > 0));
}
