/**
 * The changes that `suppress` holds back, in one sorted store: by time and key, with the place of each key and how much it all is. Rows sort
 * last, for most of them are added behind all others. Integers are big-endian, times sort (core/sortable.ts).
 *
 *   key      := totals:0x00 | place:0x01 key | row:0x02 time key
 *   totals   := records:i64 bytes:i64
 *   place    := time
 *   row      := flags:u8 timestamp:i64 (length:u32 part)*     a part for each of bits 0 to 3
 *   flags    := bit 0: headers (serde/header-bytes.ts), bit 1: the row before the key was buffered, bit 2: the row before the last
 *               change, bit 3: the new row, bit 4: the row before the key was buffered is the one before the last change
 *
 * A key that tells its time needs no place.
 */
import { asBuffer, concatBytes } from '../core/bytes.js';
import { CorruptDataError } from '../core/errors.js';
import { type Change, type StreamRecord, noHeaders } from '../core/record.js';
import { readTime, readWord, sortableTime, timeBytes, writeWord } from '../core/sortable.js';
import { headersFromBytes, headersToBytes } from '../serde/header-bytes.js';
import type { Serde } from '../serde/serde.js';
import { type SortedStore, type SortedStoreDefinition, sortedStore } from '../topology/sorted-store.js';
import { madeBytes } from './made-bytes.js';
import type { ReadingContext } from './table.js';

const totalsKey = Uint8Array.of(0);
const placeTag = Uint8Array.of(1);
const rowTag = Uint8Array.of(2);

const hasHeaders = 1;
const hasPrior = 2;
const hasOld = 4;
const hasNew = 8;
const priorIsOld = 16;

const lengthBytes = 4;
const rowHeaderBytes = 1 + timeBytes;

export interface BufferTotals {
  readonly records: number;
  /** Of serialized keys, rows and headers. */
  readonly bytes: number;
}

/** A change that is held back, and by which time. */
export interface HeldBack<K, V> {
  readonly timeMs: number;
  readonly record: StreamRecord<K, Change<V>>;
}

/** The parts of a row, as they are stored. */
interface StoredRow {
  readonly timestampMs: number;
  readonly headers: Uint8Array | null;
  readonly prior: Uint8Array | null;
  readonly old: Uint8Array | null;
  readonly next: Uint8Array | null;
}

/** Declares the store of a buffer, and opens it for the record in hand. */
export class SuppressBuffer<K, V> {
  readonly store: SortedStoreDefinition<Uint8Array, Uint8Array>;

  /** @param timeOf where each key is always buffered by one and the same time */
  constructor(
    name: string,
    readonly key: Serde<K>,
    readonly value: Serde<V>,
    readonly timeOf: ((key: K) => number) | undefined,
  ) {
    this.store = sortedStore(name, { key: madeBytes('suppressedKey', key), value: madeBytes('suppressedRow', value) });
  }

  open(context: ReadingContext): OpenSuppressBuffer<K, V> {
    return new OpenSuppressBuffer(this, context.store(this.store));
  }
}

export class OpenSuppressBuffer<K, V> {
  constructor(
    private readonly buffer: SuppressBuffer<K, V>,
    private readonly entries: SortedStore<Uint8Array, Uint8Array>,
  ) {}

  get totals(): BufferTotals {
    const stored = this.entries.get(totalsKey);
    return stored === undefined ? { records: 0, bytes: 0 } : { records: readTime(stored, 0), bytes: readTime(stored, timeBytes) };
  }

  /** The change that is due first. */
  first(): HeldBack<K, V> | undefined {
    const [entry] = this.entries.range(rowTag, undefined, 1);
    if (entry === undefined) return undefined;
    const [rowKey, stored] = entry;
    const { timestampMs, headers, old, next } = decodeRow(stored);
    const key = this.buffer.key.deserialize(rowKey.subarray(1 + timeBytes));
    const value = { oldValue: this.row(old), newValue: this.row(next), isLatest: true };
    const record = { key, value, timestampMs, headers: headers === null ? noHeaders : headersFromBytes(headers) };
    return { timeMs: readTime(rowKey, 1), record };
  }

  /** Holds the change back; one of a key that is held back already takes the place of that one. */
  put(timeMs: number, record: StreamRecord<K, Change<V>>): void {
    const keyBytes = this.keyBytes(record.key);
    const heldMs = this.heldMs(record.key, keyBytes);
    const rowKey = rowKeyOf(heldMs ?? timeMs, keyBytes);
    const before = heldMs === undefined ? undefined : this.entries.get(rowKey);
    const stored = encodeRow(this.parts(record, before));
    this.entries.put(rowKey, stored);
    if (heldMs === undefined && this.buffer.timeOf === undefined) this.entries.put(placeKeyOf(keyBytes), sortableTime(timeMs));
    if (before === undefined) this.count(1, rowKey.length + stored.length);
    else if (before.length !== stored.length) this.count(0, stored.length - before.length);
  }

