/** Entries of a store by physical key, read and written synchronously: what the structures in this folder are made of. */
export interface EntryReader {
  /** `undefined` where there is none. Must not be modified. @param mapKey `mapKeyOf(key)` */
  getEntry(mapKey: string, key: Uint8Array): Uint8Array | undefined;
}

export interface EntryAccess extends EntryReader {
  /** `null` deletes. The arrays are kept, not copied. */
  putEntry(mapKey: string, key: Uint8Array, value: Uint8Array | null): void;
}
