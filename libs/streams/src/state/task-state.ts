/**
 * The state of one task: one database, all its stores, and what is not yet in the database.
 *
 * 1. The database never holds uncommitted data: only `flush` and the restore write it, and `flush` writes what `confirm` let through.
 * 2. Data and changelog positions reach the database in one atomic, synced batch, so a store may be ahead of its position in the
 *    changelog, never behind it.
 * 3. A store without a position holds nothing: a rebuild deletes the position first, and `open` finishes a rebuild that was cut off.
 * 4. One writer: a flush, a restored batch and a rebuild never overlap.
 * 5. A write that failed breaks the state: it can still be read, and must be closed and opened again before it is written.
 */
import { assert } from '../core/assert.js';
import { systemClock } from '../core/clock.js';
import type { Clock } from '../core/clock.js';
import { InvalidConfigurationError } from '../core/errors.js';
import type { KeyValueStoreDefinition, UntypedStore } from '../topology/store-definition.js';
import { committedReader } from './committed-reader.js';
import type { CommittedReader } from './committed-reader.js';
import { keyValueCodec } from './key-value-codec.js';
import type { DirtyEntry } from './key-versions.js';
import { LayeredStore } from './layered-store.js';
import type { LayerBytes, StoredDefinition } from './layered-store.js';
import { checkStoreName } from './layout.js';
import type { ChangelogPosition } from './layout.js';
import { ReadCache } from './read-cache.js';
import { checkRestoredKey, stateClosedError } from './state-errors.js';
import type { EngineBatch, StoreDatabase, StoreEngine } from './store-engine.js';
import { type StoreSize, estimateStoreSize } from './store-size.js';
import { storeOpener } from './stores/open-store.js';
import { inSteps, writeBatch } from './task-batch.js';
import type { AddInSteps, FlushOptions } from './task-batch.js';
import { clearStore, openTaskDatabase } from './task-database.js';

export type { ChangelogPosition } from './layout.js';
export type { DirtyEntry } from './key-versions.js';
export type { FlushOptions } from './task-batch.js';

export interface TaskStateOptions {
  readonly engine: StoreEngine;
  /** The task's own directory; created when it does not exist. */
  readonly directory: string;
  /** Names the task in messages. */
  readonly task: string;
  readonly stores: readonly StoredDefinition[];
  /** Bound of the read cache, in bytes. */
  readonly cacheBytesMax: number;
  /** Default: the system's. Long flushes yield through it. */
  readonly clock?: Clock;
}

export class TaskState {
  readonly task: string;
  readonly directory: string;
  /** The database did not exist, or held nothing, when it was opened. */
  readonly isNew: boolean;
  readonly #database: StoreDatabase;
  readonly #clock: Clock;
  readonly #cache: ReadCache;
  readonly #stores = new Map<string, LayeredStore>();
  readonly #positions: Map<string, ChangelogPosition>;
  readonly #bytes: LayerBytes = { open: 0, committing: 0, committed: 0 };
  #topologyRecord: string | undefined;
  #committing = false;
  #writing: Promise<void> | undefined;
  #broken: { readonly error: unknown } | undefined;
  #closing: Promise<void> | undefined;

  /**
   * Opens or creates the database, and finishes a rebuild that a crash cut off.
   * @throws TallyError `STATE_FORMAT_NEWER`, and those of `StoreEngine.open`. The database is closed again.
   */
  static async open(options: TaskStateOptions): Promise<TaskState> {
    for (const { name } of options.stores) checkStoreName(name);
    const opened = await openTaskDatabase(options.engine, options.directory, options.stores);
    return new TaskState(options, opened);
  }

  private constructor(options: TaskStateOptions, opened: Awaited<ReturnType<typeof openTaskDatabase>>) {
    this.task = options.task;
    this.directory = options.directory;
    this.isNew = opened.isNew;
    this.#database = opened.database;
    this.#positions = opened.positions;
    this.#topologyRecord = opened.topologyRecord;
    this.#clock = options.clock ?? systemClock;
    this.#cache = new ReadCache(options.cacheBytesMax);
    for (const definition of options.stores) {
      this.#stores.set(definition.name, new LayeredStore(definition, opened.database, this.#cache, this.#bytes));
    }
  }

  get stores(): ReadonlyMap<string, LayeredStore> {
    return this.#stores;
  }

