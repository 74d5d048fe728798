/**
 * Window stores. Each key has an ordered tree (key-trees.ts) of
 *
 *   startMs:sortableTime [number:u32] -> storedValue     (key-value-codec.ts)
 *
 * with a number where duplicates are kept: of those with one key and time, in the order of their puts.
 */
import { readTime, readWord, sortableTime, timeBytes, writeWord } from '../../core/sortable.js';
import type { Windowed } from '../../core/windowed.js';
import type { WindowEntry, WindowStore, WindowStoreDefinition } from '../../topology/window-store.js';
import type { KeyValueCodec } from '../key-value-codec.js';
import { type OrderedTree, OrderedTreeReader } from '../ordered/ordered-tree.js';
import { checkTime } from './check-time.js';
import { KeyPlaces, keyTrees } from './key-trees.js';
import { changeAt } from './retained-trees.js';
import { Retention, segmentMsOf } from './retention.js';
import type { ReadableEntries, ScopedEntries } from './store-entries.js';
import { readObservedMs } from './store-time.js';

const numberMax = 0xffffffff;

/** What all scopes of a task share. */
export class WindowStoreShape<K, V> {
  readonly retention: Retention;
  readonly places: KeyPlaces<K>;

  constructor(
    readonly definition: Pick<WindowStoreDefinition<K, V>, 'name' | 'retentionMs' | 'windowSizeMs' | 'retainDuplicates'>,
    readonly codec: KeyValueCodec<K, V>,
  ) {
    this.retention = new Retention(definition.retentionMs, segmentMsOf(definition.retentionMs));
    this.places = new KeyPlaces(codec);
  }

  treeKey(startMs: number, number: number): Buffer {
    if (!this.definition.retainDuplicates) return sortableTime(startMs);
    const key = sortableTime(startMs, 4);
    writeWord(key, timeBytes, number);
    return key;
  }
}

export class WindowStoreReader<K, V> {
  constructor(
    protected readonly shape: WindowStoreShape<K, V>,
    private readonly reader: ReadableEntries,
  ) {}

  get observedTimeMs(): number {
    return readObservedMs(this.reader);
  }

  get(key: K, startMs: number): V | undefined {
    const stored = this.find(key, startMs);
    return stored === undefined ? undefined : this.shape.codec.readValue(stored);
  }

  getWithTimestamp(key: K, startMs: number): WindowEntry<V> | undefined {
    const stored = this.find(key, startMs);
    return stored === undefined ? undefined : { startMs, ...this.shape.codec.decodeValue(stored) };
  }

  fetch(key: K, fromMs: number, toMs: number): readonly WindowEntry<V>[] {
    const entries: WindowEntry<V>[] = [];
    const { shape, observedTimeMs } = this;
    const tree = new OrderedTreeReader(this.reader, shape.places.of(key).address);
    visitWindows(shape, tree, observedTimeMs, fromMs, toMs, (startMs, stored) =>
      entries.push({ startMs, ...shape.codec.decodeValue(stored) }),
    );
    return entries;
  }

  all(): AsyncIterable<readonly [Windowed<K>, V]> {
    return this.fetchAll(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  async *fetchAll(fromMs: number, toMs: number): AsyncGenerator<readonly [Windowed<K>, V], void> {
    const { shape, observedTimeMs } = this;
    for await (const { serializedKey, tree } of keyTrees(this.reader.entriesBetween(undefined, undefined))) {
      const key = shape.codec.deserializeKey(serializedKey);
      const windows: (readonly [Windowed<K>, V])[] = [];
      visitWindows(shape, tree, observedTimeMs, fromMs, toMs, (startMs, stored) => {
        windows.push([{ key, startMs, endMs: startMs + shape.definition.windowSizeMs }, shape.codec.readValue(stored)]);
      });
      yield* windows;
    }
  }

  private find(key: K, startMs: number): Uint8Array | undefined {
    const { shape } = this;
    const { address } = shape.places.of(key);
    if (startMs < shape.retention.firstVisibleMs(this.observedTimeMs)) return undefined;
    const tree = new OrderedTreeReader(this.reader, address);
    if (!shape.definition.retainDuplicates) return tree.get(sortableTime(startMs));
    const found = tree.floor(shape.treeKey(startMs, numberMax));
    return found !== undefined && readTime(found.key, 0) === startMs ? found.value : undefined;
  }
}

/** Shows the windows that start within the bounds and can still be seen. */
function visitWindows<K, V>(
  shape: WindowStoreShape<K, V>,
  tree: OrderedTreeReader,
  observedMs: number,
  fromMs: number,
  toMs: number,
  visit: (startMs: number, stored: Uint8Array) => void,
): void {
  const first = Math.max(fromMs, shape.retention.firstVisibleMs(observedMs));
  const last = Math.min(toMs, observedMs);
  if (last < first) return;
  tree.scan(shape.treeKey(first, 0), shape.treeKey(last, numberMax), (leaf, keyStart, valueStart, valueEnd) => {
    visit(readTime(leaf, keyStart), leaf.subarray(valueStart, valueEnd));
  });
}

export class ScopedWindowStore<K, V> extends WindowStoreReader<K, V> implements WindowStore<K, V> {
  constructor(
    shape: WindowStoreShape<K, V>,
    private readonly entries: ScopedEntries,
  ) {
    super(shape, entries);
  }

  put(key: K, value: V, startMs: number): boolean {
    return this.putWithTimestamp(key, value, startMs, this.entries.timestampMs);
  }

  putWithTimestamp(key: K, value: V, startMs: number, timestampMs: number): boolean {
    return this.write(key, startMs, this.shape.codec.encodeValue(value, timestampMs));
  }

  delete(key: K, startMs: number): boolean {
    return this.write(key, startMs, null);
  }

  private write(key: K, startMs: number, stored: Uint8Array | null): boolean {
    const { shape, entries } = this;
    const place = shape.places.of(key);
    checkTime(shape.definition.name, startMs);
    return changeAt(entries, shape.retention, place, startMs, (tree, expired) => {
      if (stored !== null) return tree.put(this.newTreeKey(tree, startMs), stored, expired);
      this.remove(tree, startMs);
      return false;
    });
  }

  private newTreeKey(tree: OrderedTree, startMs: number): Uint8Array {
    const { shape } = this;
    if (!shape.definition.retainDuplicates) return sortableTime(startMs);
    const last = tree.floor(shape.treeKey(startMs, numberMax));
    return shape.treeKey(startMs, last !== undefined && readTime(last.key, 0) === startMs ? readWord(last.key, timeBytes) + 1 : 0);
  }

  private remove(tree: OrderedTree, startMs: number): void {
    const { shape } = this;
    if (!shape.definition.retainDuplicates) {
      tree.remove(sortableTime(startMs));
      return;
    }
    const keys: Uint8Array[] = [];
    tree.scan(shape.treeKey(startMs, 0), shape.treeKey(startMs, numberMax), (leaf, keyStart, valueStart) => {
      keys.push(leaf.subarray(keyStart, valueStart));
    });
    for (const key of keys) tree.remove(key);
  }
}
