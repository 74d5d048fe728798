/**
 * A physical key as a string, which names an entry in the layers; the bytes are made of it when they are to be written.
 *
 *   mapKey := latin1(keyBytes)              of a data key whose first byte is above 0x01: text is its own map key, without being copied
 *           | latin1(physicalKey)           of any other data key
 *           | 0x00 latin1(physicalKey)      of the other kinds
 *
 * Map keys of one kind sort as their bytes do, and all of the data lies behind what is none.
 */
import { latin1Of } from '../core/bytes.js';
import { keptBytes } from './kept-bytes.js';
import { dataKind, reservedKind } from './layout.js';

/** Longer ones are written by Node, whose call costs more than a few bytes. */
const loopedMax = 48;
const otherKinds = 0;
const dataPrefix = String.fromCharCode(dataKind);

/** The map key of a data key without bytes: no other one of data is smaller. */
export const firstDataMapKey = dataPrefix;
/** Larger than all map keys, and none itself. */
export const afterDataMapKey = '\u0100';

export function mapKeyOf(physicalKey: Uint8Array): string {
  if (physicalKey[0] === dataKind) return dataMapKeyOfText(latin1Of(physicalKey, 1));
  return String.fromCharCode(otherKinds) + latin1Of(physicalKey);
}

/** Of a data key, by its bytes without the kind. */
export function dataMapKeyOf(keyBytes: Uint8Array): string {
  return dataMapKeyOfText(latin1Of(keyBytes));
}

/** Of a data key whose bytes are the characters of the text, all below 0x100. */
export function dataMapKeyOfText(text: string): string {
  return text.length > 0 && isPlain(text.charCodeAt(0)) ? text : dataPrefix + text;
}

/** Of what Tally keeps for a store under a name of its own. */
export function reservedMapKey(name: string): string {
  return mapKeyOf(Buffer.from(`${String.fromCharCode(reservedKind)}${name}`, 'utf8'));
}

/** The map key of the physical key with more bytes behind it, as characters. */
export function extendMapKey(mapKey: string, more: string): string {
  return mapKey === firstDataMapKey ? dataMapKeyOfText(more) : mapKey + more;
}

function isPlain(firstByte: number): boolean {
  return firstByte > dataKind;
}

/** How many bytes the physical key has. */
export function physicalKeyBytes(mapKey: string): number {
  const first = mapKey.charCodeAt(0);
  if (first === otherKinds) return mapKey.length - 1;
  return isPlain(first) ? mapKey.length + 1 : mapKey.length;
}

/** Writes the physical key: `physicalKeyBytes` of them. */
export function writePhysicalKey(mapKey: string, target: Buffer, at: number): void {
  const first = mapKey.charCodeAt(0);
  const from = first === otherKinds ? 1 : 0;
  let to = at;
  if (isPlain(first)) target[to++] = dataKind;
  const { length } = mapKey;
  if (length > loopedMax) target.write(mapKey.slice(from), to, 'latin1');
  else for (let index = from; index < length; index++) target[to++] = mapKey.charCodeAt(index);
}

/** Longer keys get arrays of their own. */
const scratchBytes = 1_024;

/** Makes physical keys behind a prefix, one after another in the same memory: each is valid until the next one is made. */
export class KeyScratch {
  readonly #memory: Buffer;
  /** By length: keys are often equally long. */
  readonly #views: (Buffer | undefined)[] = [];

  constructor(private readonly prefix: Uint8Array = new Uint8Array()) {
    this.#memory = Buffer.allocUnsafeSlow(prefix.length + scratchBytes);
    this.#memory.set(prefix);
  }

  ofMapKey(mapKey: string): Buffer {
    const key = this.#view(this.prefix.length + physicalKeyBytes(mapKey));
    writePhysicalKey(mapKey, key, this.prefix.length);
    return key;
  }

  ofBytes(physicalKey: Uint8Array): Buffer {
    const key = this.#view(this.prefix.length + physicalKey.length);
    key.set(physicalKey, this.prefix.length);
    return key;
  }

  #view(length: number): Buffer {
    if (length <= this.#memory.length) return (this.#views[length] ??= this.#memory.subarray(0, length));
    const own = Buffer.allocUnsafe(length);
    own.set(this.prefix);
    return own;
  }
}

/** The physical key, in an array that may be kept. */
export function physicalKeyOf(mapKey: string): Uint8Array {
  const key = keptBytes(physicalKeyBytes(mapKey));
  writePhysicalKey(mapKey, key, 0);
  return key;
}
