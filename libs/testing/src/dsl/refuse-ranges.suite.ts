import { MemoryEngine, type StoreDatabase } from '@tally/streams';
import { vi } from 'vitest';

const { open } = MemoryEngine.prototype as { readonly open: (this: MemoryEngine, directory: string) => Promise<StoreDatabase> };

/** Databases opened from now on refuse store reads that wait, while they are forbidden; until `vi.restoreAllMocks()`. */
export function refuseRanges(isForbidden: () => boolean): void {
  vi.spyOn(MemoryEngine.prototype, 'open').mockImplementation(async function (
    this: MemoryEngine,
    directory: string,
  ): Promise<StoreDatabase> {
    const database = await open.call(this, directory);
    const range = database.range.bind(database);
    database.range = (bounds) => {
      if (isForbidden()) throw new Error('An operator read a range of a store, which waits.');
      return range(bounds);
    };
    return database;
  });
}
