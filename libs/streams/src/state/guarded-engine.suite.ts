/** For tests of what must not wait for the database. */
import { assert } from '../core/assert.js';
import type { StoreDatabase, StoreEngine } from './store-engine.js';

/** An engine whose asynchronous methods throw while a record is in hand. */
export class GuardedEngine implements StoreEngine {
  private isAsynchronous = false;

  constructor(private readonly engine: StoreEngine) {}

  /** Lets asynchronous methods be called meanwhile. */
  async asynchronously<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = this.isAsynchronous;
    this.isAsynchronous = true;
    try {
      return await work();
    } finally {
      this.isAsynchronous = before;
    }
  }

  async open(directory: string): Promise<StoreDatabase> {
    const database = await this.engine.open(directory);
    const unguarded = (): StoreDatabase => {
      assert(this.isAsynchronous, 'a record in hand must not wait for the database');
      return database;
    };
    return {
      getSync: (key) => database.getSync(key),
      range: (range) => unguarded().range(range),
      batch: () => unguarded().batch(),
      clear: (range) => unguarded().clear(range),
      close: () => database.close(),
    };
  }

  destroy(directory: string): Promise<void> {
    return this.engine.destroy(directory);
  }
}
