/**
 * The bound on what all stores of a task keep of the database in memory.
 *
 * "Least recently used" is approximated by second chances (Corbató, A Paging Experiment with the Multics System, 1968): a hand goes round
 * the entries, spares those that were read since it last came by, and drops the others. It moves a bounded number of entries each time,
 * so what finds no room at once is not cached.
 */

/** A store's cached entries, as the bound sees them. */
export interface CachedEntries {
  /** Moves the hand until so many bytes are freed, over up to `stepsMax` entries. @returns bytes that were freed. */
  evict(bytes: number, stepsMax: number): number;
  /** Drops all. */
  dropCached(): void;
}

const stepsMax = 64;

export class ReadCache {
  #bytesMax: number;
  readonly #stores: CachedEntries[] = [];
  #turn = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  set bytesMax(bytesMax: number) {
    this.#bytesMax = bytesMax;
    if (this.#bytes > bytesMax) this.clear();
  }

  add(store: CachedEntries): void {
    this.#stores.push(store);
  }

  clear(): void {
    for (const store of this.#stores) store.dropCached();
    this.#bytes = 0;
  }

  /** Whether the bytes may be cached; room has been made for them then, and they are counted. */
  reserve(bytes: number): boolean {
    if (bytes * 2 > this.#bytesMax) return false;
    // One round: each store is asked once.
    for (let asked = 0; asked < this.#stores.length && this.#bytes + bytes > this.#bytesMax; asked++) {
      const store = this.#stores[this.#turn];
      this.#turn = (this.#turn + 1) % this.#stores.length;
      if (store !== undefined) this.#bytes -= store.evict(this.#bytes + bytes - this.#bytesMax, stepsMax);
    }
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}
