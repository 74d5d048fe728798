import type { StoredDefinition } from './layered-store.js';
import {
  contentRange,
  databaseFormat,
  decodePosition,
  formatKey,
  positionKey,
  positionRange,
  storeNameOfPositionKey,
  storeRange,
  topologyKey,
} from './layout.js';
import type { ChangelogPosition } from './layout.js';
import { stateCorruptError, stateFormatNewerError } from './state-errors.js';
import type { EngineRange, StoreDatabase, StoreEngine } from './store-engine.js';

export interface TaskDatabase {
  readonly database: StoreDatabase;
  readonly isNew: boolean;
  readonly positions: Map<string, ChangelogPosition>;
  readonly topologyRecord: string | undefined;
}

/** Keys that are deleted by one batch of a rebuild. */
const deletionsPerBatch = 4096;

/** Opens the database, checks or writes its format, and makes sure that a changelogged store without a position is empty. */
export async function openTaskDatabase(engine: StoreEngine, directory: string, stores: readonly StoredDefinition[]): Promise<TaskDatabase> {
  const database = await engine.open(directory);
  try {
    const isNew = await isEmpty(database, contentRange);
    await checkFormat(database, directory, isNew);
    const positions = await readPositions(database);
    for (const store of stores) {
      if (store.changelog && !positions.has(store.name)) await clearStore(database, store.name);
    }
    const record = database.getSync(topologyKey);
    const topologyRecord = record === undefined ? undefined : Buffer.from(record).toString('utf8');
    return { database, isNew, positions, topologyRecord };
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}

/**
 * Deletes the store's positions, all together, then its entries; each step is on stable storage before the next begins. An unsynced deletion could
 * come undone by a power cut after a later synced write, and would bring back what the changelog has long forgotten.
 */
export async function clearStore(
  database: StoreDatabase,
  storeName: string,
  positionNames: readonly string[] = [storeName],
): Promise<void> {
  const withoutPosition = database.batch();
  for (const name of positionNames) if (database.getSync(positionKey(name)) !== undefined) withoutPosition.delete(positionKey(name));
  if (withoutPosition.length > 0) await withoutPosition.write();
  else await withoutPosition.close();
  const range = { ...storeRange(storeName), limit: deletionsPerBatch };
  for (;;) {
    const batch = database.batch();
    for await (const [key] of database.range(range)) batch.delete(key);
    const deleted = batch.length;
    if (deleted === 0) return batch.close();
    await batch.write();
    if (deleted < deletionsPerBatch) return;
  }
}

async function checkFormat(database: StoreDatabase, directory: string, isNew: boolean): Promise<void> {
  const stored = database.getSync(formatKey);
  if (stored !== undefined) {
    const format = stored[0];
    if (format === undefined || format === 0) throw stateCorruptError(directory, 'its format cannot be read');
    if (format > databaseFormat) throw stateFormatNewerError(directory, format, databaseFormat);
    return;
  }
  if (!isNew) throw stateCorruptError(directory, 'it holds entries but no format');
  const batch = database.batch();
  batch.put(formatKey, Uint8Array.of(databaseFormat));
  await batch.write();
}

async function readPositions(database: StoreDatabase): Promise<Map<string, ChangelogPosition>> {
  const positions = new Map<string, ChangelogPosition>();
  for await (const [key, value] of database.range(positionRange)) {
    const storeName = storeNameOfPositionKey(key);
    positions.set(storeName, decodePosition(storeName, value));
  }
  return positions;
}

async function isEmpty(database: StoreDatabase, range: EngineRange): Promise<boolean> {
  const entries = database.range({ ...range, limit: 1 })[Symbol.asyncIterator]();
  const first = await entries.next();
  await entries.return?.();
  return first.done === true;
}
