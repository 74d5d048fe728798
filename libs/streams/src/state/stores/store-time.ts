/**
 * What a store with a retention knows of time, in its reserved entry `time`.
 *
 *   time := 0x01 observedMs:i64 dueMs:i64
 *
 * `observedMs` is the largest time that was written, -1 before any. `dueMs` is when the first key of the index (expiry.ts) is due.
 */
import { readInt64, writeInt64 } from '../int64.js';
import { reservedMapKey } from '../map-key.js';
import type { EntryAccess, EntryReader } from '../ordered/entry-access.js';

const layoutVersion = 0x01;
const mapKey = reservedMapKey('time');

export const neverMs = Number.MAX_SAFE_INTEGER;

export class StoreTime {
  private readonly stored: Uint8Array | undefined;
  observedMs = -1;
  dueMs = neverMs;

  constructor(reader: EntryReader) {
    this.stored = reader.getEntry(mapKey);
    if (this.stored === undefined) return;
    this.observedMs = readInt64(this.stored, 1);
    this.dueMs = readInt64(this.stored, 9);
  }

  observe(timeMs: number): void {
    if (timeMs > this.observedMs) this.observedMs = timeMs;
  }

  /** Writes the entry where it has changed. */
  save(entries: EntryAccess): void {
    const { stored, observedMs, dueMs } = this;
    if (stored !== undefined && readInt64(stored, 1) === observedMs && readInt64(stored, 9) === dueMs) return;
    const bytes = Buffer.allocUnsafe(17);
    bytes[0] = layoutVersion;
    writeInt64(bytes, 1, observedMs);
    writeInt64(bytes, 9, dueMs);
    entries.putEntry(mapKey, bytes);
  }
}

export function readObservedMs(reader: EntryReader): number {
  const stored = reader.getEntry(mapKey);
  return stored === undefined ? -1 : readInt64(stored, 1);
}
