import type { StandardSchemaV1 } from '@standard-schema/spec';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CorruptDataError, InvalidConfigurationError, RecordRefusedError } from '../core/errors.js';
import { json, nullable } from './index.js';

const text = (encoded: Uint8Array | null): string => Buffer.from(encoded!).toString('utf8');
const read = (source: string): unknown => json<unknown>().deserialize(Buffer.from(source));
const write = (value: unknown): string => text(json<unknown>().serialize(value));

const jsonValues = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' });
const { values } = fc.letrec<{ value: unknown; values: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.bigInt(),
    fc.bigInt({ min: -(2n ** 53n) - 2n, max: 2n ** 53n + 2n }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('1\t', '"', '\udc00', '\\udc00', '12345678901234567890', null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toString', '\udc005')), tie('value'), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  ),
  values: tie('value').filter((value) => value !== null),
}));

/** -0 has no form of its own in JSON. */
const withoutNegativeZero = (value: unknown): unknown => (Object.is(value, -0) ? 0 : value);

describe('json without a schema', () => {
  it('brings bigints back as bigints and numbers as numbers, however large or small', () => {
    fc.assert(
      fc.property(values, (value) => {
        const serde = json<unknown>();
        expect(serde.deserialize(serde.serialize(value)!)).toStrictEqual(withoutNegativeZero(value));
      }),
      { numRuns: 500 },
    );
  });

  it('writes what JSON.stringify writes, where there are no bigints and no large numbers', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        const isPlain = !/\d{16}/.test(JSON.stringify(value));
        fc.pre(value !== null && isPlain);
        expect(write(value)).toBe(JSON.stringify(value));
        expect(JSON.parse(write({ value, marked: 1n }))).toEqual(JSON.parse(`{"value":${JSON.stringify(value)},"marked":1}`));
      }),
    );
  });

  it('writes bigints as integers that every other parser reads', () => {
    const written = write({ amount: 5n, large: 12345678901234567890n, list: [-1n, 0n] });
    expect(written.replaceAll('\t', '')).toBe('{"amount":5,"large":12345678901234567890,"list":[-1,0]}');
    expect(JSON.parse(written)).toMatchObject({ amount: 5, list: [-1, 0] });
  });

  it('reads what JSON.parse reads, and refuses what it refuses', () => {
    const pieces = fc.array(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '"a"',
        '\\',
        '1',
        '-',
        '0',
        '.5',
        'e3',
        '\t',
        ' ',
        '01',
        'true',
        '12345678901234567890',
      ),
    );
    fc.assert(
      fc.property(
        pieces.map((parts) => parts.join('')),
        (source) => {
          let expected: unknown;
          try {
            expected = JSON.parse(source, (_key, member: unknown) => {
              if (member === Infinity || member === -Infinity) throw new RangeError('too large');
              return member;
            });
          } catch {
            expect(() => read(source)).toThrow(CorruptDataError);
            return;
          }
          const asNumbers = (value: unknown): unknown =>
            JSON.parse(JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? Number(member) : member)));
          expect(asNumbers(read(source))).toEqual(asNumbers(expected));
        },
      ),
      { examples: [['"\\12345678901234567890\t'], ['"a\\1\t']], numRuns: 3000 },
    );
  });

  it('keeps every digit of integers from other programs', () => {
    expect(read('{"id":9007199254740993,"s":"9007199254740993","n":9007199254740991}')).toEqual({
      id: 9007199254740993n,
      s: '9007199254740993',
      n: 9007199254740991,
    });
    expect(read(`[1.5e20, ${'9'.repeat(400)}]`)).toEqual([1.5e20, BigInt('9'.repeat(400))]);
    expect(read('{"a\\"1234567890123456789":-12345678901234567890.5}')).toEqual({ 'a"1234567890123456789': -1.2345678901234567e19 });
    expect(read('[\n\t5,\n\t-6.25,\n\t7e2\t,\n\t1e-7\t]')).toEqual([5, -6.25, 700, 1e-7]);
  });

  it('writes large numbers so that they stay numbers', () => {
    for (const number of [2 ** 53, -(2 ** 60), 1e20, 1.7976931348623157e308]) expect(read(write({ number }))).toEqual({ number });
  });

  it('reads a text of a megabyte with a large integer in it', () => {
    const long = 'a\\"'.repeat(350_000);
    expect(read(`{"long":"${long}","n":12345678901234567890}`)).toEqual({ long: 'a"'.repeat(350_000), n: 12345678901234567890n });
  });

  it('honours toJSON and wrapper objects as JSON.stringify does, with and without bigints', () => {
    class Money {
      constructor(readonly cents: bigint) {}
      toJSON(): unknown {
        return { cents: this.cents };
      }
    }
    const at = new Date(0);
    expect(write({ at })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
    expect(read(write({ at, money: new Money(3n), wrapped: [Object(1), Object('a'), Object(true)] }))).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      money: { cents: 3n },
      wrapped: [1, 'a', true],
    });
    expect(write({ skipped: undefined, listed: [undefined], marked: 1n })).toBe('{"listed":[null],"marked":1\t}');
  });

  it('refuses what JSON has no form for', () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    for (const value of [
      undefined,
      () => 1,
      Symbol('a'),
      NaN,
      { deep: [Infinity] },
      { deep: [-Infinity], marked: 1n },
      circular,
      { circular, marked: 1n },
    ]) {
      expect(() => json<unknown>().serialize(value)).toThrow(RecordRefusedError);
    }
    expect(() => json<unknown>().serialize({ circular })).toThrow('circular');
  });

  it('leaves null to nullable', () => {
    expect(() => json<unknown>().serialize(null)).toThrow('wrap the serde in nullable()');
    expect(() => read('null')).toThrow('null is written as no bytes at all');
    expect(nullable(json<number>()).serialize(null)).toBeNull();
    expect(read('[null]')).toEqual([null]);
  });

  it('refuses bytes that are no JSON, and says where', () => {
    for (const source of ['', '{', '{"a":1,}', 'NaN', '\ufeff{}', '{5\t:1}', '[01\t]', '[1e999]'])
      expect(() => read(source)).toThrow(CorruptDataError);
    expect(() => json().deserialize(Buffer.from([0x22, 0xff, 0x22]))).toThrow('json cannot read these bytes: they are not valid UTF-8');
  });

  it('does not set prototypes', () => {
    const value = read('{"__proto__":{"a":5\t},"b":6\t}') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.entries(value)).toEqual([
      ['__proto__', { a: 5n }],
      ['b', 6n],
    ]);
  });
});

