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
import { type DirtyEntry, KeyVersions, entryBytes, entryOverheadBytes } from './key-versions.js';
import { mergedRange, mergePinned } from './layered-range.js';
import type { PinnedEntries } from './layered-range.js';
import { dataKind, mapKeyOf, reservedKey, storePrefix } from './layout.js';
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
  readonly overlay?: ReadonlyMap<string, DirtyEntry> | undefined;
}

const firstDataMapKey = String.fromCharCode(dataKind);
const afterDataMapKey = String.fromCharCode(dataKind + 1);

/** Larger buffers are not slices of Node's shared pool. */
const pooledBytesMax = 4096;

export class LayeredStore implements CachedEntries {
  readonly name: string;
  readonly definition: StoredDefinition;
  readonly #database: StoreDatabase;
  readonly #cache: ReadCache;
  readonly #bytes: LayerBytes;
  readonly #prefixBytes: number;
  #databaseKey: Buffer;
  readonly #keys = new Map<string, KeyVersions>();
  /** The key asked for last: most are read and then written. */
  #last: KeyVersions | undefined;
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
    this.#databaseKey = Buffer.alloc(prefix.byteLength + 256);
    this.#databaseKey.set(prefix);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * The stored value as the open epoch sees it, `undefined` where there is none. Must not be modified.
   * @param mapKey `mapKeyOf(key)`; a caller that asks more than once computes it once.
   * @param key physical key.
   */
  get(mapKey: string, key: Uint8Array): Uint8Array | undefined {
    const versions = this.#find(mapKey);
    if (versions !== undefined) {
      const written = versions.open !== undefined ? versions.open : versions.committing;
      if (written !== undefined) return written ?? undefined;
    }
    return this.#committedValue(versions, mapKey, key);
  }

  /** The stored value that the last confirmed epoch left, `undefined` where there is none. Must not be modified. */
  getCommitted(mapKey: string, key: Uint8Array): Uint8Array | undefined {
    return this.#committedValue(this.#find(mapKey), mapKey, key);
  }

