import type { Clock } from '../core/clock.js';
import type { DirtyEntry } from './key-versions.js';
import type { LayeredStore } from './layered-store.js';
import { encodePosition, positionKey, topologyKey } from './layout.js';
import type { ChangelogPosition } from './layout.js';
import type { StoreDatabase } from './store-engine.js';

export interface FlushOptions {
  /** Replaces the stored topology record, in the same batch. */
  readonly topologyRecord?: string | undefined;
  /** Called, and awaited, after each few thousand entries and before the write: tests stop or kill the process there. */
  readonly onStep?: (() => void | Promise<void>) | undefined;
}

export interface LayerToWrite {
  readonly store: LayeredStore;
  readonly entries: Iterable<DirtyEntry>;
}

/** Entries between two yields to the event loop: about 4 ms of work. */
export const entriesPerStep = 4096;

/** Entries, positions and topology record in one atomic, synced batch. */
export async function writeBatch(
  database: StoreDatabase,
  clock: Clock,
  layers: readonly LayerToWrite[],
  positions: ReadonlyMap<string, ChangelogPosition>,
  options: FlushOptions,
): Promise<void> {
  const batch = database.batch();
  try {
    let inStep = 0;
    for (const { store, entries } of layers) {
      for (const entry of entries) {
        store.write(batch, entry);
        if (++inStep < entriesPerStep) continue;
        inStep = 0;
        await options.onStep?.();
        await clock.yieldNow();
      }
    }
    for (const [name, position] of positions) batch.put(positionKey(name), encodePosition(position));
    if (options.topologyRecord !== undefined) batch.put(topologyKey, Buffer.from(options.topologyRecord, 'utf8'));
    await options.onStep?.();
  } catch (thrown) {
    await batch.close();
    throw thrown;
  }
  await batch.write();
}
