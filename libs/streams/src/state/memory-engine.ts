import { stateClosedError, stateLockedError } from './state-errors.js';
import { latin1Of } from '../core/bytes.js';
import type { EngineBatch, EngineRange, StoreDatabase, StoreEngine } from './store-engine.js';

/** Faults that tests and the simulator inject. Each may wait, which holds the operation there, or throw, which fails it. */
export interface MemoryEngineFaults {
  beforeOpen?(directory: string): void | Promise<void>;
  /** The batch has been handed over and is not on stable storage yet: `crash` now drops it. */
  beforeWrite?(directory: string, operations: number): void | Promise<void>;
  /** The batch is on stable storage and its `write` has not resolved yet: `crash` now keeps it, and the writer never learns of it. */
  afterWrite?(directory: string, operations: number): void | Promise<void>;
  beforeRead?(directory: string): void;
}

/** What survives `close` and `crash`. Keys are latin-1 strings, which sort as bytes do. */
class Disk {
  readonly entries = new Map<string, Uint8Array>();
  /** Entries that `clear` removed since the last synced write: a crash may bring them back, and here it does. */
  readonly clearedUnsynced = new Map<string, Uint8Array>();
  holder: MemoryDatabase | undefined;
  #sortedKeys: string[] | undefined;

  slice(range: EngineRange): [string, Uint8Array][] {
    const keys = (this.#sortedKeys ??= [...this.entries.keys()].toSorted());
    const selected = keys.slice(lowerBound(keys, latin1Of(range.gte)), lowerBound(keys, latin1Of(range.lt)));
    if (range.reverse === true) selected.reverse();
    return selected.slice(0, range.limit ?? selected.length).map((key) => [key, this.entries.get(key)!]);
  }

  set(key: string, value: Uint8Array): void {
    if (!this.entries.has(key)) this.#sortedKeys = undefined;
    this.entries.set(key, value);
  }

  delete(key: string): void {
    if (this.entries.delete(key)) this.#sortedKeys = undefined;
  }
}

/**
 * Stores in memory: for tests, the test driver and the simulator. What was written survives `close` and `open` within one engine, and
 * `crash` ends the process that had the databases open without ending this one.
 */
export class MemoryEngine implements StoreEngine {
  readonly #disks = new Map<string, Disk>();
  readonly #faults: MemoryEngineFaults;

  constructor(options: { readonly faults?: MemoryEngineFaults } = {}) {
    this.#faults = options.faults ?? {};
  }

