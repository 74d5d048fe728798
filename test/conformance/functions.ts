/** The library of functions that scenarios name: `name` or `name:argument`. */
import { type Data, isWindowed, long, numberOf, numberOrNull, type Present, text, textOf, type Type } from './types.js';

/** A function with the type of its result. */
export interface Typed<F> {
  readonly call: F;
  readonly type: Type;
}

export type OfRecord<R> = (value: Data, key: Data) => R;

interface Named {
  readonly name: string;
  readonly argument: string;
}

function parse(spec: string): Named {
  const colon = spec.indexOf(':');
  return colon < 0 ? { name: spec, argument: '' } : { name: spec.slice(0, colon), argument: spec.slice(colon + 1) };
}

function noSuch(family: string, name: string): Error {
  return new Error(`There is no ${family} "${name}".`);
}

function field(source: string, index: number): string | null {
  return source.split(',')[index] ?? null;
}

/** Of text alone: null in, null out. */
function mapText(argument: string): Readonly<Record<string, (of: string) => string | null>> {
  return {
    upper: (of) => of.toUpperCase(),
    lower: (of) => of.toLowerCase(),
    append: (of) => of + argument,
    prepend: (of) => argument + of,
    toString: (of: string) => of,
    first: (of) => of.slice(0, Number(argument)),
    prefix: (of) => of.slice(0, Number(argument)),
    fieldOf: (of) => field(of, Number(argument)),
    nullIf: (of) => (of === argument ? null : of),
  };
}

export function valueMapper(spec: string, value: Type, key: Type): Typed<OfRecord<Data>> {
  const { name, argument } = parse(spec);
  const str = (of: Data): string => textOf(of, value);
  const present = (f: (of: Present) => Data, type: Type): Typed<OfRecord<Data>> => ({
    type,
    call: (of: Data) => (of === null ? null : f(of)),
  });
  switch (name) {
    case 'identity':
      return { type: value, call: (of) => of };
    case 'toNull':
      return { type: value, call: () => null };
    case 'failOn':
      return {
        type: value,
        call: (of) => {
          if (str(of) === argument) throw new Error(`The function failOn met "${argument}".`);
          return of;
        },
      };
    case 'constant':
      return { type: text, call: () => argument };
    case 'keyValue':
      return { type: text, call: (of, ofKey) => `${textOf(ofKey, key)}:${str(of)}` };
    case 'nullTo':
      return { type: text, call: (of) => (of === null ? argument : str(of)) };
    case 'length':
      return present((of) => BigInt(str(of).length), long);
    case 'parseInt':
      return { type: long, call: (of) => numberOrNull(of) };
    case 'plus':
      return present((of) => numberOf(of) + BigInt(argument), long);
    case 'times':
      return present((of) => numberOf(of) * BigInt(argument), long);
    default: {
      const map = mapText(argument)[name];
      if (map === undefined || name === 'prefix') throw noSuch('value mapper', name);
      return present((of) => map(str(of)), text);
    }
  }
}

const ofValue: Readonly<Record<string, string>> = { value: 'toString', valuePrefix: 'prefix', valueField: 'fieldOf' };
const ofKey = ['toString', 'upper', 'append', 'prefix', 'fieldOf'];

export function keySelector(spec: string, key: Type, value: Type): Typed<OfRecord<Data>> {
  const { name, argument } = parse(spec);
  switch (name) {
    case 'identity':
      return { type: key, call: (_value, of) => of };
    case 'unwindow':
      if (!isWindowed(key)) throw new Error('The function unwindow needs a windowed key.');
      return { type: key.inner, call: (_value, of) => (of !== null && typeof of === 'object' ? of.key : of) };
    case 'toNull':
      return { type: text, call: () => null };
    case 'constant':
      return { type: text, call: () => argument };
    default: {
      const functions = mapText(argument);
      const onValue = functions[ofValue[name] ?? ''];
      if (onValue !== undefined) return { type: text, call: (of) => (of === null ? null : onValue(textOf(of, value))) };
      const onKey = ofKey.includes(name) ? functions[name] : undefined;
      if (onKey === undefined) throw noSuch('key selector', name);
      return { type: text, call: (_value, of) => (of === null ? null : onKey(textOf(of, key))) };
    }
  }
}

export function predicate(spec: string, value: Type, key: Type): OfRecord<boolean> {
  const { name, argument } = parse(spec);
  const str = (of: Data): string => textOf(of, value);
  const present =
    (holds: (of: string) => boolean): OfRecord<boolean> =>
    (of) =>
      of !== null && holds(str(of));
  switch (name) {
    case 'always':
      return () => true;
    case 'never':
      return () => false;
    case 'valueNotNull':
      return (of) => of !== null;
    case 'keyNotNull':
      return (_value, of) => of !== null;
    case 'lengthGreaterThan':
      return present((of) => of.length > Number(argument));
    case 'startsWith':
      return present((of) => of.startsWith(argument));
    case 'contains':
      return present((of) => of.includes(argument));
    case 'equals':
      return present((of) => of === argument);
    case 'keyStartsWith':
      return (_value, of) => of !== null && textOf(of, key).startsWith(argument);
    case 'intEven':
      return (of) => numberOrNull(of) !== null && numberOf(of) % 2n === 0n;
    case 'intGreaterThan':
      return (of) => numberOrNull(of) !== null && numberOf(of) > BigInt(argument);
    default:
      throw noSuch('predicate', name);
  }
}