  store(name: string): LayeredStore {
    const store = this.#stores.get(name);
    if (store === undefined) {
      const known = [...this.#stores.keys()].join(', ');
      throw new InvalidConfigurationError('STORE_UNKNOWN', `Task ${this.task} has no store '${name}'; it has: ${known || 'none'}.`, {
        task: this.task,
        store: name,
      });
    }
    return store;
  }

  /** What the last flush that was given one wrote. */
  get topologyRecord(): string | undefined {
    return this.#topologyRecord;
  }

  /** The position that the database holds for the store's changelog partition. */
  position(storeName: string): ChangelogPosition | undefined {
    return this.#positions.get(storeName);
  }

  /** Live: the same object is kept up to date. */
  get bytes(): Readonly<LayerBytes> {
    return this.#bytes;
  }

  get cacheBytes(): number {
    return this.#cache.bytes;
  }

  set cacheBytesMax(bytesMax: number) {
    this.#cache.bytesMax = bytesMax;
  }

  get isCommitting(): boolean {
    return this.#committing;
  }

  /** A flush, restored batch or rebuild is under way. */
  get isWriting(): boolean {
    return this.#writing !== undefined;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** How much of the store is in the database, about. Reads a little of it. @throws TallyError `STATE_CLOSED` */
  estimateSize(storeName: string): Promise<StoreSize> {
    this.#assertOpen();
    return estimateStoreSize(this.#database, this.store(storeName).name);
  }

  /** Committed state of one store, decoded, for queries. */
  readCommitted<K, V>(definition: KeyValueStoreDefinition<K, V>): CommittedReader<K, V> {
    return committedReader(this.store(definition.name), keyValueCodec(definition));
  }

  /** As `readCommitted`, for stores of any kind: an object with the methods that its queries have, synchronous where they ask for a key. */
  readerOf(definition: UntypedStore): object {
    const layered = this.store(definition.name);
    const codec = keyValueCodec(definition);
    const opener = storeOpener(definition, codec);
    if (opener === undefined) return committedReader(layered, codec);
    return opener.openReader({
      getEntry: (mapKey) => layered.getCommitted(mapKey),
      entriesBetween: (from, to) => layered.range({ from, to, view: 'committed' }),
    });
  }

  // ---- epochs ----------------------------------------------------------------------------------------------------------------------

  /** The open epoch becomes the committing one; what is written from now on belongs to the next. An epoch without writes is one too. */
  freeze(): void {
    this.#assertOpen();
    assert(!this.#committing, `task ${this.task} froze an epoch while another one is committing`);
    this.#committing = true;
    for (const store of this.#stores.values()) store.freeze();
    this.#bytes.committing = this.#bytes.open;
    this.#bytes.open = 0;
  }

  /** Stores that the committing epoch wrote. */
  dirtyStores(): readonly LayeredStore[] {
    this.#assertOpen();
    assert(this.#committing, `task ${this.task} was asked for the entries of an epoch and none is committing`);
    return [...this.#stores.values()].filter((store) => store.committing.length > 0);
  }

  /** The committing epoch's transaction was committed: queries see its writes, and the next flush takes them. */
  confirm(): void {
    this.#assertOpen();
    assert(this.#committing, `task ${this.task} confirmed an epoch and none is committing`);
    this.#committing = false;
    for (const store of this.#stores.values()) this.#bytes.committed += store.confirm();
    this.#bytes.committing = 0;
  }

  /** The committing epoch did not happen. The open one stays; whoever built it on the committing one's values discards it too. */
  discardCommitting(): void {
    this.#committing = false;
    for (const store of this.#stores.values()) store.discardCommitting();
    this.#bytes.committing = 0;
  }

  discardOpen(): void {
    for (const store of this.#stores.values()) store.discardOpen();
    this.#bytes.open = 0;
  }

  /**
   * Drops everything that is neither in the database nor on its way there: after the producer was replaced, the changelog decides.
   * A flush that is under way goes on (what it writes is committed); wait for `written()` before the replay.
   */
  discardUnflushed(): void {
    this.discardOpen();
    this.discardCommitting();
    for (const store of this.#stores.values()) {
      this.#bytes.committed -= store.committedBytes;
      store.discardCommitted();
    }
  }

  /** Resolves when no write is under way, however it ended. */
  async written(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  // ---- writing the database --------------------------------------------------------------------------------------------------------

  /**
   * Writes all committed entries together with the positions (by store name) in one atomic, synced batch. Positions must be what design
   * section 4 says: read before the newest confirmed commit. One flush at a time.
   * @throws TallyError `STATE_DISK_FULL`, `STATE_UNWRITABLE`, `STATE_CORRUPT`: the state is broken from then on, see invariant 5.
   * `STATE_CLOSED` once the state is closed: what a closed task had not flushed is never written.
   */
  async flush(positions: ReadonlyMap<string, ChangelogPosition>, options: FlushOptions = {}): Promise<void> {
    this.#assertWritable();
    for (const name of positions.keys()) this.store(name);
    await this.#exclusively(async () => {
      const stores = [...this.#stores.values()].filter((store) => store.committedCount > 0);
      if (stores.length === 0 && positions.size === 0 && options.topologyRecord === undefined) return;
      for (const store of stores) store.startFlush();
      const addAll = function* (batch: EngineBatch): Generator<void, void> {
        for (const store of stores) yield* inSteps(store.flushingCount, (from, to) => store.writeFlushing(batch, from, to));
      };
      await this.#write(addAll, positions, options);
      for (const store of stores) {
        for (const _step of inSteps(store.flushingCount, (from, to) => store.cacheFlushed(from, to))) await this.#clock.yieldNow();
        this.#bytes.committed -= store.finishFlush();
      }
      if (options.topologyRecord !== undefined) this.#topologyRecord = options.topologyRecord;
    });
  }

  /**
   * Writes entries that were read from the store's changelog straight into the database, together with the position behind them; only
   * while the task holds nothing that is not in the database. A null value deletes.
   * @param positionName where a store is made of several partitions: which one of them the position is of
   * @returns number of entries.
   */
  async applyRestored(
    storeName: string,
    entries: readonly DirtyEntry[],
    position: ChangelogPosition,
    positionName: string = storeName,
  ): Promise<number> {
    this.#assertWritable();
    this.#assertNothingDirty();
    const store = this.store(storeName);
    for (const { key } of entries) checkRestoredKey(storeName, key);
    await this.#exclusively(async () => {
      const addAll = (batch: EngineBatch): Iterable<void> =>
        inSteps(entries.length, (from, to) => store.writeRestored(batch, entries, from, to));
      await this.#write(addAll, new Map([[positionName, position]]), {});
      this.#cache.clear();
    });
    return entries.length;
  }

  /** Empties the store in such an order that a crash at any moment is followed by a replay from the changelog's beginning. */
  async beginRebuild(storeName: string, positionNames: readonly string[] = [storeName]): Promise<void> {
    this.#assertWritable();
    this.#assertNothingDirty();
    this.store(storeName);
    await this.#exclusively(async () => {
      for (const name of positionNames) this.#positions.delete(name);
      await clearStore(this.#database, storeName, positionNames);
      this.#cache.clear();
    });
  }

  /** Drops what is not flushed, waits for a write that is under way, closes the database. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.discardUnflushed();
    for (const store of this.#stores.values()) store.close();
    await this.written();
    this.#cache.clear();
    await this.#database.close();
  }

  async #write(add: AddInSteps, positions: ReadonlyMap<string, ChangelogPosition>, options: FlushOptions): Promise<void> {
    await writeBatch(this.#database, this.#clock, add, positions, options);
    for (const [name, position] of positions) this.#positions.set(name, position);
  }

  /** Runs one writer; whatever it throws breaks the state. */
  async #exclusively(write: () => Promise<void>): Promise<void> {
    const writing = write();
    const settled = writing.then(
      () => undefined,
      (error: unknown) => {
        this.#broken = { error };
      },
    );
    this.#writing = settled;
    try {
      await writing;
    } finally {
      await settled;
      this.#writing = undefined;
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw stateClosedError(`task ${this.task}`);
  }

  #assertWritable(): void {
    this.#assertOpen();
    if (this.#broken !== undefined) throw this.#broken.error;
    assert(this.#writing === undefined, `task ${this.task} was written by two at once`);
  }

  #assertNothingDirty(): void {
    const { open, committing, committed } = this.#bytes;
    assert(open + committing + committed === 0, `task ${this.task} was restored while it held writes of its own`);
  }
}
