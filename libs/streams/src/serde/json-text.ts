/**
 * JSON text with exact integers.
 *
 * Grammar: JSON (RFC 8259), where whitespace tells a bigint from a number, so that both come back as what they were:
 *
 *     bigint   = safe HTAB / unsafe      ; safe: an integer within +-(2^53 - 1)
 *     number   = every other JSON number ; an integral number beyond 2^53 - 1 is written with an exponent
 *
 * Every JSON parser reads the same values; a tab cannot stand unescaped inside a string. An integer literal that a number cannot hold
 * exactly is read as bigint, whoever wrote it.
 */
import { types } from 'node:util';

const tab = '\t';
const stringOrNumber = /"[^"\\]*(?:\\[^][^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const integerLiteral = /^-?(?:0|[1-9]\d*)$/;
/** Characters that a value may follow. */
const beforeValue = ' \t\n\r[,:';
/** Text that stands in JSON as it is. */
const plainText = /^[\x20\x21\x23-\x5b\x5d-\x7e]{0,64}$/;

/** @throws SyntaxError when the text is not JSON */
export function parseJson(text: string): unknown {
  const firstTab = text.indexOf(tab);
  if (firstTab === -1) {
    const value: unknown = JSON.parse(text);
    return needsExactForm(value) ? parseUnsafe(text, markerFor(text)) : value;
  }
  const marker = markerFor(text);
  const marked = markTabbed(text, firstTab, marker);
  const value = revive(JSON.parse(marked), marker);
  return needsExactForm(value) ? parseUnsafe(marked, marker) : value;
}

/** The native parser does the work: integers become strings behind a marker first, and these become bigints afterwards. */
function parseUnsafe(text: string, marker: string): unknown {
  const marked = text.replace(stringOrNumber, (literal) => {
    if (literal.startsWith('"')) return literal;
    const number = Number(literal);
    if (integerLiteral.test(literal)) return Number.isSafeInteger(number) ? literal : `"${marker}${literal}"`;
    if (!Number.isFinite(number)) throw new SyntaxError(`the number ${literal.slice(0, 30)} is too large`);
    return literal;
  });
  return revive(JSON.parse(marked), marker);
}

/** Turns each integer that a tab follows into a string behind the marker. */
function markTabbed(text: string, firstTab: number, marker: string): string {
  let marked = '';
  let done = 0;
  for (let end = firstTab; end !== -1; end = text.indexOf(tab, end + 1)) {
    let start = end;
    while (start > done && isDigit(text.charCodeAt(start - 1))) start -= 1;
    if (start > done && text[start - 1] === '-') start -= 1;
    const literal = text.slice(start, end);
    // Not the digits of a fraction or an exponent, nor any other text: quoted, what follows a backslash would become another string.
    if (!integerLiteral.test(literal) || (start > 0 && !beforeValue.includes(text[start - 1]!))) continue;
    marked += `${text.slice(done, start)}"${marker}${literal}"`;
    done = end + 1;
  }
  return marked + text.slice(done);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/**
 * A lone surrogate cannot stand in decoded UTF-8 but as an escape, so one whose escape the text does not hold begins no string of it.
 */
function markerFor(text: string): string {
  const escapes = text.includes('\\u') ? text.toLowerCase() : '';
  let code = 0xdc00;
  while (escapes.includes(`\\u${code.toString(16)}`)) {
    code += 1;
    if (code > 0xdfff) throw new SyntaxError('the text holds every half of a surrogate pair as an escape');
  }
  return String.fromCharCode(code);
}

function revive(value: unknown, marker: string): unknown {
  if (typeof value === 'string') return value.startsWith(marker) ? BigInt(value.slice(1)) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) value[index] = revive(value[index], marker);
    return value;
  }
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    if (key.startsWith(marker)) throw new SyntaxError('a number stands where a property name belongs');
    const before = object[key];
    const after = revive(before, marker);
    if (after !== before) assignOwn(object, key, after);
  }
  return object;
}

/** As `object[key] = value`, also where the key is `__proto__`. */
export function assignOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

/** Whether the native writer and parser would change one of the value's numbers; also said of what hides its content behind a toJSON. */
function needsExactForm(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isSafeInteger(value) && (Number.isInteger(value) || !Number.isFinite(value));
  if (typeof value !== 'object' || value === null) return false;
  const object = value as Record<string, unknown>;
  if (typeof object['toJSON'] === 'function' && !(value instanceof Date)) return true;
  for (const key in object) {
    const member = object[key];
    if ((typeof member === 'number' || typeof member === 'object') && needsExactForm(member)) return true;
  }
  return false;
}

// ---- writing ---------------------------------------------------------------------------------------------------------------------

/**
 * What `JSON.stringify` writes, where there are no bigints and no large numbers; undefined where that gives undefined.
 * @throws TypeError when the value holds a bigint, or refers to itself
 */
export function stringifyPlain(value: unknown): string | undefined {
  // Some programs give bigints a toJSON, and with it a form that reads as something else.
  if ('toJSON' in BigInt.prototype) return stringifyExact(value);
  const text: string | undefined = JSON.stringify(value);
  return needsExactForm(value) ? stringifyExact(value) : text;
}

/**
 * As `JSON.stringify`, with bigints and large numbers as the grammar says; numbers that are not finite are refused, not written as null.
 * @throws RangeError also when the value is nested too deeply, or refers to itself
 */
export function stringifyExact(value: unknown): string | undefined {
  return write(value, '');
}

function write(given: unknown, key: string): string | undefined {
  const value = replaced(given, key);
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'number':
      if (!Number.isFinite(value)) throw new RangeError(`JSON has no form for the number ${value}`);
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value);
    case 'bigint':
      return isSafeBigint(value) ? `${value}\t` : String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? writeArray(value) : writeObject(value as Record<string, unknown>);
    case 'undefined':
    case 'function':
    case 'symbol':
      return undefined;
  }
}

function quoted(text: string): string {
  return plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}

function writeArray(value: readonly unknown[]): string {
  let text = '[';
  for (let index = 0; index < value.length; index += 1) {
    if (index > 0) text += ',';
    text += write(value[index], String(index)) ?? 'null';
  }
  return `${text}]`;
}

function writeObject(value: Record<string, unknown>): string {
  let text = '{';
  for (const key of Object.keys(value)) {
    const member = write(value[key], key);
    if (member === undefined) continue;
    text += text.length === 1 ? `${quoted(key)}:${member}` : `,${quoted(key)}:${member}`;
  }
  return `${text}}`;
}

/** What `JSON.stringify` writes in a value's place: the result of its `toJSON`, or what is in a wrapper object. */
function replaced(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { toJSON } = value as { readonly toJSON?: unknown };
  const result: unknown = typeof toJSON === 'function' ? toJSON.call(value, key) : value;
  return isWrapper(result) ? result.valueOf() : result;
}

function isWrapper(value: unknown): value is object {
  return types.isNumberObject(value) || types.isStringObject(value) || types.isBooleanObject(value) || types.isBigIntObject(value);
}

function isSafeBigint(value: bigint): boolean {
  return value <= 9007199254740991n && value >= -9007199254740991n;
}
