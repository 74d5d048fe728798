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

/** The array itself where that is what `keptBytes` gives, or keeps little more than itself alive; else a copy. */
export function keep(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  const heldBytes = bytes.buffer.byteLength;
  // Many small arrays with memory of their own cost more than their bytes.
  if (length > slicedBytesMax ? heldBytes <= 2 * length : heldBytes === slabBytes) return bytes;
  const copy = keptBytes(length);
  copy.set(bytes);
  return copy;
}
