import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, StreamRecord } from '../core/record.js';
import type { Windowed } from '../core/windowed.js';
import { string } from '../serde/index.js';
import { sessionStore } from '../topology/session-store.js';
import type { MergingFold } from './fold.js';
import { OperatorSetting, type Outcome } from './operator-setting.suite.js';
import { SessionAggregation } from './session-aggregate.js';
import { openSessionsOf } from './session-open.js';

const fold: MergingFold<string, string | null, string> = {
  initial: () => '^',
  add: (all, value) => (value === 'x' ? null : `${all}${value}`),
  merge: (left, right) => `(${left}~${right})`,
};
const headers = [{ name: 'trace', value: Buffer.from('1') }];

function record(key: string | null, value: string | null, timestampMs: number): StreamRecord<string | null, string | null> {
  return { key, value, timestampMs, headers };
}

interface Options {
  readonly gapMs?: number;
  readonly graceMs?: number;
  readonly retentionMs?: number;
  readonly onClose?: boolean;
  readonly oldValues?: boolean;
  readonly by?: MergingFold<string, string | null, string>;
}

async function setting({ gapMs = 10, graceMs = 100, retentionMs = 1000, onClose = false, oldValues = false, by = fold }: Options = {}) {
  const store = sessionStore('sessions', { key: string(), value: string(), retentionMs });
  const open = onClose ? openSessionsOf('sessions-open', store) : undefined;
  const table = new SessionAggregation(store, { kind: 'session', gapMs, graceMs }, by, open);
  if (oldValues) table.sendOldValues();
  const operator = await OperatorSetting.open(table.create, open === undefined ? [store] : [store, open]);
  const process = (key: string | null, value: string | null, timestampMs: number): string[] =>
    shown(operator.process(record(key, value, timestampMs)));
  return { table, store, operator, process };
}

function shown({ forwarded, dropped }: Outcome<Windowed<string>, Change<string>>): string[] {
  const rows = forwarded.map(({ key, value: { oldValue, newValue }, timestampMs }) => {
    const old = oldValue === null ? '' : `${oldValue}->`;
    return `${key.key}@${key.startMs}-${key.endMs}=${old}${newValue} at ${timestampMs}`;
  });
  return [...rows, ...dropped];
}

