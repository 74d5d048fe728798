/* oxlint-disable vitest/no-standalone-expect -- the model is checked from within tests */
/**
 * A store engine against a sorted map, under random batches, range deletions, ranges that are read later, reopenings and power cuts.
 *
 * After a power cut the database holds all up to the last acknowledged batch, and of what came behind it a first part: batches whole,
 * range deletions perhaps in part. What it holds then is the truth from there on.
 */
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { latin1Of } from '../core/bytes.js';
import type { PowerCuts } from './power-cut.suite.js';
import type { EngineRange, StoreDatabase } from './store-engine.js';

export type Entries = readonly (readonly [key: string, value: string | null])[];

interface TextRange {
  readonly from: string;
  readonly before: string;
  readonly reverse: boolean;
  readonly limit: number | undefined;
}

export type Step =
  | { readonly kind: 'write'; readonly entries: Entries }
  | { readonly kind: 'clear'; readonly from: string; readonly before: string }
  | { readonly kind: 'reopen' | 'endRange' }
  | { readonly kind: 'startRange'; readonly range: TextRange }
  /** With a batch that is under way then, or without. */
  | { readonly kind: 'cutPower'; readonly survives: number; readonly entries: Entries | undefined };

export const everything: EngineRange = { gte: Uint8Array.of(0), lt: Uint8Array.of(0xff, 0xff, 0xff, 0xff) };

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

export async function entriesOf(range: AsyncIterable<readonly [Uint8Array, Uint8Array]>): Promise<[string, string][]> {
  const entries: [string, string][] = [];
  for await (const [key, value] of range) entries.push([latin1Of(key), latin1Of(value)]);
  return entries;
}

export async function write(database: StoreDatabase, entries: Entries): Promise<void> {
  const batch = database.batch();
  for (const [key, value] of entries) {
    if (value === null) batch.delete(bytesOf(key));
    else batch.put(bytesOf(key), bytesOf(value));
  }
  await batch.write();
}

export function valueOf(database: StoreDatabase, key: string): string | undefined {
  const value = database.getSync(bytesOf(key));
  return value === undefined ? undefined : latin1Of(value);
}

const keyText = fc
  .array(fc.constantFrom(0x00, 0x01, 0x61, 0x7f, 0x80, 0xfe), { minLength: 1, maxLength: 3 })
  .map((codes) => String.fromCharCode(...codes));
const valueText = fc.string({ unit: fc.constantFrom('\u0000', 'v', '\u00ff'), maxLength: 4 });
const someEntries = fc.array(fc.tuple(keyText, fc.option(valueText)), { maxLength: 6 });

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('write' as const), entries: someEntries }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('clear' as const), from: keyText, before: keyText }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('startRange' as const),
        range: fc.record({
          from: keyText,
          before: keyText,
          reverse: fc.boolean(),
          limit: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
        }),
      }),
    },
    { weight: 4, arbitrary: fc.constantFrom({ kind: 'endRange' as const }, { kind: 'endRange' as const }, { kind: 'reopen' as const }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('cutPower' as const),
        survives: fc.constantFrom(0, 0, 0.3, 0.8, 1, 1),
        entries: fc.option(someEntries, { nil: undefined }),
      }),
    },
  ),
  { minLength: 5, maxLength: 20, size: 'max' },
);

type Content = ReadonlyMap<string, string>;
type Change = Extract<Step, { kind: 'write' | 'clear' }>;

function changed(content: Content, change: Change): Content {
  const result = new Map(content);
  if (change.kind === 'clear') {
    for (const key of content.keys()) if (key >= change.from && key < change.before) result.delete(key);
    return result;
  }
  for (const [key, value] of change.entries) {
    if (value === null) result.delete(key);
    else result.set(key, value);
  }
  return result;
}