/** Reducers, aggregators, subtractors and the mergers of sessions. The key's type is that of the key that is given. */
export type Fold = (aggregate: Data, value: Data, key: Data) => Data;

export function fold(spec: string, aggregate: Type, value: Type, key: Type): Fold {
  const { name, argument } = parse(spec);
  const isLong = aggregate.kind === 'long';
  const str = (of: Data): string => textOf(of, value);
  const before = (of: Data): string => (of === null ? '' : textOf(of, aggregate));
  const number = (of: bigint): Data => (isLong ? of : String(of));
  const last = (of: Data): Data => (of === null ? null : isLong ? numberOf(of) : str(of));
  const folds: Readonly<Record<string, Fold>> = {
    concat: (a, v) => before(a) + str(v),
    join: (a, v) => before(a) + argument + str(v),
    keyed: (a, v, k) => `${before(a)}(${textOf(k, key)}=${str(v)})`,
    resetOn: (a, v) => (str(v) === argument ? null : before(a) + str(v)),
    sum: (a, v) => number(numberOf(a) + numberOf(v)),
    subtract: (a, v) => number(numberOf(a) - numberOf(v)),
    max: (a, v) => number(a === null || numberOf(v) > numberOf(a) ? numberOf(v) : numberOf(a)),
    min: (a, v) => number(a === null || numberOf(v) < numberOf(a) ? numberOf(v) : numberOf(a)),
    count: (a) => number(numberOf(a) + 1n),
    uncount: (a) => number(numberOf(a) - 1n),
    last: (_a, v) => last(v),
    first: (a, v) => a ?? last(v),
    keep: (a) => a,
    toNull: () => null,
  };
  const found = folds[name];
  if (found === undefined) throw noSuch('fold', name);
  if (isLong && ['concat', 'join', 'keyed', 'resetOn'].includes(name)) throw new Error(`The fold ${name} needs a text aggregate.`);
  return found;
}

export type Joiner = (left: Data, right: Data, key: Data) => Data;

export function joiner(spec: string, left: Type, right: Type, key: Type): Typed<Joiner> {
  const pair = (a: Data, b: Data): string => `${textOf(a, left)}|${textOf(b, right)}`;
  switch (parse(spec).name) {
    case 'pair':
      return { type: text, call: pair };
    case 'keyedPair':
      return { type: text, call: (a, b, k) => `${textOf(k, key)}=${pair(a, b)}` };
    case 'left':
      return { type: left, call: (a) => a };
    case 'right':
      return { type: right, call: (_a, b) => b };
    case 'sum':
      return { type: long, call: (a, b) => numberOf(a) + numberOf(b) };
    case 'toNull':
      return { type: text, call: () => null };
    case 'nullIfEqual':
      return { type: text, call: (a, b) => (textOf(a, left) === textOf(b, right) ? null : pair(a, b)) };
    default:
      throw noSuch('joiner', spec);
  }
}

function words(of: Data, type: Type): string[] {
  return of === null
    ? []
    : textOf(of, type)
        .split(' ')
        .filter((word) => word !== '');
}

export function flatValueMapper(spec: string, value: Type): Typed<(of: Data) => Data[]> {
  const { name, argument } = parse(spec);
  switch (name) {
    case 'splitWords':
      return { type: text, call: (of) => words(of, value) };
    case 'splitChars':
      return { type: text, call: (of) => (of === null ? [] : textOf(of, value).split('')) };
    case 'repeat':
      return { type: value, call: (of) => Array.from({ length: Number(argument) }, () => of) };
    case 'none':
      return { type: value, call: () => [] };
    default:
      throw noSuch('flat value mapper', name);
  }
}

export interface FlatMapper {
  readonly call: (value: Data, key: Data) => (readonly [key: Data, value: Data])[];
  readonly key: Type;
  readonly value: Type;
}

export function flatMapper(spec: string, key: Type, value: Type): FlatMapper {
  const { name, argument } = parse(spec);
  const orNull = (of: Data, type: Type): string | null => (of === null ? null : textOf(of, type));
  switch (name) {
    case 'splitWords':
      return { key, value: text, call: (v, k) => words(v, value).map((word) => [k, word] as const) };
    case 'wordsAsKeys':
      return { key: text, value, call: (v) => words(v, value).map((word) => [word, v] as const) };
    case 'swap':
      return { key: text, value: text, call: (v, k) => [[orNull(v, value), orNull(k, key)]] };
    case 'repeat':
      return { key, value, call: (v, k) => Array.from({ length: Number(argument) }, () => [k, v] as const) };
    case 'none':
      return { key, value, call: () => [] };
    default:
      throw noSuch('flat mapper', name);
  }
}
