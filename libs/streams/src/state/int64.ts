/** 64-bit big-endian integers within the safe range of numbers, by two 32-bit halves: a BigInt costs an allocation per value. */

const twoTo32 = 4294967296;

/** @param value a safe integer; negative ones in two's complement. */
export function writeInt64(target: Uint8Array, offset: number, value: number): void {
  const high = Math.floor(value / twoTo32);
  const low = value - high * twoTo32;
  target[offset] = (high >>> 24) & 0xff;
  target[offset + 1] = (high >>> 16) & 0xff;
  target[offset + 2] = (high >>> 8) & 0xff;
  target[offset + 3] = high & 0xff;
  target[offset + 4] = (low >>> 24) & 0xff;
  target[offset + 5] = (low >>> 16) & 0xff;
  target[offset + 6] = (low >>> 8) & 0xff;
  target[offset + 7] = low & 0xff;
}

export function readInt64(source: Uint8Array, offset: number): number {
  return readInt32(source, offset) * twoTo32 + (readInt32(source, offset + 4) >>> 0);
}

function readInt32(source: Uint8Array, offset: number): number {
  return (source[offset]! << 24) | (source[offset + 1]! << 16) | (source[offset + 2]! << 8) | source[offset + 3]!;
}
