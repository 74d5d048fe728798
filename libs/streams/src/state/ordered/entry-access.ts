/** Entries of a store by map key, read and written synchronously: what the structures in this folder are made of. */
export interface EntryReader {
  /** `undefined` where there is none. Must not be modified. @param mapKey `mapKeyOf(physicalKey)` */
  getEntry(mapKey: string): Uint8Array | undefined;
}

export interface EntryAccess extends EntryReader {
  /** `null` deletes. The array is kept, not copied. */
  putEntry(mapKey: string, value: Uint8Array | null): void;
}
