/**
 * How much a store holds. LevelDB counts nothing, and to count everything would read everything: a small store is counted, of a large one the beginning is,
 * and the rest is taken to be like it. How large the rest is the database estimates by its files.
 */
import { dataKind, storePrefix } from './layout.js';
import type { StoreDatabase } from './store-engine.js';

export interface StoreSize {
  readonly entries: number;
  /** Of keys and values, uncompressed. */
  readonly bytes: number;
}

/** Entries that are counted one by one: some milliseconds of work. */
const countedMax = 2_000;

/** Of the application's entries that are in the database; what has not been flushed yet is not. */
export async function estimateStoreSize(database: StoreDatabase, storeName: string): Promise<StoreSize> {
  const gte = boundary(storeName, dataKind);
  const lt = boundary(storeName, dataKind + 1);
  let [entries, bytes] = [0, 0];
  let last: Uint8Array = gte;
  for await (const [key, value] of database.range({ gte, lt, limit: countedMax })) {
    entries++;
    bytes += key.length - gte.length + value.length;
    last = key;
  }
  if (entries < countedMax || database.approximateBytes === undefined) return { entries, bytes };
  const [counted, all] = await Promise.all([database.approximateBytes({ gte, lt: last }), database.approximateBytes({ gte, lt })]);
  // Of what lies in its write buffer the database knows no size.
  const times = counted > 0 ? Math.max(1, all / counted) : 1;
  return { entries: Math.round(entries * times), bytes: Math.round(bytes * times) };
}

function boundary(storeName: string, kind: number): Buffer {
  return Buffer.concat([storePrefix(storeName), Uint8Array.of(kind)]);
}
