/**
 * Records that a join holds back, in one sorted store: those of each side by time, then by key, then in the order in which they came. Integers
 * are big-endian, times and keys sort (core/sortable.ts).
 *
 *   key    := own:0x00 | side:u8 time escapedKey number:u32       (side: 0x01 right, 0x02 left)
 *   value  := time | headersLength:u32 headers value              (the time under the own key; serde/header-bytes.ts)
 *   number := counts those with one side, time and key
 */
import { equalBytes } from '../core/bytes.js';
import type { StreamRecord } from '../core/record.js';
import {
  escapedKey,
  escapedKeyBytes,
  readTime,
  readWord,
  sortableTime,
  timeBytes,
  unescapedKey,
  writeTime,
  writeWord,
} from '../core/sortable.js';
import { headersFromBytes, headersToBytes } from '../serde/header-bytes.js';
import type { Serde } from '../serde/serde.js';
import { type SortedStore, type SortedStoreDefinition, sortedStore } from '../topology/sorted-store.js';
import { madeBytes } from './made-bytes.js';
import type { ReadingContext } from './table.js';

export type JoinSide = 'left' | 'right';

const sideTags: Readonly<Record<JoinSide, number>> = { right: 1, left: 2 };
const ownKey = Uint8Array.of(0);

const sideBytes = 1;
const keyAt = sideBytes + timeBytes;
const lengthBytes = 4;
const numberBytes = 4;
const numberMax = 0xffffffff;

/** The place of a record that is held back. */
export interface HeldRecord {
  readonly side: JoinSide;
  readonly timeMs: number;
  readonly entry: Uint8Array;
  readonly stored: Uint8Array;
}

/** Declares the store of a buffer, and opens it for the record in hand. A stream that is joined with a table is the left side. */
export class JoinBuffer<K, V> {
  readonly store: SortedStoreDefinition<Uint8Array, Uint8Array>;

  constructor(
    name: string,
    readonly key: Serde<K>,
    readonly left: Serde<V>,
    readonly right: Serde<V> = left,
  ) {
    this.store = sortedStore(name, { key: madeBytes('joinKey', key), value: madeBytes('joinValue', ...new Set([left, right])) });
  }

  open(context: ReadingContext): OpenJoinBuffer<K, V> {
    return new OpenJoinBuffer(this, context.store(this.store));
  }
}

export class OpenJoinBuffer<K, V> {
  constructor(
    private readonly buffer: JoinBuffer<K, V>,
    private readonly entries: SortedStore<Uint8Array, Uint8Array>,
  ) {}

  /** A time that the buffer keeps for its user. */
  get ownTimeMs(): number | undefined {
    const stored = this.entries.get(ownKey);
    return stored === undefined ? undefined : readTime(stored, 0);
  }

  set ownTimeMs(timeMs: number | undefined) {
    if (timeMs === undefined) this.entries.delete(ownKey);
    else this.entries.put(ownKey, sortableTime(timeMs));
  }

  add(side: JoinSide, record: StreamRecord<K, V>): void {
    const place = this.placeOf(side, record.timestampMs, record.key);
    const last = this.entries.floor(numbered(place, numberMax));
    const number = last !== undefined && isAt(last[0], place) ? readWord(last[0], place.length) + 1 : 0;
    const value = this.buffer[side].serialize(record.value) ?? new Uint8Array();
    this.entries.put(numbered(place, number), encode(headersToBytes(record.headers), value));
  }

  /** The side's first record, or its first one from a time on. */
  first(side: JoinSide, fromMs?: number): HeldRecord | undefined {
    return this.from(side, fromMs === undefined ? Uint8Array.of(sideTags[side]) : timed(side, fromMs));
  }

  /** What is held behind it on its side. */
  next({ side, entry }: HeldRecord): HeldRecord | undefined {
    return this.from(side, Buffer.concat([entry, ownKey]));
  }

  last(side: JoinSide): HeldRecord | undefined {
    const found = this.entries.floor(Uint8Array.of(sideTags[side] + 1));
    return found === undefined || found[0][0] !== sideTags[side] ? undefined : held(side, found);
  }

  read({ side, timeMs, entry, stored }: HeldRecord): StreamRecord<K, V> {
    const key = this.buffer.key.deserialize(unescapedKey(entry, keyAt, escapedKeyBytes(entry, keyAt)));
    const valueAt = lengthBytes + readWord(stored, 0);
    const value = this.buffer[side].deserialize(stored.subarray(valueAt));
    return { key, value, timestampMs: timeMs, headers: headersFromBytes(stored.subarray(lengthBytes, valueAt)) };
  }

  remove({ entry }: HeldRecord): void {
    this.entries.delete(entry);
  }

  /** Removes what the side holds of the key at the time. */
  removeAll(side: JoinSide, timeMs: number, key: K): void {
    const place = this.placeOf(side, timeMs, key);
    for (const [entry] of this.entries.range(numbered(place, 0), numbered(place, numberMax))) this.entries.delete(entry);
  }

  private from(side: JoinSide, bound: Uint8Array): HeldRecord | undefined {
    const [found] = this.entries.range(bound, Uint8Array.of(sideTags[side] + 1), 1);
    return found === undefined ? undefined : held(side, found);
  }

  private placeOf(side: JoinSide, timeMs: number, key: K): Uint8Array {
    const escaped = escapedKey(sideTags[side], this.buffer.key.serialize(key) ?? new Uint8Array());
    const place = timed(side, timeMs, escaped.length - sideBytes);
    place.set(escaped.subarray(sideBytes), keyAt);
    return place;
  }
}

function held(side: JoinSide, [entry, stored]: readonly [Uint8Array, Uint8Array]): HeldRecord {
  return { side, timeMs: readTime(entry, sideBytes), entry, stored };
}

/** A new array, with room for `more` bytes behind the time. */
function timed(side: JoinSide, timeMs: number, more = 0): Uint8Array {
  const place = Buffer.allocUnsafe(keyAt + more);
  place[0] = sideTags[side];
  writeTime(place, sideBytes, timeMs);
  return place;
}

function numbered(place: Uint8Array, number: number): Uint8Array {
  const entry = Buffer.allocUnsafe(place.length + numberBytes);
  entry.set(place);
  writeWord(entry, place.length, number);
  return entry;
}

function isAt(entry: Uint8Array, place: Uint8Array): boolean {
  return entry.length === place.length + numberBytes && equalBytes(entry.subarray(0, place.length), place);
}

function encode(headers: Uint8Array, value: Uint8Array): Uint8Array {
  const stored = Buffer.allocUnsafe(lengthBytes + headers.length + value.length);
  writeWord(stored, 0, headers.length);
  stored.set(headers, lengthBytes);
  stored.set(value, lengthBytes + headers.length);
  return stored;
}
