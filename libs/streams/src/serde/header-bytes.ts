/**
 * A record's headers where they are kept in a store. Integers are big-endian.
 *
 *   headers := (nameLength:u32 name:UTF-8 valueLength:u32 value)*
 */
import { readWord, writeWord } from '../core/sortable.js';
import { type Header, type Headers, noHeaders } from '../core/record.js';
import { asBuffer } from '../core/bytes.js';

const lengthBytes = 4;

export function headersToBytes(headers: Headers): Uint8Array {
  const names = headers.map(({ name }) => Buffer.from(name, 'utf8'));
  const length = headers.reduce((sum, { value }, index) => sum + 2 * lengthBytes + names[index]!.length + value.length, 0);
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  const append = (part: Uint8Array): void => {
    writeWord(bytes, at, part.length);
    bytes.set(part, at + lengthBytes);
    at += lengthBytes + part.length;
  };
  for (const [index, { value }] of headers.entries()) {
    append(names[index]!);
    append(value);
  }
  return bytes;
}

export function headersFromBytes(bytes: Uint8Array): Headers {
  if (bytes.length === 0) return noHeaders;
  const headers: Header[] = [];
  let at = 0;
  const next = (): Buffer => {
    const from = at + lengthBytes;
    at = from + readWord(bytes, at);
    return asBuffer(bytes).subarray(from, at);
  };
  while (at < bytes.length) headers.push({ name: next().toString('utf8'), value: next() });
  return headers;
}
