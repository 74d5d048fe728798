import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { noHeaders } from '../core/record.js';
import { string } from '../serde/index.js';
import { StoreSetting } from '../state/stores/store-setting.suite.js';
import type { ProcessorContext, SortedStore } from '../topology/index.js';
import { JoinBuffer, type JoinSide } from './join-buffer.js';
import { type JoinWindow, UnmatchedRecords } from './unmatched-records.js';

interface Step {
  readonly kind: 'hold' | 'take' | 'meet';
  readonly side: JoinSide;
  readonly key: string;
  readonly timeMs: number;
}

interface Entry {
  readonly side: JoinSide;
  readonly key: string;
  readonly timeMs: number;
  readonly text: string;
}

/** What is said of the buffer, as a list that is walked from its beginning each time. */
class WalkedList {
  private entries: Entry[] = [];
  private sinceMs = Number.POSITIVE_INFINITY;

  constructor(private readonly window: JoinWindow) {}

  hold(entry: Entry): void {
    this.sinceMs = Math.min(this.sinceMs, entry.timeMs);
    this.entries.push(entry);
    this.entries = this.entries
      .map((each, index) => ({ each, index }))
      .toSorted((left, right) => compare(left.each, right.each) || left.index - right.index)
      .map(({ each }) => each);
  }

  meet({ side, key, timeMs }: Step): void {
    this.entries = this.entries.filter((each) => each.side !== side || each.key !== key || each.timeMs !== timeMs);
  }

  take(streamTimeMs: number, reachMs: number): string[] {
    const { beforeMs, afterMs, graceMs } = this.window;
    if (this.sinceMs === Number.POSITIVE_INFINITY || this.sinceMs + reachMs + graceMs >= streamTimeMs) return [];
    const taken = new Set<Entry>();
    const open = new Set<JoinSide>();
    this.sinceMs = Number.POSITIVE_INFINITY;
    for (const entry of this.entries) {
      this.sinceMs = entry.timeMs;
      if (open.size === 2) break;
      if (entry.timeMs + (entry.side === 'left' ? afterMs : beforeMs) + graceMs >= streamTimeMs) open.add(entry.side);
      else taken.add(entry);
    }
    this.entries = this.entries.filter((entry) => !taken.has(entry));
    return [...taken].map(({ text }) => text);
  }
}

function compare(left: Entry, right: Entry): number {
  if (left.timeMs !== right.timeMs) return left.timeMs - right.timeMs;
  if (left.side !== right.side) return left.side === 'right' ? -1 : 1;
  return left.key < right.key ? -1 : left.key > right.key ? 1 : 0;
}

const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom('hold', 'hold', 'hold', 'take', 'take', 'meet'),
    side: fc.constantFrom('left', 'right'),
    key: fc.constantFrom('a', 'ab', 'b'),
    timeMs: fc.integer({ min: 0, max: 8 }),
  }),
  { minLength: 10, maxLength: 40 },
);
const lengths = fc.constantFrom(0, 1, 2, 4);
const windows = fc.record({ beforeMs: lengths, afterMs: lengths, graceMs: lengths });

const buffer = new JoinBuffer<string, string>('unmatched', string(), string());

it('come out as if the whole buffer were walked each time', async () => {
  let takenCount = 0;
  await fc.assert(
    fc.asyncProperty(windows, steps, async (window, list) => {
      const setting = await StoreSetting.open<SortedStore<Uint8Array, Uint8Array>>(buffer.store);
      const model = new WalkedList(window);
      let streamTimeMs = -1;
      for (const [index, step] of list.entries()) {
        const { side, key, kind } = step;
        // Time goes on with each step, and each step may be late.
        const timeMs = Math.max(0, Math.floor(index / 2) - 4 + step.timeMs);
        streamTimeMs = Math.max(streamTimeMs, timeMs);
        const text = `${side} ${key} ${timeMs} ${index}`;
        const taken: string[] = [];
        setting.record(timeMs, (store) => {
          const context = { store: () => store, advanceTime: () => streamTimeMs } as unknown as ProcessorContext;
          const unmatched = new UnmatchedRecords(buffer, window, context, timeMs);
          if (kind === 'hold') unmatched.hold(side, { key, value: text, timestampMs: timeMs, headers: noHeaders });
          else if (kind === 'meet') unmatched.met(side, timeMs, key);
          else unmatched.takeClosed(side === 'left' ? window.afterMs : window.beforeMs, (_side, { value }) => taken.push(value));
        });
        if (kind === 'hold') model.hold({ side, key, timeMs, text });
        else if (kind === 'meet') model.meet({ ...step, timeMs });
        else expect(taken).toEqual(model.take(streamTimeMs, side === 'left' ? window.afterMs : window.beforeMs));
        takenCount += taken.length;
      }
      await setting.close();
    }),
    { numRuns: 500 },
  );
  expect(takenCount).toBeGreaterThan(500);
});
