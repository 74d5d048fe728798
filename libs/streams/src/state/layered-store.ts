/**
 * One store of a task: what is dirty lies in layers over the database.
 *
 * Layers, newest first: open epoch > committing epoch > committed, not yet flushed > being flushed > read cache > database.
 *
 * 1. Only `put` writes, and only into the open layer; layers move down whole: freeze, confirm, startFlush, finishFlush.
 * 2. The database and the cache hold committed values only. A key that is being flushed is read from its layer until the batch has
 *    been written, so the cache never answers with what the flush replaces.
 * 3. A key is in a layer's list exactly while its versions hold something for that layer; it is forgotten when no layer and no cache does.
 * 4. Keys and values that are handed in or out are never modified afterwards, by either side.
 */
import { assert } from '../core/assert.js';
import type { AnyStoreDefinition } from '../topology/store-definition.js';
import { concatBytes } from '../core/bytes.js';
import { keep } from './kept-bytes.js';
import { type DirtyEntry, KeyVersions, entryBytes } from './key-versions.js';
import { mergedRange, mergePinned } from './layered-range.js';
import type { PinnedEntries } from './layered-range.js';
import { dataKind, storePrefix } from './layout.js';
import { afterDataMapKey, KeyScratch, mapKeyOf, reservedMapKey } from './map-key.js';
import type { CachedEntries, ReadCache } from './read-cache.js';
import { stateClosedError } from './state-errors.js';
import type { EngineBatch, StoreDatabase } from './store-engine.js';

/** What state has to know of a store of any kind. */
export type StoredDefinition = Pick<AnyStoreDefinition, 'kind' | 'name' | 'changelog'>;

/** Bytes of the layers of all stores of a task, kept up to date by every write. */
export interface LayerBytes {
  open: number;
  committing: number;
  /** Committed and not yet in the database, what is being flushed included. */
  committed: number;
}

/** `open` is what the task's own records see; `committed` is what queries may see. */
export type StoreView = 'open' | 'committed';

export interface RangeBounds {
  /** First physical key. Default: the first of the application's keys. */
  readonly from?: Uint8Array | undefined;
  /** Last physical key, itself included. Default: the last of the application's keys. */
  readonly to?: Uint8Array | undefined;
  readonly view: StoreView;
  /** Writes above all layers, by map key: those of a record's own scope. */
  readonly overlay?: ReadonlyMap<string, Uint8Array | null> | undefined;
}

const firstDataKey = Uint8Array.of(dataKind);
const afterDataKey = Uint8Array.of(dataKind + 1);
const zero = Uint8Array.of(0);

export class LayeredStore implements CachedEntries {
  readonly name: string;
  readonly definition: StoredDefinition;
  readonly #database: StoreDatabase;
  readonly #cache: ReadCache;
  readonly #bytes: LayerBytes;
  readonly #prefixBytes: number;
  /** Engines copy the keys that they are given. */
  readonly #databaseKey: KeyScratch;
  readonly #keys = new Map<string, KeyVersions>();
  /** The key asked for last: most are read and then written. */
  #last: KeyVersions | undefined;
  /** A key that was looked for last and has no versions: new ones are read and then written as well. */
  #lastMissing: string | undefined;
  #open: KeyVersions[] = [];
  #committing: KeyVersions[] = [];
  #committed: KeyVersions[] = [];
  #committedBytes = 0;
  #flushing: KeyVersions[] = [];
  #flushingBytes = 0;
  #hand: IterableIterator<KeyVersions> | undefined;
  #closed = false;
  /** Reads that the cache answered, and that went to the database. */
  cacheHits = 0;
  cacheMisses = 0;

