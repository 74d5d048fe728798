/** Stores with a retention that keep an ordered tree for each key (key-trees.ts), whose keys begin with a time. */
import { readTime, sortableTime } from '../../core/sortable.js';
import { OrderedTree } from '../ordered/ordered-tree.js';
import { expectExpiry, expireDue } from './expiry.js';
import { type KeyPlace, placeOf } from './key-trees.js';
import type { Retention } from './retention.js';
import type { ScopedEntries } from './store-entries.js';
import { readObservedMs, StoreTime } from './store-time.js';

/** Nodes of a key that one write removes at most. */
const leavesPerKey = 8;

/**
 * Changes the tree of a key at a time, and removes a little of what has expired.
 * @param edit returns true when the tree did not exist before. It may run again, after a rollback, and not at all where no read would show it. What is
 * less than `expired` is shown by no read any more.
 * @returns false when nothing was done: the whole segment of the time has expired
 */
export function changeAt(
  entries: ScopedEntries,
  retention: Retention,
  { serializedKey, address }: KeyPlace,
  timeMs: number,
  edit: (tree: OrderedTree, expired: Uint8Array) => boolean,
): boolean {
  if (!retention.isSegmentLive(timeMs, Math.max(readObservedMs(entries), timeMs))) return false;
  entries.change(() => {
    const time = new StoreTime(entries);
    time.observe(timeMs);
    const firstVisibleMs = retention.firstVisibleMs(time.observedMs);
    if (timeMs >= firstVisibleMs) {
      const isNew = edit(new OrderedTree(entries, address), sortableTime(firstVisibleMs));
      if (isNew) expectExpiry(entries, time, retention.firstLookMs, serializedKey);
    }
    expireDue(entries, time, (key) => expire(entries, retention, key, time.observedMs));
    time.save(entries);
  });
  return true;
}

/** @returns how much later the key is due again, `undefined` when nothing of it is left. */
function expire(entries: ScopedEntries, retention: Retention, serializedKey: Uint8Array, observedMs: number): number | undefined {
  const tree = new OrderedTree(entries, placeOf(serializedKey).address);
  const firstVisibleMs = retention.firstVisibleMs(observedMs);
  tree.removeBefore(sortableTime(firstVisibleMs), leavesPerKey);
  const first = tree.first();
  if (first !== undefined) return readTime(first.key, 0) < firstVisibleMs ? 0 : retention.nextLookMs;
  tree.removeEmpty();
  return undefined;
}
