import type { EntryAccess } from './entry-access.js';

/** Entries in a map, for tests of what is built on them. Counts what is done. */
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

  getEntry(mapKey: string): Uint8Array | undefined {
    this.reads++;
    return this.entries.get(mapKey);
  }

  putEntry(mapKey: string, value: Uint8Array | null): void {
    this.writes++;
    if (value === null) this.entries.delete(mapKey);
    else this.entries.set(mapKey, value);
  }
}