describe('json where bigints were given a toJSON', () => {
  afterEach(() => {
    delete (BigInt.prototype as { toJSON?: unknown }).toJSON;
  });
  it('writes them as integers all the same', () => {
    (BigInt.prototype as { toJSON?: () => string }).toJSON = function toJSON(this: bigint) {
      return this.toString();
    };
    expect(write({ amount: 5n })).toBe('{"amount":5\t}');
  });
});

describe('json with a schema', () => {
  const Payment = z.object({
    id: z.string(),
    amount: z.bigint(),
    parts: z.array(z.object({ cents: z.bigint(), share: z.number() })).optional(),
  });
  const foreign = (source: string): Uint8Array => Buffer.from(source);

  it('reads what it writes', () => {
    const serde = json(Payment);
    const payment = { id: 'a', amount: 5n, parts: [{ cents: 1n, share: 1 }] };
    expect(serde.deserialize(serde.serialize(payment)!)).toEqual(payment);
  });

  it('turns integers of other programs into the bigints that the schema asks for, at first and later', () => {
    const serde = json(Payment);
    for (const count of [1, 2, 0, 3]) {
      const parts = Array.from({ length: count }, (_, index) => ({ cents: index, share: index }));
      const value = serde.deserialize(foreign(JSON.stringify({ id: 'a', amount: count, parts })));
      expect(value).toEqual({ id: 'a', amount: BigInt(count), parts: parts.map(({ cents, share }) => ({ cents: BigInt(cents), share })) });
    }
    expect(serde.deserialize(foreign('{"id":"a","amount":12345678901234567890}')).amount).toBe(12345678901234567890n);
  });

  it('asks the schema once when it has seen a payment before', () => {
    let calls = 0;
    const counting: StandardSchemaV1<unknown, z.infer<typeof Payment>> = {
      '~standard': { ...Payment['~standard'], validate: (value) => ((calls += 1), Payment['~standard'].validate(value)) },
    };
    const serde = json(counting);
    const source = foreign('{"id":"a","amount":1,"parts":[{"cents":1,"share":1}]}');
    serde.deserialize(source);
    calls = 0;
    serde.deserialize(source);
    expect(calls).toBe(1);
  });

  it('takes a bigint back where the schema asks for a number that is equal', () => {
    const serde = json(z.object({ n: z.number() }));
    expect(serde.deserialize(foreign('{"n":5\t}'))).toEqual({ n: 5 });
    expect(serde.deserialize(foreign('{"n":1152921504606846976}'))).toEqual({ n: 2 ** 60 });
    expect(() => serde.deserialize(foreign('{"n":1152921504606846977}'))).toThrow(CorruptDataError);
  });

  it('follows each branch of a union, whatever it has seen before', () => {
    const serde = json(
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('whole'), n: z.bigint() }),
        z.object({ kind: z.literal('part'), n: z.number() }),
      ]),
    );
    for (const kind of ['whole', 'part', 'whole', 'part']) {
      expect(serde.deserialize(foreign(`{"kind":"${kind}","n":7}`))).toEqual({ kind, n: kind === 'whole' ? 7n : 7 });
    }
  });

  it('works at the top and in records with free keys', () => {
    expect(json(z.bigint()).deserialize(foreign('7'))).toBe(7n);
    const serde = json(z.record(z.string(), z.bigint()));
    for (let key = 0; key < 200; key += 1)
      expect(serde.deserialize(foreign(`{"key${key}":${key}}`))).toEqual({ [`key${key}`]: BigInt(key) });
  });

  it('refuses what the schema refuses, in both directions, with the path', () => {
    const serde = json(Payment);
    expect(() => serde.deserialize(foreign('{"id":5,"amount":"x"}'))).toThrow(
      /^json cannot read these bytes: the schema refuses the value \(id: .*; amount: /,
    );
    expect(() => serde.deserialize(foreign('{"id":"a","amount":1.5}'))).toThrow(CorruptDataError);
    expect(() => serde.serialize({ id: 'a', amount: 5 } as never)).toThrow(RecordRefusedError);
    expect(() => serde.serialize({ id: 'a', amount: 5 } as never)).toThrow('amount:');
    expect(() => serde.serialize(null as never)).toThrow('nullable()');
  });

  it('yields the output of the schema', () => {
    expect(json(z.object({ a: z.string().default('x') })).deserialize(foreign('{"more":1}'))).toEqual({ a: 'x' });
  });

  it('refuses an asynchronous schema', () => {
    const serde = json(z.string().refine(async () => Promise.resolve(true)));
    expect(() => serde.deserialize(foreign('"a"'))).toThrow(InvalidConfigurationError);
    expect(() => serde.serialize('a')).toThrow('validates asynchronously');
  });

  it('reports a schema that throws as bytes that it cannot read', () => {
    const serde = json({
      '~standard': {
        version: 1,
        vendor: 'own',
        validate() {
          throw new TypeError('broken');
        },
      },
    } satisfies StandardSchemaV1);
    expect(() => serde.deserialize(foreign('1'))).toThrow(CorruptDataError);
  });
});
