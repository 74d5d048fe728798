/**
 * Versioned stores. Each key has an ordered tree (key-trees.ts) of
 *
 *   timestampMs:sortableTime -> version
 *   version := 0x00 | 0x01 bareValue | 0x02 bareValue     (key-value-codec.ts)
 *
 * 0x00 is a deletion. 0x02 is a value at whose time the version before it ended: where such a value is the latest one and is deleted at its
 * very time, the deletion stays as the end of that version; a value with nothing to end (0x01) leaves no trace then. Kafka Streams shows the
 * same, because it keeps the latest values and the history apart.
 *
 * What may expire, versions before the latest one and deletions, has its key in the index of expiry.
 */
import { equalBytes } from '../../core/bytes.js';
import { readTime, sortableTime } from '../../core/sortable.js';
import type { VersionedRecord, VersionedStore, VersionedStoreDefinition } from '../../topology/versioned-store.js';
import type { KeyValueCodec } from '../key-value-codec.js';
import { OrderedTree, OrderedTreeReader, type TreeEntry } from '../ordered/ordered-tree.js';
import { checkTime } from './check-time.js';
import { expectExpiry, expireDue } from './expiry.js';
import { type KeyPlace, KeyPlaces, keyTrees, placeOf } from './key-trees.js';
import { historySegmentMsOf } from './retention.js';
import type { ReadableEntries, ScopedEntries } from './store-entries.js';
import { readObservedMs, StoreTime } from './store-time.js';

const deletionTag = 0x00;
const valueTag = 0x01;
const endingTag = 0x02;
const deletion = Uint8Array.of(deletionTag);

/** Nodes of a key that one write removes at most. */
const leavesPerKey = 8;

/** What all scopes of a task share. */
export class VersionedStoreShape<K, V> {
  readonly retentionMs: number;
  readonly segmentMs: number;
  readonly places: KeyPlaces<K>;

  constructor(
    readonly definition: Pick<VersionedStoreDefinition<K, V>, 'name' | 'historyRetentionMs'>,
    readonly codec: KeyValueCodec<K, V>,
  ) {
    this.retentionMs = definition.historyRetentionMs;
    this.segmentMs = historySegmentMsOf(this.retentionMs);
    this.places = new KeyPlaces(codec);
  }

  isExpired(timestampMs: number, observedMs: number): boolean {
    return timestampMs < observedMs - this.retentionMs;
  }

  /** Versions that ended before are gone: whole segments of them. */
  keptFromMs(observedMs: number): number {
    return Math.trunc((observedMs - this.retentionMs) / this.segmentMs) * this.segmentMs;
  }

  /** When a key that has something to expire is looked at: what has ended by now is gone then. */
  get firstLookMs(): number {
    return this.retentionMs + this.segmentMs;
  }

  /** When a key is looked at again. */
  get nextLookMs(): number {
    return Math.max(this.segmentMs, Math.ceil(this.retentionMs / 4));
  }
}

export class VersionedStoreReader<K, V> {
  constructor(
    protected readonly shape: VersionedStoreShape<K, V>,
    private readonly reader: ReadableEntries,
  ) {}

  get observedTimeMs(): number {
    return readObservedMs(this.reader);
  }

  get(key: K): VersionedRecord<V> | undefined {
    return this.recordOf(this.treeOf(key).last(), Number.POSITIVE_INFINITY);
  }

  getAsOf(key: K, timestampMs: number): VersionedRecord<V> | undefined {
    const tree = this.treeOf(key);
    const asOfMs = Math.max(Math.min(timestampMs, Number.MAX_SAFE_INTEGER), Number.MIN_SAFE_INTEGER);
    if (this.shape.isExpired(asOfMs, this.observedTimeMs)) {
      const last = tree.last();
      return last !== undefined && timeOf(last) <= asOfMs ? this.recordOf(last, Number.POSITIVE_INFINITY) : undefined;
    }
    const found = tree.floor(sortableTime(asOfMs));
    return found === undefined ? undefined : this.recordOf(found, timeAfter(tree, found.key));
  }

  history(key: K): readonly VersionedRecord<V>[] {
    const keptFromMs = this.shape.keptFromMs(this.observedTimeMs);
    const records: VersionedRecord<V>[] = [];
    let last: TreeEntry | undefined;
    const add = (validToMs: number): void => {
      const record = validToMs < keptFromMs ? undefined : this.recordOf(last, validToMs);
      if (record !== undefined) records.push(record);
    };
    this.treeOf(key).scan(undefined, undefined, (leaf, keyStart, valueStart, valueEnd) => {
      add(readTime(leaf, keyStart));
      last = { key: leaf.subarray(keyStart, valueStart), value: leaf.subarray(valueStart, valueEnd) };
    });
    add(Number.POSITIVE_INFINITY);
    return records;
  }

  async *all(): AsyncGenerator<readonly [K, VersionedRecord<V>], void> {
    for await (const { serializedKey, tree } of keyTrees(this.reader.entriesBetween(undefined, undefined))) {
      const record = this.recordOf(tree.last(), Number.POSITIVE_INFINITY);
      if (record !== undefined) yield [this.shape.codec.deserializeKey(serializedKey), record];
    }
  }

