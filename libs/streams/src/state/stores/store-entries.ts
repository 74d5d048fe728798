import type { EntryAccess, EntryReader } from '../ordered/entry-access.js';

/** The entries of one store, for reading: the committed ones for queries, or those that a record's scope sees. */
export interface ReadableEntries extends EntryReader {
  /** Entries of the store's data with `from <= physical key <= to`, in byte order, as they are at the call; all without bounds. */
  entriesBetween(from: Uint8Array | undefined, to: Uint8Array | undefined): AsyncIterable<readonly [Uint8Array, Uint8Array]>;
}

/** The entries of one store as a record's scope sees and writes them. */
export interface ScopedEntries extends ReadableEntries, EntryAccess {
  /** Of the record in hand, in milliseconds since the epoch. */
  readonly timestampMs: number;
  /**
   * Runs a change that writes several entries, or an entry that several keys share. Kept by the scope: when one of the record's readers is
   * rolled back, the changes of the others are made again without it. So it must depend on nothing but the entries and its own arguments.
   */
  change(write: () => void): void;
}
