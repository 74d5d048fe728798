import { rm } from 'node:fs/promises';
import { Level } from 'level';
import { TallyError, errorOf } from '../core/errors.js';
import { stateClosedError, stateCorruptError, stateDiskFullError, stateLockedError, stateUnwritableError } from './state-errors.js';
import type { EngineBatch, EngineRange, StoreDatabase, StoreEngine } from './store-engine.js';

export interface LevelDbEngineOptions {
  /** LevelDB's cache of uncompressed blocks, per database, in bytes. Default 8 MiB. */
  readonly blockCacheBytes?: number;
  /** Size at which LevelDB turns its log into a table, per database, in bytes; held twice at most. Default 8 MiB. */
  readonly writeBufferBytes?: number;
}

// The package's types speak for browsers too, where there is no such method.
const destroyable = Level as unknown as { destroy(directory: string): Promise<void> };

type BytesLevel = Level<Uint8Array, Uint8Array>;

const defaultBlockCacheBytes = 8 * 1024 * 1024;
const defaultWriteBufferBytes = 8 * 1024 * 1024;

/** Entries that an iterator fetches at once. */
const entriesPerFetch = 256;

/** Stores on the local disk, in LevelDB: one directory per database, locked by the process that has it open. */
export class LevelDbEngine implements StoreEngine {
  readonly #options: LevelDbEngineOptions;

  constructor(options: LevelDbEngineOptions = {}) {
    this.#options = options;
  }

  async open(directory: string): Promise<StoreDatabase> {
    // The encoding 'view' hands byte arrays through as they are; 'buffer' would wrap each one.
    const level: BytesLevel = new Level(directory, {
      keyEncoding: 'view',
      valueEncoding: 'view',
      cacheSize: this.#options.blockCacheBytes ?? defaultBlockCacheBytes,
      writeBufferSize: this.#options.writeBufferBytes ?? defaultWriteBufferBytes,
    });
    try {
      await level.open();
    } catch (thrown) {
      throw stateErrorOf(thrown, directory);
    }
    return new LevelDbDatabase(level, directory);
  }

  async destroy(directory: string): Promise<void> {
    try {
      // LevelDB's own deletion respects its lock; what is left afterwards (stray files of a damaged database) is removed with the directory.
      await destroyable.destroy(directory);
      await rm(directory, { recursive: true, force: true });
    } catch (thrown) {
      throw stateErrorOf(thrown, directory);
    }
  }
}

/** What `level` has on this platform, and its types do not know. */
interface Sized {
  approximateSize(start: Uint8Array, end: Uint8Array): Promise<number>;
}

class LevelDbDatabase implements StoreDatabase {
  readonly #level: BytesLevel;
  readonly #directory: string;
  readonly #inFlight = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(level: BytesLevel, directory: string) {
    this.#level = level;
    this.#directory = directory;
  }

  getSync(key: Uint8Array): Uint8Array | undefined {
    try {
      return this.#level.getSync(key);
    } catch (thrown) {
      throw this.#errorOf(thrown);
    }
  }

  range(range: EngineRange): AsyncIterableIterator<readonly [Uint8Array, Uint8Array]> {
    this.#assertOpen();
    const iterator = this.#level.iterator({
      gte: range.gte,
      lt: range.lt,
      reverse: range.reverse ?? false,
      limit: range.limit ?? -1,
    });
    return new LevelDbRange(
      (entries) => iterator.nextv(entries),
      () => iterator.close(),
      (thrown) => this.#errorOf(thrown),
    );
  }

  batch(): EngineBatch {
    this.#assertOpen();
    const batch = this.#level.batch();
    return {
      put: (key, value) => void batch.put(key, value),
      delete: (key) => void batch.del(key),
      get length() {
        return batch.length;
      },
      write: () => this.#track(() => batch.write({ sync: true })),
      close: () => batch.close(),
    };
  }

  clear(range: { readonly gte: Uint8Array; readonly lt: Uint8Array }): Promise<void> {
    return this.#track(() => this.#level.clear({ gte: range.gte, lt: range.lt }));
  }

  async approximateBytes(range: { readonly gte: Uint8Array; readonly lt: Uint8Array }): Promise<number> {
    let bytes = 0;
    await this.#track(async () => {
      bytes = await (this.#level as unknown as Sized).approximateSize(range.gte, range.lt);
    });
    return bytes;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
    try {
      await this.#level.close();
    } catch (thrown) {
      throw stateErrorOf(thrown, this.#directory);
    }
  }

  async #track(operation: () => Promise<void>): Promise<void> {
    this.#assertOpen();
    const running = operation();
    this.#inFlight.add(running);
    try {
      await running;
    } catch (thrown) {
      throw this.#errorOf(thrown);
    } finally {
      this.#inFlight.delete(running);
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw stateClosedError(`directory ${this.#directory}`);
  }

  /** Whatever fails because the database is being closed says so, not what LevelDB makes of it. */
  #errorOf(thrown: unknown): TallyError {
    if (this.#closing !== undefined) return stateClosedError(`directory ${this.#directory}`);
    return stateErrorOf(thrown, this.#directory);
  }
}

