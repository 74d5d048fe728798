/**
 * Small arrays that stay for long. Node's own pool mixes them with arrays that live for a moment, and each that stays keeps its whole slab of
 * 8 kB: here a slab holds nothing else, and is small.
 */
const slabBytes = 1024;
/** Larger ones have memory of their own. */
const slicedBytesMax = slabBytes / 4;

let slab = Buffer.allocUnsafeSlow(slabBytes);
let used = 0;

/** An array whose contents the caller writes, all of them. */
export function keptBytes(length: number): Buffer {
  if (length > slicedBytesMax) return Buffer.allocUnsafeSlow(length);
  if (used + length > slabBytes) {
    slab = Buffer.allocUnsafeSlow(slabBytes);
    used = 0;
  }
  const bytes = slab.subarray(used, used + length);
  used += length;
  return bytes;
}

/** A copy of a small array, which may be a slice of anything; a large one itself, unless it is a slice of more than twice its bytes. */
export function keep(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  if (length > slicedBytesMax && bytes.buffer.byteLength <= 2 * length) return bytes;
  const copy = keptBytes(length);
  copy.set(bytes);
  return copy;
}
