/** One entry of a store: physical key (without the store's prefix) and stored value, null for a deletion. Neither is ever modified. */
export interface DirtyEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
}

/**
 * What each layer of a store holds of one key: `undefined` is nothing, `null` a deletion. All layers of a key lie in one object, so that a
 * read looks it up once, and an epoch moves down a layer without looking up its keys again.
 */
export class KeyVersions {
  open: Uint8Array | null | undefined = undefined;
  committing: Uint8Array | null | undefined = undefined;
  committed: Uint8Array | null | undefined = undefined;
  flushing: Uint8Array | null | undefined = undefined;
  /** What the database holds, where it was read or written lately. */
  cached: Uint8Array | undefined = undefined;
  /** The cached value was read since the last look at it for eviction. */
  wasRead = false;

  constructor(readonly mapKey: string) {}

  /** A layer holds something that the database may not. */
  get isDirty(): boolean {
    return this.open !== undefined || this.committing !== undefined || this.committed !== undefined || this.flushing !== undefined;
  }
}

/** What an entry costs besides its bytes: map slot, versions, the headers of its map key and of a byte array. An estimate. */
const overheadBytes = 280;

/** What an entry costs in memory, in bytes. */
export function entryBytes(mapKey: string, value: Uint8Array | null): number {
  return overheadBytes + mapKey.length + (value === null ? 0 : value.length);
}
