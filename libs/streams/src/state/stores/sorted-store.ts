/**
 * Sorted stores: one ordered tree for the whole store.
 *
 *   tree at 0x01:  serializedKey -> bareValue     (key-value-codec.ts)
 */
import type { SortedStore } from '../../topology/sorted-store.js';
import type { KeyValueCodec } from '../key-value-codec.js';
import { firstDataMapKey, mapKeyOf } from '../map-key.js';
import { OrderedTree, OrderedTreeReader, type TreeEntry } from '../ordered/ordered-tree.js';
import type { ReadableEntries, ScopedEntries } from './store-entries.js';

const address = firstDataMapKey;

export class SortedStoreReader<K, V> {
  constructor(
    protected readonly codec: KeyValueCodec<K, V>,
    private readonly reader: ReadableEntries,
  ) {}

  get(key: K): V | undefined {
    const stored = this.tree.get(this.codec.serializeKey(key));
    return stored === undefined ? undefined : this.codec.readBareValue(stored);
  }

  first(): readonly [K, V] | undefined {
    return this.decoded(this.tree.first());
  }

  last(): readonly [K, V] | undefined {
    return this.decoded(this.tree.last());
  }

  floor(key: K): readonly [K, V] | undefined {
    return this.decoded(this.tree.floor(this.codec.serializeKey(key)));
  }

  range(from?: K, to?: K, countMax = Number.POSITIVE_INFINITY): readonly (readonly [K, V])[] {
    const { codec } = this;
    const bounds = [from, to].map((bound) => (bound === undefined ? undefined : codec.serializeKey(bound)));
    return listed(codec, this.tree, bounds[0], bounds[1], countMax);
  }

  async *all(): AsyncGenerator<readonly [K, V], void> {
    const nodes = new Map<string, Uint8Array>();
    for await (const [key, node] of this.reader.entriesBetween(undefined, undefined)) nodes.set(mapKeyOf(key), node);
    const tree = new OrderedTreeReader({ getEntry: (mapKey) => nodes.get(mapKey) }, address);
    yield* listed(this.codec, tree, undefined, undefined, Number.POSITIVE_INFINITY);
  }

  private get tree(): OrderedTreeReader {
    return new OrderedTreeReader(this.reader, address);
  }

  private decoded(entry: TreeEntry | undefined): readonly [K, V] | undefined {
    return entry === undefined ? undefined : [this.codec.deserializeKey(entry.key), this.codec.readBareValue(entry.value)];
  }
}

function listed<K, V>(
  codec: KeyValueCodec<K, V>,
  tree: OrderedTreeReader,
  from: Uint8Array | undefined,
  to: Uint8Array | undefined,
  countMax: number,
): (readonly [K, V])[] {
  const list: (readonly [K, V])[] = [];
  if (countMax <= 0) return list;
  tree.scan(from, to, (leaf, keyStart, valueStart, valueEnd) => {
    list.push([codec.deserializeKey(leaf.subarray(keyStart, valueStart)), codec.readBareValue(leaf.subarray(valueStart, valueEnd))]);
    return list.length < countMax;
  });
  return list;
}

export class ScopedSortedStore<K, V> extends SortedStoreReader<K, V> implements SortedStore<K, V> {
  constructor(
    codec: KeyValueCodec<K, V>,
    private readonly entries: ScopedEntries,
  ) {
    super(codec, entries);
  }

  put(key: K, value: V): void {
    const stored = this.codec.encodeBareValue(value);
    if (stored === null) {
      this.delete(key);
      return;
    }
    const serializedKey = this.codec.serializeKey(key);
    this.entries.change(() => void new OrderedTree(this.entries, address).put(serializedKey, stored));
  }

  delete(key: K): boolean {
    const serializedKey = this.codec.serializeKey(key);
    let found = false;
    this.entries.change(() => {
      const tree = new OrderedTree(this.entries, address);
      found = tree.remove(serializedKey);
      if (found && tree.first() === undefined) tree.removeEmpty();
    });
    return found;
  }
}
