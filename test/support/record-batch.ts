/**
 * Kafka's record batch, version 2, uncompressed. Imports nothing of the engine, so that it cannot share its mistakes.
 *
 *     batch   := baseOffset:int64 length:int32 leaderEpoch:int32 magic:int8 crc:uint32 attributes:int16 lastOffsetDelta:int32
 *                baseTimestamp:int64 maxTimestamp:int64 producerId:int64 producerEpoch:int16 baseSequence:int32 count:int32 record*
 *     record  := length:varint attributes:int8 timestampDelta:varint offsetDelta:varint data(key) data(value) count:varint header*
 *     header  := data(name) data(value)
 *     data    := length:varint octet*        length -1 is null
 *
 * The checksum is CRC-32C over everything from the attributes on.
 */
export interface RawHeader {
  readonly name: string | Uint8Array;
  readonly value: Uint8Array | null;
}

export interface RawRecord {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly timestampMs: number;
  readonly headers: readonly RawHeader[];
}

export interface StoredRecord extends RawRecord {
  readonly partition: number;
  readonly offset: number;
}

const crcAt = 17;
const attributesAt = 21;
const recordsAt = 61;
const compressionMask = 7;
const transactionalFlag = 16;
const controlFlag = 32;
const abortMarker = 0;

export function encodeBatch(records: readonly RawRecord[]): Buffer {
  const base = records[0]?.timestampMs ?? 0;
  const parts = records.map((record, index) => {
    const headers = record.headers.map(({ name, value }) => Buffer.concat([data(Buffer.from(name as string)), data(value)]));
    const body = Buffer.concat([
      Buffer.from([0]),
      varint(record.timestampMs - base),
      varint(index),
      data(record.key),
      data(record.value),
      varint(headers.length),
      ...headers,
    ]);
    return Buffer.concat([varint(body.length), body]);
  });
  const head = Buffer.alloc(recordsAt);
  const batch = Buffer.concat([head, ...parts]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt32BE(-1, 12);
  batch.writeInt8(2, 16);
  batch.writeInt32BE(records.length - 1, 23);
  batch.writeBigInt64BE(BigInt(base), 27);
  batch.writeBigInt64BE(BigInt(records.reduce((latest, { timestampMs }) => Math.max(latest, timestampMs), base)), 35);
  batch.writeBigInt64BE(-1n, 43);
  batch.writeInt16BE(-1, 51);
  batch.writeInt32BE(-1, 53);
  batch.writeInt32BE(records.length, 57);
  batch.writeUInt32BE(crc32c(batch.subarray(attributesAt)), crcAt);
  return batch;
}

export interface DecodedBatches {
  readonly records: readonly StoredRecord[];
  readonly nextOffset: number;
  readonly isEmpty: boolean;
}

/** Committed records at or behind the offset; a batch that was cut off at the end is left for the next fetch. */
export function decodeBatches(
  bytes: Buffer,
  partition: number,
  fromOffset: number,
  aborted: readonly { readonly producerId: number; readonly firstOffset: number }[],
): DecodedBatches {
  const records: StoredRecord[] = [];
  const aborting = new Set<number>();
  const abortions = [...aborted].sort((left, right) => left.firstOffset - right.firstOffset);
  let nextOffset = fromOffset;
  let isEmpty = true;
  for (let at = 0; at + recordsAt <= bytes.length;) {
    const length = 12 + bytes.readInt32BE(at + 8);
    if (at + length > bytes.length) break;
    const batch = bytes.subarray(at, at + length);
    at += length;
    isEmpty = false;
    const baseOffset = Number(batch.readBigInt64BE(0));
    const producerId = Number(batch.readBigInt64BE(43));
    nextOffset = baseOffset + batch.readInt32BE(23) + 1;
    while (abortions[0] !== undefined && abortions[0].firstOffset < nextOffset) aborting.add(abortions.shift()?.producerId ?? -1);
    const attributes = batch.readInt16BE(attributesAt);
    if ((attributes & controlFlag) !== 0) {
      if (isAbortMarker(batch)) aborting.delete(producerId);
      continue;
    }
    if ((attributes & transactionalFlag) !== 0 && aborting.has(producerId)) continue;
    records.push(...decodeBatch(batch, partition).filter(({ offset }) => offset >= fromOffset));
  }
  return { records, nextOffset, isEmpty };
}

function isAbortMarker(batch: Buffer): boolean {
  const [marker] = decodeBatch(batch, 0);
  return marker !== undefined && marker.key !== null && Buffer.from(marker.key).readInt16BE(2) === abortMarker;
}

function decodeBatch(batch: Buffer, partition: number): StoredRecord[] {
  if (batch.readUInt32BE(crcAt) !== crc32c(batch.subarray(attributesAt))) throw new Error('A record batch does not match its checksum.');
  if ((batch.readInt16BE(attributesAt) & compressionMask) !== 0) throw new Error('A record batch is compressed.');
  const baseOffset = Number(batch.readBigInt64BE(0));
  const baseTimestamp = Number(batch.readBigInt64BE(27));
  const reader = new VarintReader(batch, recordsAt);
  return Array.from({ length: batch.readInt32BE(57) }, () => {
    reader.varint();
    reader.at++;
    const timestampMs = baseTimestamp + reader.varint();
    const offset = baseOffset + reader.varint();
    const key = reader.data();
    const value = reader.data();
    const headers = Array.from({ length: reader.varint() }, () => ({ name: String(reader.data() ?? ''), value: reader.data() }));
    return { partition, offset, key, value, timestampMs, headers };
  });
}

class VarintReader {
  constructor(
    private readonly bytes: Buffer,
    public at: number,
  ) {}

  varint(): number {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes.readUInt8(this.at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number((value >> 1n) ^ -(value & 1n));
    }
  }

  data(): Buffer | null {
    const length = this.varint();
    return length < 0 ? null : Buffer.from(this.bytes.subarray(this.at, (this.at += length)));
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value < 0 ? (BigInt(-value) << 1n) - 1n : BigInt(value) << 1n;
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

function data(bytes: Uint8Array | null): Buffer {
  return bytes === null ? varint(-1) : Buffer.concat([varint(bytes.length), bytes]);
}

const castagnoli = 0x82f63b78;
const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = (value & 1) === 1 ? (value >>> 1) ^ castagnoli : value >>> 1;
  return value >>> 0;
});

function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (table[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
