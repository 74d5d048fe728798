/**
 * How a process and the one that fetches for it talk to each other: commands and events as JSON over Node's channel, records over a pipe.
 *
 * Every time that a partition is read from some offset on is a stream of its own, with a number that is never used again. What a stream had
 * still under way when it was closed is known by its number, wherever it comes from, and dropped.
 *
 * On the pipe, integers and floats are big-endian:
 *
 *     frame   = length:u32 records:u32 ends:u32 *record *end     ; the length is that of the whole frame
 *     record  = stream:u32 offset:f64 timestampMs:f64 keyLength:i32 valueLength:i32 headers:u32 key value *header
 *     header  = nameLength:u32 valueLength:u32 name value        ; the name in UTF-8
 *     end     = stream:u32 offset:f64                            ; what lies before it has been sent, or is no record
 *
 * A length of -1 is null.
 */
import { type ConsumedRecord, type Header, type Headers, noHeaders, type TopicPartition, type TopicPartitionOffset } from '@tally/streams';
import type { ResolvedOptions } from './options.js';

/** Options that can be sent: without the logger. */
export type SentOptions = Omit<ResolvedOptions, 'logger'>;

export type FetchCommand =
  | { readonly start: { readonly options: SentOptions; readonly groupId: string } }
  | { readonly open: readonly OpenStream[] }
  | { readonly close: readonly number[] };

export interface OpenStream extends TopicPartitionOffset {
  readonly stream: number;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type FetchEvent =
  | { readonly log: { readonly level: LogLevel; readonly message: string } }
  /** A read failed, with the client's number. */
  | { readonly failed: { readonly code: number | undefined; readonly message: string } };

export interface StreamEnd {
  readonly stream: number;
  readonly offset: number;
}

const frameHeaderBytes = 12;
const recordHeaderBytes = 32;
const headerHeaderBytes = 8;
const endBytes = 12;

/** @param streams of each record, in the same order */
export function encodeFrame(records: readonly ConsumedRecord[], streams: readonly number[], ends: readonly StreamEnd[]): Buffer {
  let length = frameHeaderBytes + ends.length * endBytes;
  for (const record of records)
    length += recordHeaderBytes + (record.key?.length ?? 0) + (record.value?.length ?? 0) + headerBytes(record.headers);
  const frame = Buffer.allocUnsafeSlow(length);
  const view = viewOf(frame);
  view.setUint32(0, length);
  view.setUint32(4, records.length);
  view.setUint32(8, ends.length);
  let at = frameHeaderBytes;
  for (let index = 0; index < records.length; index++) {
    const { offset, timestampMs, key, value, headers } = records[index] as ConsumedRecord;
    view.setUint32(at, streams[index] as number);
    view.setFloat64(at + 4, offset);
    view.setFloat64(at + 12, timestampMs);
    view.setInt32(at + 20, key === null ? -1 : key.length);
    view.setInt32(at + 24, value === null ? -1 : value.length);
    view.setUint32(at + 28, headers.length);
    at = write(frame, value, write(frame, key, at + recordHeaderBytes));
    if (headers.length > 0) at = writeHeaders(frame, view, headers, at);
  }
  for (const { stream, offset } of ends) {
    view.setUint32(at, stream);
    view.setFloat64(at + 4, offset);
    at += endBytes;
  }
  return frame;
}

function headerBytes(headers: Headers): number {
  let bytes = 0;
  for (const { name, value } of headers) bytes += headerHeaderBytes + Buffer.byteLength(name) + value.length;
  return bytes;
}

function writeHeaders(frame: Buffer, view: DataView, headers: Headers, from: number): number {
  let at = from;
  for (const { name, value } of headers) {
    const nameBytes = frame.write(name, at + headerHeaderBytes, 'utf8');
    view.setUint32(at, nameBytes);
    view.setUint32(at + 4, value.length);
    at = write(frame, value, at + headerHeaderBytes + nameBytes);
  }
  return at;
}

function write(frame: Buffer, bytes: Uint8Array | null, at: number): number {
  if (bytes === null) return at;
  frame.set(bytes, at);
  return at + bytes.length;
}

/** Puts frames together of the pieces in which they come. */
export class FrameAssembler {
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** @returns the frames that the piece completes. */
  add(piece: Buffer): Buffer[] {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < 4) return [];
    if (this.#pieces.length > 1) {
      const first = this.#pieces[0] as Buffer;
      // A long frame is put together once, not with each of its pieces.
      if (first.length >= 4 && this.#bytes < first.readUInt32BE(0)) return [];
      this.#pieces = [Buffer.concat(this.#pieces, this.#bytes)];
    }
    const [all] = this.#pieces as [Buffer];
    const frames: Buffer[] = [];
    let at = 0;
    while (all.length - at >= 4) {
      const end = at + all.readUInt32BE(at);
      if (end > all.length) break;
      frames.push(all.subarray(at, end));
      at = end;
    }
    this.#bytes = all.length - at;
    this.#pieces = this.#bytes === 0 ? [] : [all.subarray(at)];
    return frames;
  }
}

/** What a reader of frames knows of a stream. */
export interface KnownStream extends TopicPartition {
  /** Offset of the next record. */
  position: number;
}

/** Records are handed out as slices of copies of so many bytes, or of one record: whoever keeps a record keeps no more than that. */
const blockBytesMax = 8_192;

/** Reads one frame, as far as it is asked to. */
export class FrameCursor {
  readonly #frame: Buffer;
  readonly #view: DataView;
  #recordsLeft: number;
  #endsLeft: number;
  #at = frameHeaderBytes;
  /** A copy of a part of the frame: records of one stream, whole ones. */
  #block: Buffer = Buffer.alloc(0);
  #blockFrom = 0;
  #blockEnd = 0;

