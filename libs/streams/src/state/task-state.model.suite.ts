/* oxlint-disable vitest/no-standalone-expect -- the steps are called from within tests */
/**
 * TaskState against a model of plain maps, under random sequences of everything that a task does, on any engine. After every step the
 * task's two views, the raw database, the positions and the byte counts must equal the model's.
 */
import { expect } from 'vitest';
import { gate } from './gate.suite.js';
import { entryBytes } from './key-versions.js';
import { storePrefix } from './layout.js';
import { latin1Of } from '../core/bytes.js';
import { mapKeyOf, physicalKeyOf } from './map-key.js';
import type { StoreDatabase, StoreEngine } from './store-engine.js';
import { entriesOf } from './store-engine.suite.js';
import { TaskState } from './task-state.js';
import { keys, storeNames } from './task-state.steps.suite.js';
import type { Step } from './task-state.steps.suite.js';

function definitionOf(name: string) {
  return { kind: 'keyValue', name, changelog: true } as const;
}

type Content = Map<string, string | null>;

/** Content of a layer or database: by store and key, in one map. */
function slot(index: number, text: string): string {
  return `${index}/${text}`;
}

export class Subject {
  open: Content = new Map();
  committing: Content | undefined;
  committed: Content = new Map();
  /** What a flush that is under way will have written, with its position. */
  flushing: { readonly content: Content; readonly offset: number; readonly done: Promise<void>; release(): void } | undefined;
  database: Content = new Map();
  positions: (number | undefined)[] = storeNames.map(() => undefined);
  readonly ranges: { readonly expected: [string, string][]; readonly range: AsyncIterable<readonly [Uint8Array, Uint8Array]> }[] = [];
  state!: TaskState;
  raw!: StoreDatabase;
  offset = 0;

  /** @param crash ends the process that has the database open; the engine tells whether a write under way had reached the disk. */
  constructor(
    readonly engine: StoreEngine,
    readonly directory: string,
    readonly cacheBytesMax: number,
    readonly crash: ((subject: Subject) => Promise<'landed' | 'dropped'>) | undefined,
  ) {}

  async start(): Promise<void> {
    const { engine } = this;
    const spy: StoreEngine = {
      open: async (directory) => (this.raw = await engine.open(directory)),
      destroy: (directory) => engine.destroy(directory),
    };
    const stores = storeNames.map(definitionOf);
    this.state = await TaskState.open({
      engine: spy,
      directory: this.directory,
      task: 'ledger/0',
      stores,
      cacheBytesMax: this.cacheBytesMax,
    });
    this.open = new Map();
    this.committing = undefined;
    this.committed = new Map();
    this.flushing = undefined;
    this.ranges.length = 0;
  }

  async apply(step: Step): Promise<void> {
    const { state } = this;
    switch (step.kind) {
      case 'put':
        return this.#put(step.store, keys[step.key]!, step.value);
      case 'freeze':
        if (this.committing !== undefined) return expect(() => state.freeze()).toThrow('while another one is committing');
        state.freeze();
        this.committing = this.open;
        this.open = new Map();
        return this.#expectDirtyEntries();
      case 'confirm':
        if (this.committing === undefined) return expect(() => state.confirm()).toThrow('none is committing');
        state.confirm();
        this.committed = new Map([...this.committed, ...this.committing]);
        this.committing = undefined;
        return;
      case 'commit':
        if (this.committing === undefined) await this.apply({ kind: 'freeze' });
        return this.apply({ kind: 'confirm' });
      case 'flush':
        await this.#endFlush();
        await this.#startFlush();
        return this.#endFlush();
      case 'discardCommitting':
        state.discardCommitting();
        this.committing = undefined;
        return;
      case 'discardOpen':
        state.discardOpen();
        this.open = new Map();
        return;
      case 'discardUnflushed':
        state.discardUnflushed();
        this.open = new Map();
        this.committing = undefined;
        this.committed = new Map();
        return;
      case 'startFlush':
        return this.#startFlush();
      case 'endFlush':
        return this.#endFlush();
      case 'reopen':
        return this.#reopen();
      case 'crash':
        return this.#crash();
      case 'flushOfClosed':
        return this.#flushOfClosed();
      case 'startRange':
        return this.#startRange(step.store, step.view);
      case 'endRange':
        return this.#endRange();
      case 'restore':
        return this.#restore(step.store, keys[step.key]!, step.value);
      case 'rebuild':
        return this.#rebuild(step.store);
    }
  }

