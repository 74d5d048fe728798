/**
 * Bytes that sort as what they stand for.
 *
 *   sortableTime := i64 big-endian with its sign bit inverted: negative times sort before positive ones
 *   escapedKey   := (byte other than 0x00 | 0x00 0x01)* 0x00 0x00
 *
 * No escaped key is the beginning of another one, and a key sorts before those that begin with it, whatever follows it: so the entries of one
 * key lie together, and those of different keys in the order of the keys.
 */
import { assert } from './assert.js';
import { asBuffer } from './bytes.js';

export const timeBytes = 8;

const twoTo32 = 4294967296;
const twoTo31 = 2147483648;

/** @param timeMs a safe integer. */
export function writeTime(target: Uint8Array, offset: number, timeMs: number): void {
  const high = Math.floor(timeMs / twoTo32);
  const low = timeMs - high * twoTo32;
  const shifted = high + twoTo31;
  target[offset] = (shifted >>> 24) & 0xff;
  target[offset + 1] = (shifted >>> 16) & 0xff;
  target[offset + 2] = (shifted >>> 8) & 0xff;
  target[offset + 3] = shifted & 0xff;
  target[offset + 4] = (low >>> 24) & 0xff;
  target[offset + 5] = (low >>> 16) & 0xff;
  target[offset + 6] = (low >>> 8) & 0xff;
  target[offset + 7] = low & 0xff;
}

export function readTime(source: Uint8Array, offset: number): number {
  return (readWord(source, offset) - twoTo31) * twoTo32 + readWord(source, offset + 4);
}

/** A new array with the time, and room for `more` bytes behind it. */
export function sortableTime(timeMs: number, more = 0): Buffer {
  const bytes = Buffer.allocUnsafe(timeBytes + more);
  writeTime(bytes, 0, timeMs);
  return bytes;
}

/** Unsigned, big-endian. */
export function readWord(source: Uint8Array, offset: number): number {
  return ((source[offset]! << 24) | (source[offset + 1]! << 16) | (source[offset + 2]! << 8) | source[offset + 3]!) >>> 0;
}

export function writeWord(target: Uint8Array, offset: number, value: number): void {
  target[offset] = value >>> 24;
  target[offset + 1] = (value >>> 16) & 0xff;
  target[offset + 2] = (value >>> 8) & 0xff;
  target[offset + 3] = value & 0xff;
}

/** A new array: the prefix byte and the escaped key. */
export function escapedKey(prefix: number, key: Uint8Array): Buffer {
  let zeros = 0;
  for (const byte of key) if (byte === 0) zeros++;
  const escaped = Buffer.allocUnsafe(key.byteLength + zeros + 3);
  escaped[0] = prefix;
  let at = 1;
  if (zeros === 0) {
    escaped.set(key, 1);
    at += key.byteLength;
  } else {
    for (const byte of key) {
      escaped[at++] = byte;
      if (byte === 0) escaped[at++] = 1;
    }
  }
  escaped[at] = 0;
  escaped[at + 1] = 0;
  return escaped;
}

/** Length of the escaped key that begins at the offset, its end mark included. */
export function escapedKeyBytes(bytes: Uint8Array, offset: number): number {
  const buffer = asBuffer(bytes);
  let at = buffer.indexOf(0, offset);
  while (at >= 0 && bytes[at + 1] === 1) at = buffer.indexOf(0, at + 2);
  assert(at >= 0 && bytes[at + 1] === 0, 'an escaped key has an end');
  return at + 2 - offset;
}

/** A new array: what was escaped. */
export function unescapedKey(bytes: Uint8Array, offset: number, length: number): Buffer {
  const key = Buffer.allocUnsafe(length - 2);
  let end = 0;
  for (let at = offset; at < offset + length - 2; at++) {
    const byte = bytes[at]!;
    key[end++] = byte;
    if (byte === 0) at++;
  }
  return key.subarray(0, end);
}
