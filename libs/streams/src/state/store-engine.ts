/** The store engine port: a sorted map of bytes to bytes with synchronous point reads and atomic, synced batches. */

export interface StoreEngine {
  /**
   * Opens or creates the database in the directory and takes its lock.
   * @throws TallyError code `STATE_LOCKED` when another process has it, `STATE_UNWRITABLE` when the directory cannot be written,
   * `STATE_DISK_FULL`, `STATE_CORRUPT`.
   */
  open(directory: string): Promise<StoreDatabase>;
  /** Deletes the database in the directory, if there is one. It is not open. */
  destroy(directory: string): Promise<void>;
}

export interface EngineRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
  readonly reverse?: boolean;
  readonly limit?: number;
}

/** A batch in the making: filled step by step, so that a large one need not block the event loop. */
export interface EngineBatch {
  /** Key and value are copied at the call: the caller may reuse their arrays. */
  put(key: Uint8Array, value: Uint8Array): void;
  delete(key: Uint8Array): void;
  readonly length: number;
  /** Writes all of it or nothing, and resolves once it is on stable storage. */
  write(): Promise<void>;
  /** Drops it unwritten. */
  close(): Promise<void>;
}

export interface StoreDatabase {
  /** The value, or `undefined`. */
  getSync(key: Uint8Array): Uint8Array | undefined;
  /** Entries of a snapshot taken at the call, in byte order. */
  range(range: EngineRange): AsyncIterable<readonly [Uint8Array, Uint8Array]>;
  batch(): EngineBatch;
  /** Deletes all entries of the range; not atomic. */
  clear(range: { readonly gte: Uint8Array; readonly lt: Uint8Array }): Promise<void>;
  /** Bytes of the range on the disk, where the database knows; what is still in its write buffer does not count. */
  approximateBytes?(range: { readonly gte: Uint8Array; readonly lt: Uint8Array }): Promise<number>;
  /** Waits for writes in flight; idempotent. */
  close(): Promise<void>;
}