function sorted(content: Content): [string, string][] {
  return [...content].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

function selected(content: Content, { from, before, reverse, limit }: TextRange): [string, string][] {
  const entries = sorted(content).filter(([key]) => key >= from && key < before);
  return (reverse ? entries.toReversed() : entries).slice(0, limit);
}

export class EngineModel {
  /** What must be there after any power cut. */
  private synced: Content = new Map();
  private unsynced: Change[] = [];
  private readonly ranges: { readonly expected: [string, string][]; readonly range: AsyncIterable<readonly [Uint8Array, Uint8Array]> }[] =
    [];
  /** What power cuts did: a fault that never fired proves nothing. */
  readonly seen = { lost: 0, survived: 0 };

  private constructor(
    private readonly cuts: PowerCuts,
    private readonly directory: string,
    private database: StoreDatabase,
  ) {}

  static async open(cuts: PowerCuts, directory: string): Promise<EngineModel> {
    return new EngineModel(cuts, directory, await cuts.engine.open(directory));
  }

  async destroy(): Promise<void> {
    await this.database.close();
    await this.cuts.engine.destroy(this.directory);
  }

  async apply(step: Step): Promise<void> {
    switch (step.kind) {
      case 'write':
        await write(this.database, step.entries);
        this.synced = changed(this.content, step);
        this.unsynced = [];
        break;
      case 'clear':
        await this.database.clear({ gte: bytesOf(step.from), lt: bytesOf(step.before) });
        this.unsynced.push(step);
        break;
      case 'startRange':
        this.startRange(step.range);
        break;
      case 'endRange':
        await this.endRange();
        break;
      case 'reopen':
        await this.database.close();
        await this.reopen();
        this.synced = this.content;
        this.unsynced = [];
        break;
      case 'cutPower':
        await this.cutPower(step.survives, step.entries);
        break;
    }
    await this.check();
  }

  private get content(): Content {
    return this.unsynced.reduce(changed, this.synced);
  }

  private async check(): Promise<void> {
    const { content, database } = this;
    expect(await entriesOf(database.range(everything))).toEqual(sorted(content));
    for (const key of ['\u0000', 'a', '\u007f', ...content.keys()]) expect(valueOf(database, key)).toBe(content.get(key));
  }

  private startRange(range: TextRange): void {
    const { from, before, reverse, limit } = range;
    const asked = { gte: bytesOf(from), lt: bytesOf(before), reverse, ...(limit === undefined ? {} : { limit }) };
    this.ranges.push({ expected: selected(this.content, range), range: this.database.range(asked) });
  }

  private async endRange(): Promise<void> {
    const started = this.ranges.shift();
    if (started !== undefined) expect(await entriesOf(started.range)).toEqual(started.expected);
  }

  private async reopen(): Promise<void> {
    this.ranges.length = 0;
    this.database = await this.cuts.engine.open(this.directory);
  }

  private async cutPower(survives: number, entries: Entries | undefined): Promise<void> {
    const { database } = this;
    await this.cuts.cutPower(this.directory, survives, entries && (() => write(database, entries)));
    if (entries !== undefined) this.unsynced.push({ kind: 'write', entries });
    const whole = this.content;
    await this.reopen();
    const found = new Map(await entriesOf(this.database.range(everything)));
    expect(isSurvivor(found, this.synced, this.unsynced), `what survived of ${JSON.stringify([...found])}`).toBe(true);
    if (!isEqual(whole, this.synced)) this.seen[isEqual(found, whole) ? 'survived' : 'lost'] += 1;
    this.synced = found;
    this.unsynced = [];
  }
}

/** Whether the content is what was synced and a first part of the changes behind it. */
function isSurvivor(found: Content, synced: Content, unsynced: readonly Change[]): boolean {
  let before = synced;
  if (isEqual(found, before)) return true;
  for (const change of unsynced) {
    const after = changed(before, change);
    if (isEqual(found, after) || (change.kind === 'clear' && isBetween(found, after, before))) return true;
    before = after;
  }
  return false;
}

function isBetween(found: Content, least: Content, most: Content): boolean {
  return contains(most, found) && contains(found, least);
}

function contains(outer: Content, inner: Content): boolean {
  return [...inner].every(([key, value]) => outer.get(key) === value);
}

function isEqual(left: Content, right: Content): boolean {
  return left.size === right.size && contains(left, right);
}
