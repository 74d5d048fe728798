import { expect } from 'vitest';
import { mapKeyOf } from '../layout.js';
import type { EntryAccess } from './entry-access.js';

/** Entries in a map, for tests of what is built on them. Counts what is done, and refuses a map key that is not its key's. */
export class MapEntries implements EntryAccess {
  reads = 0;
  writes = 0;
  private readonly entries = new Map<string, Uint8Array>();

  get size(): number {
    return this.entries.size;
  }

  values(): IterableIterator<Uint8Array> {
    return this.entries.values();
  }

  getEntry(mapKey: string, key: Uint8Array): Uint8Array | undefined {
    checkMapKey(mapKey, key);
    this.reads++;
    return this.entries.get(mapKey);
  }

  putEntry(mapKey: string, key: Uint8Array, value: Uint8Array | null): void {
    checkMapKey(mapKey, key);
    this.writes++;
    if (value === null) this.entries.delete(mapKey);
    else this.entries.set(mapKey, value);
  }
}

function checkMapKey(mapKey: string, key: Uint8Array): void {
  // eslint-disable-next-line vitest/no-standalone-expect
  if (mapKey !== mapKeyOf(key)) expect(mapKey).toBe(mapKeyOf(key));
}