  /** One comparison of texts for the whole: thousands of them make up a run. */
  check(): void {
    const found: unknown[] = [];
    const expected: unknown[] = [];
    const committed = this.#view('committed');
    const open = this.#view('open');
    for (const [index, name] of storeNames.entries()) {
      const tested = this.state.store(name);
      const prefix = storePrefix(name);
      for (const text of keys) {
        const physical = physicalKey(text);
        const mapKey = mapKeyOf(physical);
        const at = slot(index, text);
        const raw = this.raw.getSync(Buffer.concat([prefix, physical]));
        found.push(at, textOf(tested.get(mapKey)), textOf(tested.getCommitted(mapKey)), textOf(raw));
        expected.push(at, open.get(at), committed.get(at), this.database.get(at));
      }
      found.push(this.state.position(name)?.offset);
      expected.push(this.positions[index]);
    }
    found.push(this.state.bytes.open, this.state.bytes.committing, this.state.bytes.committed);
    expected.push(
      bytesOf(this.open),
      bytesOf(this.committing ?? new Map()),
      bytesOf(this.committed) + bytesOf(this.flushing?.content ?? new Map()),
    );
    expect(JSON.stringify(found)).toBe(JSON.stringify(expected));
    expect(this.state.cacheBytes).toBeLessThanOrEqual(this.cacheBytesMax);
  }

  async end(): Promise<void> {
    await this.#endFlush();
    await this.state.close();
  }