/** Fetches in chunks, and closes LevelDB's iterator at the end, at an early `return` and on errors. */
class LevelDbRange implements AsyncIterableIterator<readonly [Uint8Array, Uint8Array]> {
  #chunk: readonly (readonly [Uint8Array, Uint8Array])[] = [];
  #index = 0;
  #ended = false;

  constructor(
    private readonly fetch: (entries: number) => Promise<[Uint8Array, Uint8Array][]>,
    private readonly closeIterator: () => Promise<void>,
    private readonly mapError: (thrown: unknown) => TallyError,
  ) {}

  async next(): Promise<IteratorResult<readonly [Uint8Array, Uint8Array], undefined>> {
    if (this.#index === this.#chunk.length && !this.#ended) await this.#fetchChunk();
    if (this.#ended) return { done: true, value: undefined };
    return { done: false, value: this.#chunk[this.#index++]! };
  }

  async return(): Promise<IteratorResult<readonly [Uint8Array, Uint8Array], undefined>> {
    this.#ended = true;
    this.#chunk = [];
    this.#index = 0;
    await this.closeIterator();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #fetchChunk(): Promise<void> {
    try {
      const chunk = await this.fetch(entriesPerFetch);
      if (this.#ended) return;
      this.#chunk = chunk;
      this.#index = 0;
    } catch (thrown) {
      await this.return();
      throw this.mapError(thrown);
    }
    if (this.#chunk.length === 0) await this.return();
  }
}

/** LevelDB reports the system's errors as texts only; the codes that `level` adds distinguish no more than lock, damage and the rest. */
function stateErrorOf(thrown: unknown, directory: string): TallyError {
  if (thrown instanceof TallyError) return thrown;
  const chain = causesOf(thrown);
  const codes = chain.map((error) => ('code' in error ? String(error.code) : ''));
  const detail = chain.at(-1)?.message ?? String(thrown);
  if (codes.includes('LEVEL_LOCKED')) return stateLockedError(directory, thrown);
  if (codes.includes('ENOSPC') || codes.includes('EDQUOT') || /No space left|ENOSPC|quota exceeded/i.test(detail)) {
    return stateDiskFullError(directory, thrown);
  }
  // The directory was made or found before LevelDB looked into it: what it misses is one of its own files.
  if (codes.includes('LEVEL_CORRUPTION') || /corruption|: No such file/i.test(detail)) return stateCorruptError(directory, detail, thrown);
  // The innermost error says more than "Database failed to open".
  return stateUnwritableError(directory, detail, thrown);
}

function causesOf(thrown: unknown): Error[] {
  const chain: Error[] = [];
  for (let error: unknown = thrown; error !== undefined && chain.length < 10; error = chain.at(-1)?.cause) chain.push(errorOf(error));
  return chain;
}
