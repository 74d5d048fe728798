import type { Clock } from '../core/clock.js';
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
const entriesPerStep = 4096;

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

/** Acts on so many entries, a few thousand at a time, and yields after each full step. */
export function* inSteps(count: number, act: (from: number, to: number) => void): Generator<void, void> {
  for (let from = 0; from < count; from += entriesPerStep) {
    const to = Math.min(count, from + entriesPerStep);
    act(from, to);
    if (to - from === entriesPerStep) yield;
  }
}
