/**
 * Session stores. Each key has an ordered tree (key-trees.ts) of
 *
 *   endMs:sortableTime startMs:sortableTime -> bareValue     (key-value-codec.ts)
 *
 * By their ends, because a session is looked for by that: those that ended before it cannot be joined with it.
 */
import { readTime, sortableTime, timeBytes, writeTime } from '../../core/sortable.js';
import type { Windowed } from '../../core/windowed.js';
import type { SessionBounds, SessionEntry, SessionStore, SessionStoreDefinition } from '../../topology/session-store.js';
import type { KeyValueCodec } from '../key-value-codec.js';
import { OrderedTreeReader } from '../ordered/ordered-tree.js';
import { checkTime } from './check-time.js';
import { KeyPlaces, keyTrees } from './key-trees.js';
import { changeAt } from './retained-trees.js';
import { Retention, segmentMsOf } from './retention.js';
import type { ReadableEntries, ScopedEntries } from './store-entries.js';
import { readObservedMs } from './store-time.js';

/** What all scopes of a task share. */
export class SessionStoreShape<K, V> {
  readonly retention: Retention;
  readonly places: KeyPlaces<K>;

  constructor(
    readonly definition: Pick<SessionStoreDefinition<K, V>, 'name' | 'retentionMs'>,
    readonly codec: KeyValueCodec<K, V>,
  ) {
    this.retention = new Retention(definition.retentionMs, segmentMsOf(definition.retentionMs));
    this.places = new KeyPlaces(codec);
  }
}

export class SessionStoreReader<K, V> {
  constructor(
    protected readonly shape: SessionStoreShape<K, V>,
    private readonly reader: ReadableEntries,
  ) {}

  get observedTimeMs(): number {
    return readObservedMs(this.reader);
  }

  get(key: K, { startMs, endMs }: SessionBounds): V | undefined {
    const { codec, places, retention } = this.shape;
    const { address } = places.of(key);
    if (endMs < retention.firstVisibleMs(this.observedTimeMs)) return undefined;
    const stored = new OrderedTreeReader(this.reader, address).get(treeKey(startMs, endMs));
    return stored === undefined ? undefined : codec.readBareValue(stored);
  }

  fetch(key: K): readonly SessionEntry<V>[] {
    return this.findSessions(key, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  findSessions(key: K, earliestEndMs: number, latestStartMs: number): readonly SessionEntry<V>[] {
    const tree = new OrderedTreeReader(this.reader, this.shape.places.of(key).address);
    return this.sessionsOf(tree, this.observedTimeMs, earliestEndMs, latestStartMs);
  }

  async *all(): AsyncGenerator<readonly [Windowed<K>, V], void> {
    const { codec } = this.shape;
    const { observedTimeMs } = this;
    for await (const { serializedKey, tree } of keyTrees(this.reader.entriesBetween(undefined, undefined))) {
      const sessions = this.sessionsOf(tree, observedTimeMs, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
      const key = codec.deserializeKey(serializedKey);
      for (const { startMs, endMs, value } of sessions) yield [{ key, startMs, endMs }, value];
    }
  }

  private sessionsOf(tree: OrderedTreeReader, observedMs: number, earliestEndMs: number, latestStartMs: number): SessionEntry<V>[] {
    const { codec, retention } = this.shape;
    const sessions: SessionEntry<V>[] = [];
    const first = Math.max(earliestEndMs, retention.firstVisibleMs(observedMs));
    if (first > observedMs) return sessions;
    tree.scan(sortableTime(first), undefined, (leaf, keyStart, valueStart, valueEnd) => {
      const startMs = readTime(leaf, keyStart + timeBytes);
      if (startMs > latestStartMs) return;
      const value = codec.readBareValue(leaf.subarray(valueStart, valueEnd));
      sessions.push({ startMs, endMs: readTime(leaf, keyStart), value });
    });
    return sessions;
  }
}

export class ScopedSessionStore<K, V> extends SessionStoreReader<K, V> implements SessionStore<K, V> {
  constructor(
    shape: SessionStoreShape<K, V>,
    private readonly entries: ScopedEntries,
  ) {
    super(shape, entries);
  }

  put(key: K, session: SessionBounds, value: V): boolean {
    return this.write(key, session, this.shape.codec.encodeBareValue(value));
  }

  takes(endMs: number): boolean {
    return this.shape.retention.isSegmentLive(endMs, Math.max(this.observedTimeMs, endMs));
  }

  remove(key: K, session: SessionBounds): boolean {
    return this.write(key, session, null);
  }

  private write(key: K, { startMs, endMs }: SessionBounds, stored: Uint8Array | null): boolean {
    const { shape, entries } = this;
    const place = shape.places.of(key);
    checkTime(shape.definition.name, startMs);
    checkTime(shape.definition.name, endMs);
    return changeAt(entries, shape.retention, place, endMs, (tree, expired) => {
      if (stored !== null) return tree.put(treeKey(startMs, endMs), stored, expired);
      tree.remove(treeKey(startMs, endMs));
      return false;
    });
  }
}

function treeKey(startMs: number, endMs: number): Buffer {
  const key = sortableTime(endMs, timeBytes);
  writeTime(key, timeBytes, startMs);
  return key;
}
