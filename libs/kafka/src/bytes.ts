/**
 * Empty bytes that stay empty. The native client takes `Buffer.alloc(0)` for null, because such a buffer has no address; an empty slice
 * from the middle of a buffer has one.
 */
const backing = Buffer.allocUnsafeSlow(16);

export const emptyBytes: Uint8Array = backing.subarray(8, 8);

/** Bytes as the native client takes them: null stays null, empty stays empty. It accepts any typed array of bytes without a copy. */
export function toNativeBytes(bytes: Uint8Array | null): Uint8Array | null {
  return bytes !== null && bytes.length === 0 ? emptyBytes : bytes;
}
