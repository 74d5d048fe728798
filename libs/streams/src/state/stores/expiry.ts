/**
 * When which keys have something that may be expired: an ordered tree with one entry for each such key, so that what is due is found by
 * point reads, a few keys at a time with each write.
 *
 *   tree at 0x02:  dueMs:sortableTime serializedKey -> (nothing)
 *
 * A key that is due is looked at: what has expired is removed, and where something is left the key gets another entry. When it is due counts
 * from the time that the store has observed, not from the key's own, so that entries are added in the order of the tree: a few leaves
 * take them all. Work falls behind only while time jumps, and nobody sees it, for reads do not show what has expired.
 */
import { concatBytes } from '../../core/bytes.js';
import { readTime, sortableTime, timeBytes } from '../../core/sortable.js';
import { indexKind } from '../layout.js';
import { mapKeyOf } from '../map-key.js';
import type { EntryAccess } from '../ordered/entry-access.js';
import { OrderedTree } from '../ordered/ordered-tree.js';
import { neverMs, type StoreTime } from './store-time.js';

const address = mapKeyOf(Uint8Array.of(indexKind));
const nothing = new Uint8Array(0);
/** A key with this behind it is the next one that there can be. */
const afterKey = Uint8Array.of(0);

/** Keys that one write looks at. More than one, or a key of each write could be due for ever; each costs a read and a write or two. */
const keysPerWrite = 8;

/** Adds a key that is not in the index. */
export function expectExpiry(entries: EntryAccess, time: StoreTime, delayMs: number, key: Uint8Array): void {
  const dueMs = time.observedMs + delayMs;
  const indexKey = sortableTime(dueMs, key.length);
  indexKey.set(key, timeBytes);
  new OrderedTree(entries, address).put(indexKey, nothing);
  if (dueMs < time.dueMs) time.dueMs = dueMs;
}

/**
 * Looks at the keys that are due, at most a few of them.
 * @param expire removes what has expired of the key, or a part of it; returns how much later the key is due again, 0 where more is to be
 * removed at once, `undefined` when it needs no further look
 */
export function expireDue(entries: EntryAccess, time: StoreTime, expire: (key: Uint8Array) => number | undefined): void {
  if (time.dueMs > time.observedMs) return;
  for (const key of takeDue(new OrderedTree(entries, address), time.observedMs)) {
    const delayMs = expire(key);
    if (delayMs !== undefined) expectExpiry(entries, time, delayMs, key);
  }
  const first = new OrderedTree(entries, address).first();
  time.dueMs = first === undefined ? neverMs : readTime(first.key, 0);
}

/** Removes the first due entries of the index, and returns their keys. */
function takeDue(tree: OrderedTree, observedMs: number): Uint8Array[] {
  const due: Uint8Array[] = [];
  let behind: Uint8Array = nothing;
  tree.scan(undefined, undefined, (leaf, keyStart, valueStart) => {
    behind = leaf.subarray(keyStart, valueStart);
    if (due.length === keysPerWrite || readTime(leaf, keyStart) > observedMs) return false;
    due.push(behind.subarray(timeBytes));
    behind = concatBytes(behind, afterKey);
    return true;
  });
  tree.removeBefore(behind, keysPerWrite + 1);
  return due;
}