  #put(index: number, text: string, number: number | null): void {
    const stored = number === null ? null : Buffer.from(String(number));
    this.state.store(storeNames[index]!).put(mapKeyOf(physicalKey(text)), stored);
    this.open.set(slot(index, text), number === null ? null : String(number));
  }

  #expectDirtyEntries(): void {
    const dirty = new Map<string, string | null>();
    for (const { name, committing } of this.state.dirtyStores()) {
      for (const { mapKey, committing: value } of committing) {
        const text = latin1Of(physicalKeyOf(mapKey), 1);
        dirty.set(slot(storeNames.indexOf(name as (typeof storeNames)[number]), text), textOf(value ?? undefined) ?? null);
      }
    }
    expect(dirty).toEqual(this.committing);
  }

  async #startFlush(): Promise<void> {
    if (this.flushing !== undefined) return expect(this.state.flush(new Map())).rejects.toThrow('written by two at once');
    const held = gate();
    const offset = ++this.offset;
    const done = this.state.flush(this.#positionsAt(offset), { onStep: () => held.opened });
    done.catch(() => undefined);
    this.flushing = { content: this.committed, offset, done, release: () => held.open() };
    this.committed = new Map();
  }

  async #endFlush(): Promise<void> {
    if (this.flushing === undefined) return;
    this.flushing.release();
    await this.flushing.done;
    this.#flushed();
  }

  #flushed(): void {
    const { content, offset } = this.flushing!;
    apply(this.database, content);
    this.positions = storeNames.map(() => offset);
    this.flushing = undefined;
  }

  /** Closing waits for the flush, which writes what was confirmed before it began, and drops the rest. */
  async #reopen(): Promise<void> {
    const closing = this.state.close();
    await this.#endFlush();
    await closing;
    await this.start();
  }

  async #crash(): Promise<void> {
    if (this.crash === undefined) return this.#reopen();
    const { flushing } = this;
    const fate = await this.crash(this);
    if (flushing !== undefined) {
      await expect(flushing.done).rejects.toMatchObject({ code: 'STATE_CLOSED' });
      if (fate === 'landed') this.#flushed();
    }
    await this.state.close();
    await this.start();
  }

  async #flushOfClosed(): Promise<void> {
    const closed = this.state;
    await this.#reopen();
    await expect(closed.flush(this.#positionsAt(this.offset + 1))).rejects.toMatchObject({ code: 'STATE_CLOSED' });
    const refusal = expect.objectContaining({ code: 'STATE_CLOSED', kind: 'closed' });
    expect(() => closed.store(storeNames[0]).get('\u0001b')).toThrow(refusal);
    expect(() => closed.store(storeNames[0]).put('\u0001b', null)).toThrow(refusal);
    expect(() => closed.freeze()).toThrow(refusal);
  }

  #startRange(index: number, view: 'open' | 'committed'): void {
    const range = this.state.store(storeNames[index]!).range({ view });
    this.ranges.push({ expected: listed(this.#view(view), index, '\u0001'), range });
  }

  async #endRange(): Promise<void> {
    const started = this.ranges.shift();
    if (started !== undefined) expect(await entriesOf(started.range)).toEqual(started.expected);
  }

  async #restore(index: number, text: string, number: number | null): Promise<void> {
    if (await this.#refusedWhileDirty((name) => this.state.applyRestored(name, [], positionAt(1)), index)) return;
    const offset = ++this.offset;
    const stored = number === null ? null : String(number);
    const entry = { key: physicalKey(text), value: stored === null ? null : Buffer.from(stored) };
    expect(await this.state.applyRestored(storeNames[index]!, [entry], positionAt(offset))).toBe(1);
    apply(this.database, new Map([[slot(index, text), stored]]));
    this.positions[index] = offset;
  }

  async #rebuild(index: number): Promise<void> {
    if (await this.#refusedWhileDirty((name) => this.state.beginRebuild(name), index)) return;
    await this.state.beginRebuild(storeNames[index]!);
    for (const text of keys) this.database.delete(slot(index, text));
    this.positions[index] = undefined;
  }

  async #refusedWhileDirty(write: (storeName: string) => Promise<unknown>, index: number): Promise<boolean> {
    const dirty = this.open.size + (this.committing?.size ?? 0) + this.committed.size + (this.flushing?.content.size ?? 0);
    if (dirty === 0 && this.flushing === undefined) return false;
    await expect(write(storeNames[index]!)).rejects.toThrow(/held writes of its own|written by two at once/);
    return true;
  }

  #positionsAt(offset: number) {
    return new Map(storeNames.map((name) => [name, positionAt(offset)]));
  }

  #view(view: 'open' | 'committed'): Content {
    const layers = [this.database, this.flushing?.content ?? [], this.committed];
    if (view === 'open') layers.push(this.committing ?? [], this.open);
    return new Map(layers.flatMap((layer) => [...layer]));
  }
}

function positionAt(offset: number) {
  return { offset, dateMs: 1000 + offset, topicId: 'topic' };
}

function physicalKey(text: string): Uint8Array {
  return Buffer.from(`\u0001${text}`, 'latin1');
}

function textOf(bytes: Uint8Array | null | undefined): string | undefined {
  return bytes === undefined || bytes === null ? undefined : latin1Of(bytes);
}

function apply(target: Content, writes: Content): void {
  for (const [key, value] of writes) {
    if (value === null) target.delete(key);
    else target.set(key, value);
  }
}

function listed(content: Content, index: number, keyPrefix: string): [string, string][] {
  const entries = [...keys]
    .toSorted()
    .map((text): [string, string | null] => [`${keyPrefix}${text}`, content.get(slot(index, text)) ?? null]);
  return entries.filter((entry): entry is [string, string] => entry[1] !== null);
}

function bytesOf(content: Content): number {
  let bytes = 0;
  for (const [key, value] of content) bytes += entryBytes(key.slice(2), value === null ? null : Buffer.from(value));
  return bytes;
}