  /** Writes into the open epoch. The entry's bytes are kept, not copied. */
  put(mapKey: string, entry: DirtyEntry): void {
    if (this.#closed) throw stateClosedError(`store ${this.name}`);
    const versions = this.#find(mapKey) ?? this.#add(mapKey);
    const { open } = versions;
    this.#bytes.open += entryBytes(entry.key, entry.value);
    // The newest array of the key is kept: an older one may keep alive more than itself.
    if (open === undefined) {
      versions.key = entry.key;
      this.#open.push(versions);
    } else this.#bytes.open -= entryBytes(entry.key, open);
    versions.open = entry.value;
  }

  /** What Tally itself keeps for this store under a name, as the open epoch sees it. */
  getReserved(name: string): Uint8Array | undefined {
    const key = reservedKey(name);
    return this.get(mapKeyOf(key), key);
  }

  /** Writes what Tally itself keeps; it is dirty, changelogged and committed as all entries are. `null` deletes. */
  putReserved(name: string, value: Uint8Array | null): void {
    const key = reservedKey(name);
    this.put(mapKeyOf(key), { key, value });
  }

  /**
   * The application's entries as [physical key, stored value] in byte order, as they are at the call whatever is written, committed or
   * flushed later. Iterate to the end or call `return`: until then it holds a snapshot of the database.
   */
  range(bounds: RangeBounds): AsyncIterableIterator<readonly [Uint8Array, Uint8Array]> {
    if (this.#closed) throw stateClosedError(`store ${this.name}`);
    const from = bounds.from === undefined ? firstDataMapKey : mapKeyOf(bounds.from);
    // The smallest key after an inclusive bound is that bound with a zero byte behind it.
    const before = bounds.to === undefined ? afterDataMapKey : `${mapKeyOf(bounds.to)}\u0000`;
    const snapshot = this.#database.range({ gte: this.#boundInDatabase(from), lt: this.#boundInDatabase(before) });
    const slices = [this.#pin(from, before, bounds.view)];
    if (bounds.overlay !== undefined) slices.push(sliceOf(bounds.overlay, from, before));
    return mergedRange(mergePinned(slices), snapshot, this.#prefixBytes, this);
  }

  /** Number of dirty entries of the committing epoch. */
  get committingCount(): number {
    return this.#committing.length;
  }

  /** Entries of the committing epoch: what its changelog records say. */
  *committingEntries(): IterableIterator<DirtyEntry> {
    for (const { key, committing } of this.#committing) {
      if (key !== undefined && committing !== undefined) yield { key, value: committing };
    }
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
      const { key, committing, committed } = versions;
      if (key === undefined || committing === undefined) continue;
      this.#committedBytes += entryBytes(key, committing);
      if (committed === undefined) this.#committed.push(versions);
      else this.#committedBytes -= entryBytes(key, committed);
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

  startFlush(): IterableIterator<DirtyEntry> {
    assert(this.#flushing.length === 0, `store ${this.name} is being flushed already`);
    for (const versions of this.#committed) {
      versions.flushing = versions.committed;
      versions.committed = undefined;
    }
    this.#flushing = this.#committed;
    this.#flushingBytes = this.#committedBytes;
    this.#committed = [];
    this.#committedBytes = 0;
    return this.#flushingEntries();
  }

  /** The batch has been written: takes its values into the cache, and yields the number of them after every `entriesPerStep`. */
  *cacheFlushed(entriesPerStep: number): IterableIterator<number> {
    let inStep = 0;
    for (const versions of this.#flushing) {
      const { flushing } = versions;
      versions.flushing = undefined;
      this.#dropFromCache(versions);
      if (flushing !== null && flushing !== undefined) this.#keepInCache(versions, flushing);
      this.#cleaned(versions);
      if (++inStep < entriesPerStep) continue;
      yield inStep;
      inStep = 0;
    }
  }

  /** @returns bytes that the flushed layer held. */
  finishFlush(): number {
    const bytes = this.#flushingBytes;
    this.#flushing = [];
    this.#flushingBytes = 0;
    return bytes;
  }

  /** Adds one entry to a batch on the database. */
  write(batch: EngineBatch, entry: DirtyEntry): void {
    const key = this.#keyInDatabase(entry.key);
    if (entry.value === null) batch.delete(key);
    else batch.put(key, entry.value);
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
        freed += cachedBytes(versions.mapKey, versions.cached);
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
    if (!this.#cache.reserve(cachedBytes(versions.mapKey, value))) return;
    versions.cached = ownCopy(value);
    versions.wasRead = false;
  }

  #dropFromCache(versions: KeyVersions): void {
    if (versions.cached === undefined) return;
    this.#cache.release(cachedBytes(versions.mapKey, versions.cached));
    versions.cached = undefined;
  }

  // ---- versions --------------------------------------------------------------------------------------------------------------------

  #find(mapKey: string): KeyVersions | undefined {
    const last = this.#last;
    if (last !== undefined && last.mapKey === mapKey) return last;
    const versions = this.#keys.get(mapKey);
    if (versions !== undefined) this.#last = versions;
    return versions;
  }

  #add(mapKey: string): KeyVersions {
    const versions = new KeyVersions(mapKey);
    this.#keys.set(mapKey, versions);
    this.#last = versions;
    return versions;
  }

  #committedValue(versions: KeyVersions | undefined, mapKey: string, key: Uint8Array): Uint8Array | undefined {
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
    const stored = this.#database.getSync(this.#keyInDatabase(key));
    if (stored !== undefined && this.#cache.reserve(cachedBytes(mapKey, stored))) {
      // Looked up again: making room may have dropped the key that was found.
      (this.#find(mapKey) ?? this.#add(mapKey)).cached = ownCopy(stored);
    }
    return stored;
  }

  /** Called when a layer has let go of the key. */
  #cleaned(versions: KeyVersions): void {
    if (versions.isDirty) return;
    versions.key = undefined;
    if (versions.cached !== undefined) return;
    this.#keys.delete(versions.mapKey);
    if (this.#last === versions) this.#last = undefined;
  }

  *#flushingEntries(): IterableIterator<DirtyEntry> {
    for (const { key, flushing } of this.#flushing) {
      if (key !== undefined && flushing !== undefined) yield { key, value: flushing };
    }
  }

  /** Dirty entries with `from <= mapKey < before`, in byte order, as the view sees them. */
  #pin(from: string, before: string, view: StoreView): PinnedEntries {
    const newestOf =
      view === 'open'
        ? ({ open, committing, committed, flushing }: KeyVersions) =>
            firstDefined(firstDefined(open, committing), firstDefined(committed, flushing))
        : ({ committed, flushing }: KeyVersions) => firstDefined(committed, flushing);
    const lists = view === 'open' ? [this.#open, this.#committing, this.#committed, this.#flushing] : [this.#committed, this.#flushing];
    const pinned = new Map<string, DirtyEntry>();
    for (const list of lists) {
      for (const versions of list) {
        const { mapKey, key } = versions;
        if (mapKey < from || mapKey >= before || key === undefined || pinned.has(mapKey)) continue;
        const value = newestOf(versions);
        if (value !== undefined) pinned.set(mapKey, { key, value });
      }
    }
    return [...pinned].toSorted(([left], [right]) => (left < right ? -1 : 1));
  }

  /** The key with the store's prefix, in an array that the next call overwrites: engines copy what they are given. */
  #keyInDatabase(key: Uint8Array): Uint8Array {
    const length = this.#prefixBytes + key.byteLength;
    if (length > this.#databaseKey.byteLength) {
      const larger = Buffer.alloc(length * 2);
      larger.set(this.#databaseKey.subarray(0, this.#prefixBytes));
      this.#databaseKey = larger;
    }
    this.#databaseKey.set(key, this.#prefixBytes);
    return this.#databaseKey.subarray(0, length);
  }

  #boundInDatabase(mapKey: string): Uint8Array {
    return Uint8Array.from(this.#keyInDatabase(Buffer.from(mapKey, 'latin1')));
  }
}

function sliceOf(overlay: ReadonlyMap<string, DirtyEntry>, from: string, before: string): PinnedEntries {
  const slice: [string, DirtyEntry][] = [];
  for (const [mapKey, entry] of overlay) {
    if (mapKey >= from && mapKey < before) slice.push([mapKey, entry]);
  }
  return slice.toSorted(([left], [right]) => (left < right ? -1 : 1));
}

function firstDefined<T>(first: T | undefined, second: T | undefined): T | undefined {
  return first !== undefined ? first : second;
}

function cachedBytes(mapKey: string, value: Uint8Array): number {
  return entryOverheadBytes + mapKey.length + value.byteLength;
}

/** A small value is usually a slice of a pool that short-lived values share: a cached slice would keep the whole of it alive. */
function ownCopy(value: Uint8Array): Uint8Array {
  if (value.byteLength >= pooledBytesMax) return value;
  const copy = Buffer.allocUnsafe(value.byteLength);
  copy.set(value);
  return copy;
}
