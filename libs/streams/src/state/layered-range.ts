import { stateClosedError } from './state-errors.js';
import { mapKeyOf, physicalKeyOf } from './map-key.js';

/** Null is a deletion. */
export type PinnedEntries = readonly (readonly [mapKey: string, value: Uint8Array | null])[];

/** Slices of layers, oldest first, as one list in byte order in which the newest entry of each key stands. */
export function mergePinned(oldestFirst: readonly PinnedEntries[]): PinnedEntries {
  const filled = oldestFirst.filter((slice) => slice.length > 0);
  if (filled.length <= 1) return filled[0] ?? [];
  const newest = new Map<string, Uint8Array | null>();
  for (const slice of filled) {
    for (const [mapKey, value] of slice) newest.set(mapKey, value);
  }
  return [...newest].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

/**
 * Merges what was pinned from the layers over a snapshot of the database, both in byte order; a pinned entry hides the database's.
 * Closes the snapshot at the end, at an early `return` (also before the first `next`), and on errors.
 */
export function mergedRange(
  pinned: PinnedEntries,
  snapshot: AsyncIterable<readonly [Uint8Array, Uint8Array]>,
  prefixBytes: number,
  owner: { readonly closed: boolean; readonly name: string },
): AsyncIterableIterator<readonly [Uint8Array, Uint8Array]> {
  const source = snapshot[Symbol.asyncIterator]();
  const closeSource = async (): Promise<void> => {
    await source.return?.();
  };
  const entries = merge(pinned, source, prefixBytes, owner, closeSource);
  return {
    next: () => entries.next(),
    async return() {
      await closeSource();
      return entries.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* merge(
  pinned: PinnedEntries,
  source: AsyncIterator<readonly [Uint8Array, Uint8Array]>,
  prefixBytes: number,
  owner: { readonly closed: boolean; readonly name: string },
  closeSource: () => Promise<void>,
): AsyncGenerator<readonly [Uint8Array, Uint8Array], undefined> {
  let index = 0;
  try {
    for (;;) {
      if (owner.closed) throw stateClosedError(owner.name);
      const result = await source.next();
      const stored = result.done === true ? undefined : result.value;
      const storedKey = stored?.[0].subarray(prefixBytes);
      const storedMapKey = storedKey === undefined ? undefined : mapKeyOf(storedKey);
      for (; index < pinned.length; index++) {
        const [mapKey, value] = pinned[index]!;
        if (storedMapKey !== undefined && mapKey >= storedMapKey) break;
        if (value !== null) yield [physicalKeyOf(mapKey), value];
      }
      if (stored === undefined || storedKey === undefined) return undefined;
      const hidden = index < pinned.length && pinned[index]![0] === storedMapKey;
      if (!hidden) yield [storedKey, stored[1]];
    }
  } finally {
    await closeSource();
  }
}
