/**
 * A physical key as a string: its bytes as latin-1, which sorts as the bytes do. It names an entry in the layers; the bytes are made of it
 * when they are to be written.
 */
import { keptBytes } from './kept-bytes.js';

/** Longer ones are written by Node, whose call costs more than a few bytes. */
const loopedMax = 48;

export function mapKeyOf(key: Uint8Array): string {
  const bytes = Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.byteLength);
  return bytes.toString('latin1');
}

/** Writes the key's bytes: as many as it has characters. */
export function writeMapKey(mapKey: string, target: Buffer, at: number): void {
  const { length } = mapKey;
  if (length > loopedMax) target.write(mapKey, at, length, 'latin1');
  else for (let index = 0; index < length; index++) target[at + index] = mapKey.charCodeAt(index);
}

/** The key's bytes, in an array that may be kept. */
export function keyOfMapKey(mapKey: string): Uint8Array {
  const key = keptBytes(mapKey.length);
  writeMapKey(mapKey, key, 0);
  return key;
}
