/** Byte strings, ordered as LevelDB orders them: byte by byte, unsigned, a prefix before what it begins. */

export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  return Buffer.compare(left, right);
}

export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && Buffer.compare(left, right) === 0;
}

/** A new array with the parts one after the other. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const all = Buffer.allocUnsafe(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** As a string of as many characters, which sorts as the bytes do. */
export function latin1Of(bytes: Uint8Array, from = 0): string {
  return asBuffer(bytes).toString('latin1', from);
}

/** The same memory as a Buffer, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
