/**
 * An operator's own stream time, in the reserved entry `time/<node>` of one of its stores, so that it commits, aborts and is restored with them.
 *
 *   operatorTime := 0x01 observedMs:i64
 */
import { readInt64, writeInt64 } from '../int64.js';
import { mapKeyOf, reservedKey } from '../layout.js';
import type { EntryAccess } from '../ordered/entry-access.js';

const layoutVersion = 0x01;

interface Place {
  readonly key: Uint8Array;
  readonly mapKey: string;
}

/** One for each node that keeps time. */
const places = new Map<string, Place>();

function placeOf(node: string): Place {
  let place = places.get(node);
  if (place === undefined) {
    const key = reservedKey(`time/${node}`);
    places.set(node, (place = { key, mapKey: mapKeyOf(key) }));
  }
  return place;
}

/** -1 before any. */
export function operatorTimeMs(entries: Pick<EntryAccess, 'getEntry'>, node: string): number {
  const { key, mapKey } = placeOf(node);
  const stored = entries.getEntry(mapKey, key);
  return stored === undefined ? -1 : readInt64(stored, 1);
}

/** Writes the time where it is larger than the one that is kept. */
export function raiseOperatorTime(entries: EntryAccess, node: string, timestampMs: number): void {
  if (timestampMs <= operatorTimeMs(entries, node)) return;
  const { key, mapKey } = placeOf(node);
  const bytes = Buffer.allocUnsafe(9);
  bytes[0] = layoutVersion;
  writeInt64(bytes, 1, timestampMs);
  entries.putEntry(mapKey, key, bytes);
}
