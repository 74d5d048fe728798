/**
 * An operator's own stream time, in the reserved entry `time/<node>` of one of its stores, so that it commits, aborts and is restored with them.
 *
 *   operatorTime := 0x01 observedMs:i64
 */
import { readInt64, writeInt64 } from '../int64.js';
import { reservedMapKey } from '../map-key.js';
import type { EntryAccess } from '../ordered/entry-access.js';

const layoutVersion = 0x01;

/** One for each node that keeps time. */
const mapKeys = new Map<string, string>();

function mapKeyFor(node: string): string {
  let mapKey = mapKeys.get(node);
  if (mapKey === undefined) mapKeys.set(node, (mapKey = reservedMapKey(`time/${node}`)));
  return mapKey;
}

/** -1 before any. */
export function operatorTimeMs(entries: Pick<EntryAccess, 'getEntry'>, node: string): number {
  const stored = entries.getEntry(mapKeyFor(node));
  return stored === undefined ? -1 : readInt64(stored, 1);
}

/** Writes the time where it is larger than the one that is kept. */
export function raiseOperatorTime(entries: EntryAccess, node: string, timestampMs: number): void {
  if (timestampMs <= operatorTimeMs(entries, node)) return;
  const bytes = Buffer.allocUnsafe(9);
  bytes[0] = layoutVersion;
  writeInt64(bytes, 1, timestampMs);
  entries.putEntry(mapKeyFor(node), bytes);
}