describe('sessions', () => {
  it('grow by records within the gap, and are removed under their old bounds first', async () => {
    const { process } = await setting();
    expect(process('a', '1', 0)).toEqual(['a@0-0=^1 at 0']);
    expect(process('a', '2', 10)).toEqual(['a@0-0=null at 0', 'a@0-10=(^~^1)2 at 10']);
    expect(process('a', '3', 21)).toEqual(['a@21-21=^3 at 21']);
    expect(process('b', '4', 5)).toEqual(['b@5-5=^4 at 5']);
    expect(process('a', '5', 5)).toEqual(['a@0-10=null at 10', 'a@0-10=(^~(^~^1)2)5 at 10']);
  });

  it('become one by a record between them', async () => {
    const { process } = await setting({ oldValues: true });
    process('a', '1', 0);
    process('a', '2', 20);
    expect(process('a', '3', 10)).toEqual(['a@0-0=^1->null at 0', 'a@20-20=^2->null at 20', 'a@0-20=((^~^1)~^2)3 at 20']);
  });

  it('are not removed first while they have the time of the record alone', async () => {
    const { process } = await setting({ oldValues: true });
    process('a', '1', 7);
    expect(process('a', '2', 7)).toEqual(['a@7-7=(^~^1)2 at 7']);
  });

  it('are closed when the stream time has passed their end, the gap and the grace period', async () => {
    const { process } = await setting({ graceMs: 5 });
    process('a', '1', 10);
    process('b', '2', 30);
    expect(process('c', '3', 15)).toEqual(['c@15-15=^3 at 15']);
    expect(process('c', '4', 14)).toEqual(['c@15-15=null at 15', 'c@14-15=(^~^3)4 at 15']);
    expect(process('d', '5', 14)).toEqual(['late']);
    expect(process(null, '5', 500)).toEqual(['nullKey']);
    expect(process('a', '6', 15)).toEqual(['a@10-10=null at 10', 'a@10-15=(^~^1)6 at 15']);
  });

  it('show null values to the function, whose null removes the row', async () => {
    const { process, operator, store } = await setting();
    expect(process('a', null, 0)).toEqual(['a@0-0=^null at 0']);
    expect(process('a', 'x', 1)).toEqual(['a@0-0=null at 0', 'a@0-1=null at 1']);
    expect(operator.read(store, (sessions) => sessions.fetch('a'))).toEqual([]);
    expect(process('a', '2', 2)).toEqual(['a@2-2=^2 at 2']);
  });

  it('begin with the first value where there is no initial one', async () => {
    const join = (left: string, right: string | null): string => `${left}+${right}`;
    const { process } = await setting({ by: { add: join, merge: join } });
    process('a', '1', 0);
    process('a', '2', 20);
    expect(process('a', '3', 10).at(-1)).toBe('a@0-20=1+2+3 at 20');
  });

  it('say that a row was not kept where the store has seen a much later time', async () => {
    const { process, operator, store } = await setting();
    operator.write(store, (sessions) => sessions.put('z', { startMs: 0, endMs: 500_000 }, 'z'));
    expect(process('a', '1', 5)).toEqual(['a@5-5=^1 at 5', 'expired']);
  });

  it('are read by their bounds, with their end as the time', async () => {
    const { process, operator, table, store } = await setting();
    process('a', '1', 5);
    const rowOf = (endMs: number) =>
      operator.read(store, (sessions) => table.view().get({ key: 'a', startMs: 5, endMs }, { store: () => sessions as never }));
    expect(rowOf(5)).toEqual({ value: '^1', timestampMs: 5 });
    expect(rowOf(6)).toBeUndefined();
  });

  it('are what a model says, whatever the order of the records', async () => {
    const times = fc.array(fc.nat({ max: 80 }), { maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(times, fc.integer({ min: 1, max: 12 }), async (given, gapMs) => {
        const count: MergingFold<string, string | null, string> = {
          initial: () => '',
          add: (all) => `${all}.`,
          merge: (left, right) => `${left}${right}`,
        };
        const { operator, process, store } = await setting({ gapMs, by: count });
        for (const timestampMs of given) process('a', '', timestampMs);
        const sessions = operator.read(store, (opened) => opened.fetch('a'));
        expect(sessions.map(({ startMs, endMs, value }) => [startMs, endMs, value.length])).toEqual(sessionsOf(given, gapMs));
      }),
      { numRuns: 150 },
    );
  });
});

describe('sessions that are emitted when they close', () => {
  it('come out once, by their ends, with the headers of the record that closes them', async () => {
    const { process, operator } = await setting({ graceMs: 5, onClose: true });
    expect(process('a', '1', 0)).toEqual([]);
    process('b', '2', 3);
    process('a', '3', 10);
    const closing = operator.process(record('b', '4', 20));
    expect(shown(closing)).toEqual(['b@3-3=^2 at 3']);
    expect(closing.forwarded[0]?.headers).toBe(headers);
    expect(process('c', '5', 26)).toEqual(['a@0-10=(^~^1)3 at 10']);
    expect(process('c', '6', 26)).toEqual([]);
  });

  it('come out when the store shows them no more, and are lost when their segment has expired at once', async () => {
    const { process } = await setting({ graceMs: 0, retentionMs: 10, onClose: true });
    process('a', '1', 0);
    process('b', '2', 10);
    expect(process('c', '3', 60_009)).toEqual(['a@0-0=^1 at 0', 'b@10-10=^2 at 10']);
    process('d', '4', 60_020);
    expect(process('c', '5', 120_010)).toEqual([]);
    expect(process('c', '6', 120_030)).toEqual(['c@120010-120010=^5 at 120010']);
  });

  it('come out neither twice nor never when records fail, epochs are aborted or the disk is lost', async () => {
    const { process, operator } = await setting({ graceMs: 0, onClose: true });
    process('a', '1', 0);
    process('a', '2', 5);
    operator.commit();
    expect(shown(operator.fail(record('b', '3', 16)))).toEqual(['a@0-5=(^~^1)2 at 5']);
    expect(process('b', '3', 16)).toEqual(['a@0-5=(^~^1)2 at 5']);
    operator.abort();
    await operator.restore();
    expect(process('b', '3', 20)).toEqual(['a@0-5=(^~^1)2 at 5']);
    operator.commit();
    await operator.restore();
    expect(process('b', '4', 25)).toEqual([]);
    expect(process('a', '5', 5)).toEqual(['late']);
  });

  it('do not come out where their row was removed', async () => {
    const { process } = await setting({ graceMs: 0, onClose: true });
    process('a', '1', 0);
    process('a', 'x', 1);
    expect(process('b', '2', 50)).toEqual([]);
  });
});

/** Bounds and counts, by definition. */
function sessionsOf(times: readonly number[], gapMs: number): [number, number, number][] {
  const sessions: [number, number, number][] = [];
  for (const timeMs of times.toSorted((left, right) => left - right)) {
    const last = sessions.at(-1);
    if (last === undefined || timeMs - last[1] > gapMs) sessions.push([timeMs, timeMs, 1]);
    else {
      last[1] = timeMs;
      last[2]++;
    }
  }
  return sessions;
}