  /** Made by `TaskState.open`. */
  constructor(definition: StoredDefinition, database: StoreDatabase, cache: ReadCache, bytes: LayerBytes) {
    this.definition = definition;
    this.name = definition.name;
    this.#database = database;
    this.#cache = cache;
    this.#bytes = bytes;
    cache.add(this);
    const prefix = storePrefix(definition.name);
    this.#prefixBytes = prefix.byteLength;
    this.#databaseKey = new KeyScratch(prefix);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * The stored value as the open epoch sees it, `undefined` where there is none. Must not be modified.
   * @param mapKey `mapKeyOf(key)`
   */
  get(mapKey: string): Uint8Array | undefined {
    const versions = this.#find(mapKey);
    if (versions !== undefined) {
      const written = versions.open !== undefined ? versions.open : versions.committing;
      if (written !== undefined) return written ?? undefined;
    }
    return this.#committedValue(versions, mapKey);
  }

  /** The stored value that the last confirmed epoch left, `undefined` where there is none. Must not be modified. */
  getCommitted(mapKey: string): Uint8Array | undefined {
    return this.#committedValue(this.#find(mapKey), mapKey);
  }

  /** Writes into the open epoch; null deletes. The bytes are kept, not copied. */
  put(mapKey: string, value: Uint8Array | null): void {
    if (this.#closed) throw stateClosedError(`store ${this.name}`);
    const versions = this.#find(mapKey) ?? this.#add(mapKey);
    const { open } = versions;
    this.#bytes.open += entryBytes(mapKey, value);
    if (open === undefined) this.#open.push(versions);
    else this.#bytes.open -= entryBytes(mapKey, open);
    versions.open = value;
  }

  /** What Tally itself keeps for this store under a name, as the open epoch sees it. */
  getReserved(name: string): Uint8Array | undefined {
    return this.get(reservedMapKey(name));
  }

  /** Writes what Tally itself keeps; it is dirty, changelogged and committed as all entries are. `null` deletes. */
  putReserved(name: string, value: Uint8Array | null): void {
    this.put(reservedMapKey(name), value);
  }

  /**
   * The application's entries as [physical key, stored value] in byte order, as they are at the call whatever is written, committed or
   * flushed later. Iterate to the end or call `return`: until then it holds a snapshot of the database.
   */
  range(bounds: RangeBounds): AsyncIterableIterator<readonly [Uint8Array, Uint8Array]> {
    if (this.#closed) throw stateClosedError(`store ${this.name}`);
    const { from: first = firstDataKey, to } = bounds;
    assert(
      first[0] === dataKind && (to === undefined || to[0] === dataKind),
      `a range of store ${this.name} is one of data: map keys of other kinds sort elsewhere`,
    );
    // The smallest key after an inclusive bound is that bound with a zero byte behind it.
    const end = to === undefined ? afterDataKey : concatBytes(to, zero);
    const from = mapKeyOf(first);
    const before = to === undefined ? afterDataMapKey : mapKeyOf(end);
    const snapshot = this.#database.range({ gte: this.#boundInDatabase(first), lt: this.#boundInDatabase(end) });
    const slices = [this.#pin(from, before, bounds.view)];
    if (bounds.overlay !== undefined) slices.push(sliceOf(bounds.overlay, from, before));
    return mergedRange(mergePinned(slices), snapshot, this.#prefixBytes, this);
  }

  /** What the committing epoch wrote, in `committing` of each: what its changelog records say. Nothing is left there once it was discarded. */
  get committing(): readonly KeyVersions[] {
    return this.#committing;
  }

  // ---- what follows is called by TaskState alone, which keeps the order and the byte counts ---------------------------------------

  freeze(): void {
    assert(this.#committing.length === 0, `an epoch of store ${this.name} is committing already`);
    for (const versions of this.#open) {
      versions.committing = versions.open;
      versions.open = undefined;
    }
    this.#committing = this.#open;
    this.#open = [];
  }

  /** @returns by how much the committed layer grew, in bytes. */
  confirm(): number {
    const before = this.#committedBytes;
    for (const versions of this.#committing) {
      const { mapKey, committing, committed } = versions;
      if (committing === undefined) continue;
      this.#committedBytes += entryBytes(mapKey, committing);
      if (committed === undefined) this.#committed.push(versions);
      else this.#committedBytes -= entryBytes(mapKey, committed);
      versions.committed = committing;
      versions.committing = undefined;
    }
    this.#committing = [];
    return this.#committedBytes - before;
  }

  discardOpen(): void {
    const discarded = this.#open;
    this.#open = [];
    for (const versions of discarded) {
      versions.open = undefined;
      this.#cleaned(versions);
    }
  }

  discardCommitting(): void {
    const discarded = this.#committing;
    this.#committing = [];
    for (const versions of discarded) {
      versions.committing = undefined;
      this.#cleaned(versions);
    }
  }

  discardCommitted(): void {
    const discarded = this.#committed;
    this.#committed = [];
    this.#committedBytes = 0;
    for (const versions of discarded) {
      versions.committed = undefined;
      this.#cleaned(versions);
    }
  }

  get committedCount(): number {
    return this.#committed.length;
  }

  get committedBytes(): number {
    return this.#committedBytes;
  }

  /** The committed layer becomes the one that is being flushed; `writeFlushing` writes it. */
  startFlush(): void {
    assert(this.#flushing.length === 0, `store ${this.name} is being flushed already`);
    for (const versions of this.#committed) {
      versions.flushing = versions.committed;
      versions.committed = undefined;
    }
    this.#flushing = this.#committed;
    this.#flushingBytes = this.#committedBytes;
    this.#committed = [];
    this.#committedBytes = 0;
  }

  get flushingCount(): number {
    return this.#flushing.length;
  }

  /** Adds entries of the layer that is being flushed to a batch on the database. */
  writeFlushing(batch: EngineBatch, from: number, to: number): void {
    for (let index = from; index < to; index++) {
      const versions = this.#flushing[index];
      if (versions?.flushing !== undefined) write(batch, this.#databaseKey.ofMapKey(versions.mapKey), versions.flushing);
    }
  }

  /** The batch has been written: takes values of its layer into the cache. */
  cacheFlushed(from: number, to: number): void {
    for (let index = from; index < to; index++) {
      const versions = this.#flushing[index] as KeyVersions;
      const { flushing } = versions;
      versions.flushing = undefined;
      this.#dropFromCache(versions);
      if (flushing !== null && flushing !== undefined) this.#keepInCache(versions, flushing);
      this.#cleaned(versions);
    }
  }

  /** @returns bytes that the flushed layer held. */
  finishFlush(): number {
    const bytes = this.#flushingBytes;
    this.#flushing = [];
    this.#flushingBytes = 0;
    return bytes;
  }

  /** Adds entries that were read from the changelog to a batch on the database. */
  writeRestored(batch: EngineBatch, entries: readonly DirtyEntry[], from: number, to: number): void {
    for (let index = from; index < to; index++) {
      const { key, value } = entries[index] as DirtyEntry;
      write(batch, this.#databaseKey.ofBytes(key), value);
    }
  }

  /** Its layers were discarded before: a hit in one of them is not checked against this. */
  close(): void {
    this.#closed = true;
  }

  // ---- the cache -------------------------------------------------------------------------------------------------------------------

  /** @see CachedEntries */
  evict(bytes: number, stepsMax: number): number {
    let freed = 0;
    for (let step = 0; step < stepsMax && freed < bytes; step++) {
      this.#hand ??= this.#keys.values();
      const next = this.#hand.next();
      if (next.done === true) {
        this.#hand = undefined;
        if (this.#keys.size === 0) break;
        continue;
      }
      const versions = next.value;
      if (versions.cached === undefined) continue;
      if (versions.wasRead) versions.wasRead = false;
      else {
        freed += entryBytes(versions.mapKey, versions.cached);
        versions.cached = undefined;
        this.#cleaned(versions);
      }
    }
    return freed;
  }

  /** @see CachedEntries */
  dropCached(): void {
    for (const versions of this.#keys.values()) {
      versions.cached = undefined;
      this.#cleaned(versions);
    }
  }

  #keepInCache(versions: KeyVersions, value: Uint8Array): void {
    if (!this.#cache.reserve(entryBytes(versions.mapKey, value))) return;
    versions.cached = keep(value);
    versions.wasRead = false;
  }

  #dropFromCache(versions: KeyVersions): void {
    if (versions.cached === undefined) return;
    this.#cache.release(entryBytes(versions.mapKey, versions.cached));
    versions.cached = undefined;
  }

  // ---- versions --------------------------------------------------------------------------------------------------------------------

  #find(mapKey: string): KeyVersions | undefined {
    const last = this.#last;
    if (last !== undefined && last.mapKey === mapKey) return last;
    if (mapKey === this.#lastMissing) return undefined;
    const versions = this.#keys.get(mapKey);
    if (versions !== undefined) this.#last = versions;
    else this.#lastMissing = mapKey;
    return versions;
  }

  #add(mapKey: string): KeyVersions {
    const versions = new KeyVersions(mapKey);
    this.#keys.set(mapKey, versions);
    this.#last = versions;
    this.#lastMissing = undefined;
    return versions;
  }

  #committedValue(versions: KeyVersions | undefined, mapKey: string): Uint8Array | undefined {
    if (this.#closed) throw stateClosedError(`store ${this.name}`);
    if (versions !== undefined) {
      const unflushed = versions.committed !== undefined ? versions.committed : versions.flushing;
      if (unflushed !== undefined) return unflushed ?? undefined;
      if (versions.cached !== undefined) {
        versions.wasRead = true;
        this.cacheHits++;
        return versions.cached;
      }
    }
    this.cacheMisses++;
    const stored = this.#database.getSync(this.#databaseKey.ofMapKey(mapKey));
    if (stored !== undefined && this.#cache.reserve(entryBytes(mapKey, stored))) {
      // Looked up again: making room may have dropped the key that was found.
      (this.#find(mapKey) ?? this.#add(mapKey)).cached = keep(stored);
    }
    return stored;
  }

  /** Called when a layer has let go of the key. */
  #cleaned(versions: KeyVersions): void {
    if (versions.isDirty || versions.cached !== undefined) return;
    this.#keys.delete(versions.mapKey);
    if (this.#last === versions) this.#last = undefined;
  }

  /** Dirty entries with `from <= mapKey < before`, in byte order, as the view sees them. */
  #pin(from: string, before: string, view: StoreView): PinnedEntries {
    const newestOf =
      view === 'open'
        ? ({ open, committing, committed, flushing }: KeyVersions) =>
            firstDefined(firstDefined(open, committing), firstDefined(committed, flushing))
        : ({ committed, flushing }: KeyVersions) => firstDefined(committed, flushing);
    const lists = view === 'open' ? [this.#open, this.#committing, this.#committed, this.#flushing] : [this.#committed, this.#flushing];
    const pinned = new Map<string, Uint8Array | null>();
    for (const list of lists) {
      for (const versions of list) {
        const { mapKey } = versions;
        if (mapKey < from || mapKey >= before || pinned.has(mapKey)) continue;
        const value = newestOf(versions);
        if (value !== undefined) pinned.set(mapKey, value);
      }
    }
    return [...pinned].toSorted(([left], [right]) => (left < right ? -1 : 1));
  }

  #boundInDatabase(physicalKey: Uint8Array): Uint8Array {
    return Uint8Array.from(this.#databaseKey.ofBytes(physicalKey));
  }
}

function sliceOf(overlay: ReadonlyMap<string, Uint8Array | null>, from: string, before: string): PinnedEntries {
  const slice: [string, Uint8Array | null][] = [];
  for (const [mapKey, value] of overlay) {
    if (mapKey >= from && mapKey < before) slice.push([mapKey, value]);
  }
  return slice.toSorted(([left], [right]) => (left < right ? -1 : 1));
}

function firstDefined<T>(first: T | undefined, second: T | undefined): T | undefined {
  return first !== undefined ? first : second;
}

function write(batch: EngineBatch, key: Uint8Array, value: Uint8Array | null): void {
  if (value === null) batch.delete(key);
  else batch.put(key, value);
}
