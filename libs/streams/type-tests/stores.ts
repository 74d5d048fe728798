/** What contexts and queries give for handles of every kind, and what the compiler must refuse. Compiled, never run. */
import {
  int64,
  json,
  keyValueStore,
  nullable,
  sessionStore,
  sortedStore,
  string,
  timeOrdered,
  versionedStore,
  windowStore,
  type AnyStoreDefinition,
  type KeyValueStore,
  type ProcessorContext,
  type QueriesOf,
  type QueryableSessionStore,
  type QueryableSortedStore,
  type QueryableStore,
  type QueryableVersionedStore,
  type QueryableWindowStore,
  type SessionEntry,
  type SessionStore,
  type SortedStore,
  type StoreOf,
  type StreamsBuilder,
  type StreamsWorker,
  type TimeOrdered,
  type VersionedRecord,
  type VersionedStore,
  type Windowed,
  type WindowEntry,
  type WindowStore,
  topic,
} from '@tally/streams';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>(): void => undefined;

const counts = keyValueStore('counts', { key: string(), value: int64(), ttlMs: 1000 });
const windows = windowStore('windows', { key: string(), value: int64(), retentionMs: 60_000, windowSizeMs: 1000 });
const sessions = sessionStore('sessions', { key: string(), value: int64(), retentionMs: 60_000 });
const versions = versionedStore('versions', { key: string(), value: int64(), historyRetentionMs: 60_000 });
const queue = sortedStore('queue', { key: timeOrdered(string()), value: int64() });

is<Equal<StoreOf<typeof counts>, KeyValueStore<string, bigint>>>();
is<Equal<StoreOf<typeof windows>, WindowStore<string, bigint>>>();
is<Equal<StoreOf<typeof sessions>, SessionStore<string, bigint>>>();
is<Equal<StoreOf<typeof versions>, VersionedStore<string, bigint>>>();
is<Equal<StoreOf<typeof queue>, SortedStore<TimeOrdered<string>, bigint>>>();

is<Equal<QueriesOf<typeof counts>, QueryableStore<string, bigint>>>();
is<Equal<QueriesOf<typeof windows>, QueryableWindowStore<string, bigint>>>();
is<Equal<QueriesOf<typeof sessions>, QueryableSessionStore<string, bigint>>>();
is<Equal<QueriesOf<typeof versions>, QueryableVersionedStore<string, bigint>>>();
is<Equal<QueriesOf<typeof queue>, QueryableSortedStore<TimeOrdered<string>, bigint>>>();

export function stores(context: ProcessorContext): void {
  const window = context.store(windows);
  is<Equal<typeof window, WindowStore<string, bigint>>>();
  const fetched = window.fetch('a', 0, 1);
  is<Equal<typeof fetched, readonly WindowEntry<bigint>[]>>();
  const wasPut = window.put('a', 1n, 0);
  is<Equal<typeof wasPut, boolean>>();
  // @ts-expect-error the store holds bigint
  window.put('a', 1, 0);
  // @ts-expect-error a window has a start
  window.get('a');

  const session = context.store(sessions);
  const found = session.findSessions('a', 0, 1);
  is<Equal<typeof found, readonly SessionEntry<bigint>[]>>();
  for (const each of found) session.remove('a', each);
  session.put('a', { startMs: 0, endMs: 1 }, 1n);
  // @ts-expect-error a session has two ends
  session.put('a', { startMs: 0 }, 1n);

  const versioned = context.store(versions);
  const asOf = versioned.getAsOf('a', 5);
  is<Equal<typeof asOf, VersionedRecord<bigint> | undefined>>();
  const validToMs = versioned.put('a', null, 5);
  is<Equal<typeof validToMs, number | undefined>>();
  // @ts-expect-error a version has a time
  versioned.put('a', 1n);

  const sorted = context.store(queue);
  const first = sorted.first();
  is<Equal<typeof first, readonly [TimeOrdered<string>, bigint] | undefined>>();
  // @ts-expect-error the key has a time
  sorted.put('a', 1n);
}

/** Generic operators open a store of their types without a cast. */
export function generic<K, A>(
  context: ProcessorContext<K, A>,
  handle: ReturnType<typeof windowStore<K, A>>,
  key: K,
  value: A,
): readonly WindowEntry<A>[] {
  const store = context.store(handle);
  store.put(key, value, 0);
  return store.fetch(key, 0, 1);
}

export async function queries(worker: StreamsWorker): Promise<void> {
  const fetched = await worker.query(windows).fetch('a', 0, 1);
  is<Equal<typeof fetched, readonly WindowEntry<bigint>[]>>();
  for await (const [key, value] of worker.query(sessions).all()) {
    is<Equal<typeof key, Windowed<string>>>();
    is<Equal<typeof value, bigint>>();
  }
  // @ts-expect-error queries read only
  const put: keyof QueriesOf<typeof versions> = 'put';
  void put;
  worker.editStore(versions, 0, (store) => store.put('a', 1n, 0));
}

export function processes(streams: StreamsBuilder): void {
  streams.stream(topic('amounts', { key: string(), value: int64() })).process({
    stores: { windows, queue },
    process({ key, value, timestampMs }, { stores: { windows: own, queue: due } }) {
      own.put(key, value, timestampMs);
      due.put({ timeMs: timestampMs, key }, value);
      // @ts-expect-error no such method of a window store
      const find: keyof typeof own = 'findSessions';
      void find;
    },
  });
}

// @ts-expect-error retention has no default
windowStore('windows', { key: string(), value: int64() });
// @ts-expect-error the value that is migrated to is a bigint
versionedStore('versions', { key: string(), value: int64(), historyRetentionMs: 1, migrate: () => 'a' });
// @ts-expect-error a window store's entries have their own retention
windowStore('windows', { key: string(), value: int64(), retentionMs: 1, ttlMs: 1 });

// Handles of every kind fit where kinds do not matter.
export const everyStore: readonly AnyStoreDefinition[] = [counts, windows, sessions, versions, queue];
export const nullableKey = timeOrdered(nullable(string()));
export const anyValue: AnyStoreDefinition = sessionStore('other', { key: int64(), value: json<{ a: string }>(), retentionMs: 1 });
