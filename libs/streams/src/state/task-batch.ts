import type { Clock } from '../core/clock.js';
import type { DirtyEntry } from './key-versions.js';
import type { LayeredStore } from './layered-store.js';
import { encodePosition, positionKey, topologyKey } from './layout.js';
import type { ChangelogPosition } from './layout.js';
import type { EngineBatch, StoreDatabase } from './store-engine.js';

export interface FlushOptions {
  /** Replaces the stored topology record, in the same batch. */
  readonly topologyRecord?: string | undefined;
  /** Called, and awaited, after each few thousand entries and before the write: tests stop or kill the process there. */
  readonly onStep?: (() => void | Promise<void>) | undefined;
}

/** Adds entries to a batch, a few thousand at a time. */
export type AddInSteps = (batch: EngineBatch) => Iterable<void>;

/** Entries between two yields to the event loop: about 4 ms of work. */
export const entriesPerStep = 4096;

/** Entries, positions and topology record in one atomic, synced batch. */
export async function writeBatch(
  database: StoreDatabase,
  clock: Clock,
  addInSteps: AddInSteps,
  positions: ReadonlyMap<string, ChangelogPosition>,
  options: FlushOptions,
): Promise<void> {
  const batch = database.batch();
  try {
    for (const _step of addInSteps(batch)) {
      await options.onStep?.();
      await clock.yieldNow();
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

/** What the stores are flushing. */
export function* flushedInSteps(stores: readonly LayeredStore[], batch: EngineBatch): Iterable<void> {
  for (const store of stores) {
    for (let from = 0; from < store.flushingCount; from += entriesPerStep) {
      const to = Math.min(store.flushingCount, from + entriesPerStep);
      store.writeFlushing(batch, from, to);
      if (to - from === entriesPerStep) yield;
    }
  }
}

/** What was read from the store's changelog. */
export function* restoredInSteps(store: LayeredStore, entries: readonly DirtyEntry[], batch: EngineBatch): Iterable<void> {
  for (const [index, entry] of entries.entries()) {
    store.write(batch, entry);
    if ((index + 1) % entriesPerStep === 0) yield;
  }
}
