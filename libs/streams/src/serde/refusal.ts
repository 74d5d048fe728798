import { CorruptDataError, RecordRefusedError } from '../core/errors.js';

/** Shows a value in a message, shortened: it may be large, and messages end up in headers of dead letters. */
function show(value: unknown): string {
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'an array' : `an object of ${value.constructor?.name ?? 'no class'}`;
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  const text = typeof value === 'string' ? JSON.stringify(value) : typeof value === 'bigint' ? `${value}n` : String(value);
  return `${typeof value} ${text.length > 60 ? `${text.slice(0, 60)}...` : text}`;
}

/** The value is not one that the serde can write. */
export function refusedValue(serde: string, value: unknown, expected: string, cause?: unknown): RecordRefusedError {
  return new RecordRefusedError('VALUE_NOT_SERIALIZABLE', `${serde} cannot write ${show(value)}: ${expected}.`, undefined, cause);
}

/** The bytes are not ones that the serde can have written. */
export function corruptBytes(serde: string, expected: string, cause?: unknown): CorruptDataError {
  return new CorruptDataError('BYTES_NOT_DESERIALIZABLE', `${serde} cannot read these bytes: ${expected}.`, undefined, cause);
}

export function corruptLength(serde: string, expected: string, bytes: Uint8Array): CorruptDataError {
  return corruptBytes(serde, `expected ${expected}, there are ${bytes.length} bytes`);
}