  private treeOf(key: K): OrderedTreeReader {
    return new OrderedTreeReader(this.reader, this.shape.places.of(key).address);
  }

  private recordOf(entry: TreeEntry | undefined, validToMs: number): VersionedRecord<V> | undefined {
    if (entry === undefined || isDeletion(entry)) return undefined;
    return { value: this.shape.codec.readBareValue(entry.value.subarray(1)), timestampMs: timeOf(entry), validToMs };
  }
}

export class ScopedVersionedStore<K, V> extends VersionedStoreReader<K, V> implements VersionedStore<K, V> {
  constructor(
    shape: VersionedStoreShape<K, V>,
    private readonly entries: ScopedEntries,
  ) {
    super(shape, entries);
  }

  put(key: K, value: V | null, timestampMs: number): number | undefined {
    const { shape, entries } = this;
    const place = shape.places.of(key);
    checkTime(shape.definition.name, timestampMs);
    if (shape.isExpired(timestampMs, this.observedTimeMs)) return undefined;
    const version = value === null ? null : shape.codec.encodeBareValue(value, 1);
    if (version !== null) version[0] = valueTag;
    let validToMs = Number.POSITIVE_INFINITY;
    entries.change(() => {
      validToMs = this.change(place, timestampMs, version ?? deletion);
    });
    return validToMs;
  }

  delete(key: K, timestampMs: number): VersionedRecord<V> | undefined {
    const existing = this.getAsOf(key, timestampMs);
    return this.put(key, null, timestampMs) === undefined ? undefined : existing;
  }

  private change({ serializedKey, address }: KeyPlace, timestampMs: number, version: Uint8Array): number {
    const { entries, shape } = this;
    const time = new StoreTime(entries);
    time.observe(timestampMs);
    const tree = new OrderedTree(entries, address);
    const wasExpected = mayExpire(tree);
    const validToMs = putVersion(tree, timestampMs, version);
    if (!wasExpected && mayExpire(tree)) expectExpiry(entries, time, shape.firstLookMs, serializedKey);
    expireDue(entries, time, (key) => expire(entries, shape, key, time.observedMs));
    time.save(entries);
    return validToMs;
  }
}

/** @returns until when the version is valid. */
function putVersion(tree: OrderedTree, timestampMs: number, version: Uint8Array): number {
  const key = sortableTime(timestampMs);
  const last = tree.last();
  if (last !== undefined && timeOf(last) > timestampMs) {
    const validToMs = timeAfter(tree, key);
    tree.put(key, version);
    if (validToMs === timeOf(last) && last.value[0] === valueTag) tree.put(last.key, tagged(last.value, endingTag));
    return validToMs;
  }
  const isSameTime = last !== undefined && timeOf(last) === timestampMs;
  if (version[0] !== deletionTag) {
    const endsAnother = last !== undefined && (isSameTime ? last.value[0] !== valueTag : !isDeletion(last));
    tree.put(key, endsAnother ? tagged(version, endingTag) : version);
  } else if (isSameTime && last.value[0] === valueTag) {
    tree.remove(key);
    if (tree.first() === undefined) tree.removeEmpty();
  } else {
    tree.put(key, version);
  }
  return Number.POSITIVE_INFINITY;
}

/** Removes what has expired of the key. @returns how much later it is due again. */
function expire(
  entries: ScopedEntries,
  shape: Pick<VersionedStoreShape<unknown, unknown>, 'keptFromMs' | 'nextLookMs'>,
  serializedKey: Uint8Array,
  observedMs: number,
): number | undefined {
  const tree = new OrderedTree(entries, placeOf(serializedKey).address);
  const keptFromMs = shape.keptFromMs(observedMs);
  const before = tree.floor(sortableTime(keptFromMs - 1));
  if (before !== undefined) {
    tree.removeBefore(before.key, leavesPerKey);
    const first = tree.first();
    if (first !== undefined && !equalBytes(first.key, before.key)) return 0;
    if (isDeletion(before)) tree.remove(before.key);
    if (tree.first() === undefined) tree.removeEmpty();
  }
  return mayExpire(tree) ? shape.nextLookMs : undefined;
}

/** There is a version that has ended, or a deletion. */
function mayExpire(tree: OrderedTreeReader): boolean {
  const first = tree.first();
  return first !== undefined && (isDeletion(first) || timeAfter(tree, first.key) !== Number.POSITIVE_INFINITY);
}

/** Time of the first version behind the key; Infinity where there is none. */
function timeAfter(tree: OrderedTreeReader, key: Uint8Array): number {
  let afterMs = Number.POSITIVE_INFINITY;
  tree.scan(key, undefined, (leaf, keyStart, valueStart) => {
    if (equalBytes(leaf.subarray(keyStart, valueStart), key)) return true;
    afterMs = readTime(leaf, keyStart);
    return false;
  });
  return afterMs;
}

function timeOf(entry: TreeEntry): number {
  return readTime(entry.key, 0);
}

function isDeletion(entry: TreeEntry): boolean {
  return entry.value[0] === deletionTag;
}

function tagged(version: Uint8Array, tag: number): Uint8Array {
  const copy = Buffer.from(version);
  copy[0] = tag;
  return copy;
}
