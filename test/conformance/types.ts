/** The static types of keys and values in a scenario, and their canonical text and number. Longs are bigint here. */
import { type AnySerde, int64, nullable, type Serde, sessionWindowed, string, timeWindowed, type Windowed } from '@tally/streams';
import type { Scalar } from './scenario.js';

export type Type =
  | { readonly kind: 'string' }
  | { readonly kind: 'long' }
  | { readonly kind: 'time'; readonly inner: Type; readonly sizeMs: number }
  | { readonly kind: 'session'; readonly inner: Type };

/** Keys and rows of tables. */
export type Present = string | bigint | WindowedKey;
interface WindowedKey extends Windowed<Present> {}

/** Keys and values of streams. */
export type Data = Present | null;

export const text: Type = { kind: 'string' };
export const long: Type = { kind: 'long' };

export function typeNamed(name: string | undefined): Type {
  if (name === undefined || name === 'string') return text;
  if (name === 'long') return long;
  throw new Error(`There is no type "${name}".`);
}

export function isSameType(left: Type, right: Type): boolean {
  return serdeOf(left).name === serdeOf(right).name;
}

export function isWindowed(type: Type): type is Extract<Type, { inner: Type }> {
  return type.kind === 'time' || type.kind === 'session';
}

/** For stores, whose keys and values are never null. */
export function serdeOf(type: Type): Serde<Present> {
  return untyped(type) as Serde<Present>;
}

function untyped(type: Type): AnySerde {
  switch (type.kind) {
    case 'string':
      return string();
    case 'long':
      return int64();
    case 'time':
      return timeWindowed(serdeOf(type.inner), { sizeMs: type.sizeMs });
    case 'session':
      return sessionWindowed(serdeOf(type.inner));
  }
}

/** For topics. */
export function nullableSerdeOf(type: Type): Serde<Data> {
  return nullable(serdeOf(type));
}

/** `key@[start,end)` for time windows, `key@[start,end]` for sessions. */
export function textOf(data: Data, type: Type): string {
  if (data === null) return 'null';
  if (typeof data !== 'object') return String(data);
  if (!isWindowed(type)) throw new Error(`A windowed key is no ${type.kind}.`);
  return `${textOf(data.key, type.inner)}@[${data.startMs},${endText(data.endMs)}${type.kind === 'session' ? ']' : ')'}`;
}

/** The oracle ends with the largest time that it has what never ends. */
function endText(endMs: number): string {
  return endMs >= Number.MAX_SAFE_INTEGER ? '9223372036854775807' : String(endMs);
}

/** The number of a long or of text that is one; null of anything else. */
export function numberOrNull(data: Data): bigint | null {
  if (typeof data === 'bigint') return data;
  return typeof data === 'string' && /^-?[0-9]{1,9}$/.test(data) ? BigInt(data) : null;
}

export function numberOf(data: Data): bigint {
  return numberOrNull(data) ?? 0n;
}

/** As a result shows it. */
export function shown(data: Data, type: Type): Scalar {
  if (data === null) return null;
  return typeof data === 'bigint' ? Number(data) : textOf(data, type);
}

/** From an event. */
export function parsed(scalar: Scalar, type: Type): Data {
  if (scalar === null) return null;
  return type.kind === 'long' ? BigInt(scalar) : String(scalar);
}
