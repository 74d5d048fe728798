/**
 * Windows that are emitted when they close, as long as they are open: in the order in which they close, so that what is due is found by
 * point reads. What was emitted is no longer there: the store is the progress of the emission, and commits and is restored with the rest.
 */
import { bytes } from '../serde/bytes.js';
import { type TimeOrdered, timeOrdered } from '../serde/time-ordered.js';
import type { ProcessorContext } from '../topology/processor.js';
import { type SortedStoreDefinition, sortedStore } from '../topology/sorted-store.js';
import type { WindowStoreDefinition } from '../topology/window-store.js';
import { inexactKey } from './exact-key.js';

/** Windows of one size close in the order of their starts. */
export type OpenWindowsDefinition<K> = SortedStoreDefinition<TimeOrdered<K>, Uint8Array>;

const nothing = new Uint8Array(0);

export function openWindowsOf<K>(
  name: string,
  { key, changelog }: Pick<WindowStoreDefinition<K, unknown>, 'key' | 'changelog'>,
): OpenWindowsDefinition<K> {
  return sortedStore(name, { key: timeOrdered(key), value: bytes(), changelog });
}

export function addOpenWindow<K>(context: ProcessorContext, open: OpenWindowsDefinition<K>, key: K, startMs: number): void {
  context.store(open).put({ timeMs: startMs, key }, nothing);
}

/** Takes out those that start by then, by start, then by the bytes of their keys. */
export function takeOpenWindows<K>(
  context: ProcessorContext,
  open: OpenWindowsDefinition<K>,
  lastStartMs: number,
  take: (key: K, startMs: number) => void,
): void {
  const windows = context.store(open);
  for (let next = windows.first(); next !== undefined && next[0].timeMs <= lastStartMs; next = windows.first()) {
    const [window] = next;
    if (!windows.delete(window)) throw inexactKey(open);
    take(window.key, window.timeMs);
  }
}