  remove({ timeMs, record }: HeldBack<K, V>): void {
    const keyBytes = this.keyBytes(record.key);
    const rowKey = rowKeyOf(timeMs, keyBytes);
    const stored = this.entries.get(rowKey);
    if (stored === undefined) return;
    this.entries.delete(rowKey);
    if (this.buffer.timeOf === undefined) this.entries.delete(placeKeyOf(keyBytes));
    this.count(-1, -rowKey.length - stored.length);
  }

  /** The row that is downstream while a change of the key is held back; `undefined` while none is. */
  priorValue(key: K): { readonly value: V | null } | undefined {
    const keyBytes = this.keyBytes(key);
    const heldMs = this.heldMs(key, keyBytes);
    const stored = heldMs === undefined ? undefined : this.entries.get(rowKeyOf(heldMs, keyBytes));
    return stored === undefined ? undefined : { value: this.row(decodeRow(stored).prior) };
  }

  private parts({ value: change, timestampMs, headers }: StreamRecord<K, Change<V>>, before: Uint8Array | undefined): StoredRow {
    const old = this.rowBytes(change.oldValue);
    return {
      timestampMs,
      headers: headers.length === 0 ? null : headersToBytes(headers),
      prior: before === undefined ? old : decodeRow(before).prior,
      old,
      next: this.rowBytes(change.newValue),
    };
  }

  /** By which time a change of the key is held back, if one is or may be. */
  private heldMs(key: K, keyBytes: Uint8Array): number | undefined {
    if (this.buffer.timeOf !== undefined) return this.buffer.timeOf(key);
    const place = this.entries.get(placeKeyOf(keyBytes));
    return place === undefined ? undefined : readTime(place, 0);
  }

  private count(records: number, size: number): void {
    const totals = this.totals;
    if (totals.records + records === 0) this.entries.delete(totalsKey);
    else this.entries.put(totalsKey, concatBytes(sortableTime(totals.records + records), sortableTime(totals.bytes + size)));
  }

  private keyBytes(key: K): Uint8Array {
    return this.buffer.key.serialize(key) ?? new Uint8Array();
  }

  private rowBytes(row: V | null): Uint8Array | null {
    return row === null ? null : this.buffer.value.serialize(row);
  }

  private row(stored: Uint8Array | null): V | null {
    return stored === null ? null : this.buffer.value.deserialize(stored);
  }
}

function placeKeyOf(keyBytes: Uint8Array): Uint8Array {
  return concatBytes(placeTag, keyBytes);
}

function rowKeyOf(timeMs: number, keyBytes: Uint8Array): Uint8Array {
  return concatBytes(rowTag, sortableTime(timeMs), keyBytes);
}

function encodeRow({ timestampMs, headers, prior, old, next }: StoredRow): Uint8Array {
  const isPriorOld = old === prior || (old !== null && prior !== null && Buffer.compare(old, prior) === 0);
  const parts = [headers, isPriorOld ? null : prior, old, next];
  const length = parts.reduce((sum, part) => sum + (part === null ? 0 : lengthBytes + part.length), rowHeaderBytes);
  const stored = Buffer.allocUnsafe(length);
  stored[0] = parts.reduce((flags, part, bit) => (part === null ? flags : flags | (1 << bit)), isPriorOld ? priorIsOld : 0);
  stored.set(sortableTime(timestampMs), 1);
  let at = rowHeaderBytes;
  for (const part of parts) {
    if (part === null) continue;
    writeWord(stored, at, part.length);
    stored.set(part, at + lengthBytes);
    at += lengthBytes + part.length;
  }
  return stored;
}

function decodeRow(stored: Uint8Array): StoredRow {
  const flags = stored[0]!;
  let at = rowHeaderBytes;
  const next = (flag: number): Uint8Array | null => {
    if ((flags & flag) === 0) return null;
    const from = at + lengthBytes;
    at = from + readWord(stored, at);
    return asBuffer(stored).subarray(from, at);
  };
  const headers = next(hasHeaders);
  const prior = next(hasPrior);
  const old = next(hasOld);
  const row = { headers, prior: (flags & priorIsOld) === 0 ? prior : old, old, next: next(hasNew) };
  if (at !== stored.length) {
    throw new CorruptDataError(
      'STORE_VALUE_CORRUPT',
      `A row of ${stored.length} bytes in a buffer of suppress has parts that end at ${at}.`,
    );
  }
  return { timestampMs: readTime(stored, 1), ...row };
}
