import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, StreamRecord } from '../core/record.js';
import { string } from '../serde/index.js';
import { StoreSetting } from '../state/stores/store-setting.suite.js';
import type { SortedStore } from '../topology/index.js';
import { type OpenSuppressBuffer, SuppressBuffer } from './suppress-buffer.js';

type OpenBuffer = OpenSuppressBuffer<string, string>;
type Entries = SortedStore<Uint8Array, Uint8Array>;

const lengthOf = (key: string): number => key.length;

class Setting {
  private constructor(
    private readonly buffer: SuppressBuffer<string, string>,
    readonly store: StoreSetting<Entries>,
  ) {}

  static async open(timeOf?: (key: string) => number): Promise<Setting> {
    const buffer = new SuppressBuffer('buffer', string(), string(), timeOf);
    return new Setting(buffer, await StoreSetting.open(buffer.store));
  }

  record<R>(work: (buffer: OpenBuffer) => R): R {
    return this.store.record(0, (entries) => work(this.over(entries)));
  }

  over(entries: Entries): OpenBuffer {
    return this.buffer.open({ store: () => entries as never });
  }
}

function change(
  key: string,
  oldValue: string | null,
  newValue: string | null,
  timestampMs = 0,
  header = '',
): StreamRecord<string, Change<string>> {
  const headers = header === '' ? [] : [{ name: 'h', value: Buffer.from(header) }];
  return { key, value: { oldValue, newValue, isLatest: true }, timestampMs, headers };
}

interface Step {
  readonly act: 'put' | 'remove' | 'commit' | 'abort' | 'flush' | 'reopen' | 'restore' | 'fail';
  readonly key: string;
  readonly timeMs: number;
  readonly old: string | null;
  readonly next: string | null;
}

interface Held {
  readonly timeMs: number;
  readonly prior: string | null;
  readonly record: StreamRecord<string, Change<string>>;
}

type Model = Map<string, Held>;

function putInto(model: Model, timeMs: number, record: StreamRecord<string, Change<string>>): void {
  const before = model.get(record.key);
  model.set(record.key, { timeMs: before?.timeMs ?? timeMs, prior: before === undefined ? record.value.oldValue : before.prior, record });
}

function firstOf(model: Model): Held | undefined {
  return [...model.values()].toSorted(
    (one, other) => one.timeMs - other.timeMs || Buffer.compare(Buffer.from(one.record.key), Buffer.from(other.record.key)),
  )[0];
}

const rows = fc.option(fc.string({ maxLength: 300 }));
const steps = fc.array(
  fc.record<Step>({
    act: fc.constantFrom('put', 'put', 'put', 'put', 'remove', 'commit', 'abort', 'flush', 'reopen', 'restore', 'fail'),
    key: fc.string({ unit: fc.constantFrom('\u0000', 'a', 'b'), maxLength: 4 }),
    timeMs: fc.integer({ min: -3, max: 20 }),
    old: rows,
    next: rows,
  }),
  { maxLength: 60 },
);

async function apply(
  setting: Setting,
  open: Model,
  committed: Model,
  { act, key, timeMs, old, next }: Step,
  fixed: boolean,
): Promise<Model> {
  const { store } = setting;
  const at = fixed ? lengthOf(key) : timeMs;
  const record = change(key, old, next, timeMs, next ?? '');
  switch (act) {
    case 'put':
      setting.record((buffer) => buffer.put(at, record));
      putInto(open, at, record);
      return committed;
    case 'fail':
      store.failedRecord(0, (entries) => setting.over(entries).put(at, record));
      return committed;
    case 'remove': {
      const first = firstOf(open);
      if (first !== undefined) open.delete(first.record.key);
      setting.record((buffer) => {
        const held = buffer.first();
        if (held !== undefined) buffer.remove(held);
      });
      return committed;
    }
    case 'abort':
      store.abort();
      break;
    case 'commit':
      store.commit();
      return new Map(open);
    case 'flush':
      await store.flush();
      return committed;
    case 'reopen':
      await store.reopen();
      break;
    case 'restore':
      await store.restore();
  }
  open.clear();
  for (const [held, value] of committed) open.set(held, value);
  return committed;
}

describe('the buffer of suppress', () => {
  it.each([false, true])('equals its model, keys that tell their time: %s', { timeout: 120_000 }, async (fixed) => {
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const setting = await Setting.open(fixed ? lengthOf : undefined);
        const open: Model = new Map();
        let committed: Model = new Map();
        for (const step of list) {
          committed = await apply(setting, open, committed, step, fixed);
          setting.store.read((entries) => {
            const buffer = setting.over(entries);
            const first = firstOf(open);
            expect(buffer.first()).toEqual(first === undefined ? undefined : { timeMs: first.timeMs, record: first.record });
            expect(buffer.totals.records).toBe(open.size);
            const held = open.get(step.key);
            expect(buffer.priorValue(step.key)).toEqual(held === undefined ? undefined : { value: held.prior });
          });
        }
        await setting.store.close();
      }),
      { numRuns: 100 },
    );
  });

  it('counts what it holds in bytes, and is empty when all has been removed', async () => {
    const setting = await Setting.open();
    const bytes = (): number => setting.store.read((entries) => setting.over(entries).totals.bytes);
    setting.record((buffer) => buffer.put(1, change('a', null, 'x')));
    const one = bytes();
    setting.record((buffer) => buffer.put(2, change('a', 'x', 'x'.repeat(101))));
    expect(bytes()).toBeGreaterThan(one + 100);
    setting.record((buffer) => buffer.put(2, change('a', null, 'x')));
    expect(bytes()).toBe(one);
    setting.record((buffer) => buffer.remove(buffer.first()!));
    expect(bytes()).toBe(0);
    setting.store.commit();
    expect(setting.store.entryCount).toBe(0);
    await setting.store.close();
  });
});