  /** Directories that hold a database, sorted. */
  get directories(): readonly string[] {
    return [...this.#disks.keys()].toSorted();
  }

  async open(directory: string): Promise<StoreDatabase> {
    await this.#faults.beforeOpen?.(directory);
    let disk = this.#disks.get(directory);
    if (disk === undefined) {
      disk = new Disk();
      this.#disks.set(directory, disk);
    }
    if (disk.holder !== undefined) throw stateLockedError(directory, undefined);
    disk.holder = new MemoryDatabase(disk, directory, this.#faults);
    return disk.holder;
  }

  async destroy(directory: string): Promise<void> {
    if (this.#disks.get(directory)?.holder !== undefined) throw stateLockedError(directory, undefined);
    this.#disks.delete(directory);
  }

  /**
   * As if the process that has the database open (all databases without an argument) was killed and the power cut: writes that are not on
   * stable storage are dropped, the lock is released, and every later call of the old owner fails with `STATE_CLOSED`.
   */
  crash(directory?: string): void {
    for (const [name, disk] of this.#disks) {
      if (directory === undefined || name === directory) disk.holder?.crash();
    }
  }
}

class MemoryDatabase implements StoreDatabase {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #faults: MemoryEngineFaults;
  readonly #inFlight = new Set<Promise<void>>();
  #crashed = false;
  #closing: Promise<void> | undefined;

  constructor(disk: Disk, directory: string, faults: MemoryEngineFaults) {
    this.#disk = disk;
    this.#directory = directory;
    this.#faults = faults;
  }

  getSync(key: Uint8Array): Uint8Array | undefined {
    this.#assertOpen();
    this.#faults.beforeRead?.(this.#directory);
    const { entries } = this.#disk;
    return entries.size === 0 ? undefined : entries.get(latin1Of(key));
  }

  range(range: EngineRange): AsyncIterableIterator<readonly [Uint8Array, Uint8Array]> {
    this.#assertOpen();
    this.#faults.beforeRead?.(this.#directory);
    return this.#iterate(this.#disk.slice(range));
  }

  batch(): EngineBatch {
    this.#assertOpen();
    return new MemoryBatch((operations) => this.#track(this.#write(operations)));
  }

  async clear(range: { readonly gte: Uint8Array; readonly lt: Uint8Array }): Promise<void> {
    this.#assertOpen();
    for (const [key, value] of this.#disk.slice(range)) {
      this.#disk.delete(key);
      this.#disk.clearedUnsynced.set(key, value);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  crash(): void {
    this.#crashed = true;
    for (const [key, value] of this.#disk.clearedUnsynced) this.#disk.set(key, value);
    this.#release();
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
    if (!this.#crashed) this.#release();
  }

  #release(): void {
    this.#disk.clearedUnsynced.clear();
    this.#disk.holder = undefined;
  }

  async *#iterate(entries: readonly [string, Uint8Array][]): AsyncGenerator<readonly [Uint8Array, Uint8Array], undefined> {
    for (const [key, value] of entries) {
      this.#assertOpen();
      yield [Buffer.from(key, 'latin1'), value];
    }
    this.#assertOpen();
    return undefined;
  }

  async #write(operations: ReadonlyMap<string, Uint8Array | null>): Promise<void> {
    this.#assertOpen();
    await this.#faults.beforeWrite?.(this.#directory, operations.size);
    this.#assertNotCrashed();
    for (const [key, value] of operations) {
      if (value === null) this.#disk.delete(key);
      else this.#disk.set(key, value);
    }
    this.#disk.clearedUnsynced.clear();
    await this.#faults.afterWrite?.(this.#directory, operations.size);
    this.#assertNotCrashed();
  }

  async #track(operation: Promise<void>): Promise<void> {
    this.#inFlight.add(operation);
    try {
      await operation;
    } finally {
      this.#inFlight.delete(operation);
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw stateClosedError(`directory ${this.#directory}`);
    this.#assertNotCrashed();
  }

  #assertNotCrashed(): void {
    if (this.#crashed) throw stateClosedError(`directory ${this.#directory}`);
  }
}

class MemoryBatch implements EngineBatch {
  readonly #operations = new Map<string, Uint8Array | null>();
  readonly #write: (operations: ReadonlyMap<string, Uint8Array | null>) => Promise<void>;
  #length = 0;
  #ended = false;

  constructor(write: (operations: ReadonlyMap<string, Uint8Array | null>) => Promise<void>) {
    this.#write = write;
  }

  get length(): number {
    return this.#length;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#add(key, Buffer.from(value));
  }

  delete(key: Uint8Array): void {
    this.#add(key, null);
  }

  async write(): Promise<void> {
    this.#end();
    await this.#write(this.#operations);
  }

  async close(): Promise<void> {
    this.#ended = true;
  }

  #add(key: Uint8Array, value: Uint8Array | null): void {
    if (this.#ended) throw stateClosedError('a batch that was written or closed');
    this.#operations.set(latin1Of(key), value);
    this.#length++;
  }

  #end(): void {
    if (this.#ended) throw stateClosedError('a batch that was written or closed');
    this.#ended = true;
  }
}

/** Index of the first key that is not less than the bound. */
function lowerBound(sortedKeys: readonly string[], bound: string): number {
  let low = 0;
  let high = sortedKeys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sortedKeys[middle]! < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