  constructor(frame: Buffer) {
    this.#frame = frame;
    this.#view = viewOf(frame);
    this.#recordsLeft = this.#view.getUint32(4);
    this.#endsLeft = this.#view.getUint32(8);
  }

  get bytes(): number {
    return this.#frame.length;
  }

  get recordsLeft(): number {
    return this.#recordsLeft;
  }

  /** Adds records to the list until it has so many, without those of streams that are not known (any more), and moves the streams on. */
  readRecords(recordsMax: number, records: ConsumedRecord[], streamOf: (stream: number) => KnownStream | undefined): void {
    const view = this.#view;
    let id = -1;
    let stream: KnownStream | undefined;
    while (this.#recordsLeft > 0 && records.length < recordsMax) {
      const at = this.#at;
      const next = view.getUint32(at);
      if (next !== id) {
        id = next;
        stream = streamOf(next);
      }
      if (at >= this.#blockEnd) this.#copyBlock(at);
      this.#recordsLeft--;
      const offset = view.getFloat64(at + 4);
      const key = this.#bytes(at + recordHeaderBytes, view.getInt32(at + 20));
      const value = this.#bytes(this.#at, view.getInt32(at + 24));
      const count = view.getUint32(at + 28);
      const headers = count === 0 ? noHeaders : this.#headers(count);
      if (stream === undefined) continue;
      stream.position = offset + 1;
      records.push({
        topic: stream.topic,
        partition: stream.partition,
        offset,
        timestampMs: view.getFloat64(at + 12),
        key,
        value,
        headers,
      });
    }
  }

  /** The frame's ends, once all of its records have been read. */
  readEnds(): readonly StreamEnd[] {
    const ends: StreamEnd[] = [];
    for (; this.#endsLeft > 0; this.#endsLeft--, this.#at += endBytes)
      ends.push({ stream: this.#view.getUint32(this.#at), offset: this.#view.getFloat64(this.#at + 4) });
    return ends;
  }

  #headers(count: number): Header[] {
    const headers: Header[] = [];
    for (let index = 0; index < count; index++) {
      const [nameLength, valueLength] = [this.#view.getUint32(this.#at), this.#view.getUint32(this.#at + 4)];
      const name = this.#bytes(this.#at + headerHeaderBytes, nameLength) as Buffer;
      headers.push({ name: name.toString('utf8'), value: this.#bytes(this.#at, valueLength) as Buffer });
    }
    return headers;
  }

  /** A copy of the record here, and of those of its stream behind it that have room in the block as well. */
  #copyBlock(from: number): void {
    const stream = this.#view.getUint32(from);
    let end = this.#recordEnd(from);
    for (let left = this.#recordsLeft - 1; left > 0 && this.#view.getUint32(end) === stream; left--) {
      const next = this.#recordEnd(end);
      if (next - from > blockBytesMax) break;
      end = next;
    }
    this.#block = Buffer.allocUnsafeSlow(end - from);
    this.#frame.copy(this.#block, 0, from, end);
    this.#blockFrom = from;
    this.#blockEnd = end;
  }

  #recordEnd(from: number): number {
    const view = this.#view;
    let at = from + recordHeaderBytes + Math.max(0, view.getInt32(from + 20)) + Math.max(0, view.getInt32(from + 24));
    for (let headers = view.getUint32(from + 28); headers > 0; headers--)
      at += headerHeaderBytes + view.getUint32(at) + view.getUint32(at + 4);
    return at;
  }

  #bytes(at: number, length: number): Buffer | null {
    this.#at = length === -1 ? at : at + length;
    return length === -1 ? null : this.#block.subarray(at - this.#blockFrom, at - this.#blockFrom + length);
  }
}

function viewOf(frame: Buffer): DataView {
  return new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
}
