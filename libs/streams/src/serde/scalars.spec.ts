import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CorruptDataError, RecordRefusedError } from '../core/errors.js';
import { Decimal } from '../core/decimal.js';
import { boolean, bytes, decimal, double, int32, int64, nullable, type Serde, string, uuid } from './index.js';

function hex(encoded: Uint8Array | null): string | null {
  return encoded === null ? null : Buffer.from(encoded).toString('hex');
}

/** Reading from the middle of a larger array finds code that forgets where its part begins. */
function embedded(encoded: Uint8Array): Uint8Array {
  const whole = new Uint8Array(encoded.length + 5).fill(0xee);
  whole.set(encoded, 3);
  return whole.subarray(3, 3 + encoded.length);
}

function roundTrips<T>(serde: Serde<T>, arbitrary: fc.Arbitrary<T>): void {
  fc.assert(
    fc.property(arbitrary, (value) => {
      const encoded = serde.serialize(value);
      expect(encoded).not.toBeNull();
      expect(serde.deserialize(embedded(encoded!))).toEqual(value);
      expect(serde.deserialize(Buffer.from(encoded!))).toEqual(value);
    }),
  );
}

/** Either a clear refusal, or a value that is written as the same bytes again. */
function readsOnlyWhatItWrites<T>(serde: Serde<T>, arbitrary: fc.Arbitrary<Uint8Array>): void {
  fc.assert(
    fc.property(arbitrary, (encoded) => {
      let value: T;
      try {
        value = serde.deserialize(encoded);
      } catch (error) {
        expect(error).toBeInstanceOf(CorruptDataError);
        expect(error).toMatchObject({ code: 'BYTES_NOT_DESERIALIZABLE', kind: 'corrupt' });
        return;
      }
      expect(hex(serde.serialize(value))).toBe(hex(encoded));
    }),
  );
}

function refuses(serde: Serde<never> | Serde<unknown>, values: readonly unknown[], message: string): void {
  for (const value of values) {
    const write = (): unknown => (serde as Serde<unknown>).serialize(value);
    expect(write).toThrow(RecordRefusedError);
    expect(write).toThrow(message);
  }
}

const untyped = <T>(serde: Serde<T>): Serde<unknown> => serde as unknown as Serde<unknown>;

describe('string', () => {
  it('round-trips', () => roundTrips(string(), fc.string({ unit: 'binary' })));
  it('reads only what it writes', () => readsOnlyWhatItWrites(string(), fc.uint8Array()));
  it('keeps a byte order mark, an empty text, and replacement characters', () => {
    for (const text of ['\ufeffa', '', '\ufffd', 'a\0b']) expect(string().deserialize(string().serialize(text)!)).toBe(text);
  });
  it('is laid out as Kafka lays it out', () => expect(hex(string().serialize('ü😀'))).toBe('c3bcf09f9880'));
  it('refuses half of a surrogate pair', () =>
    refuses(untyped(string()), ['\ud800', 'a\udfffb', '\udc00\ud800'], 'half of a surrogate pair'));
  it('refuses what is no text', () => refuses(untyped(string()), [1, null, undefined, {}, 1n, Symbol('a')], 'a string is needed'));
});

describe('bytes', () => {
  it('round-trips', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (value) => {
        expect([...bytes().deserialize(bytes().serialize(value)!)]).toEqual([...value]);
      }),
    );
  });
  it('refuses what are no bytes', () => refuses(untyped(bytes()), ['a', null, [1]], 'a Uint8Array is needed'));
});

describe('int32', () => {
  it('round-trips', () => roundTrips(int32(), fc.integer()));
  it('reads only what it writes', () => readsOnlyWhatItWrites(int32(), fc.uint8Array({ minLength: 3, maxLength: 5 })));
  it('is laid out as Kafka lays it out', () => expect(hex(int32().serialize(-2))).toBe('fffffffe'));
  it('refuses what does not fit', () =>
    refuses(untyped(int32()), [2 ** 31, -(2 ** 31) - 1, 0.5, NaN, '1', 1n, null], 'a whole number from'));
});

describe('int64', () => {
  const most = 2n ** 63n - 1n;
  it('round-trips', () => roundTrips(int64(), fc.bigInt({ min: -most - 1n, max: most })));
  it('round-trips where its quick ways end', () => {
    const edges = [31n, 32n, 52n, 53n, 54n, 62n].flatMap((bits) => [-1n, 0n, 1n].flatMap((by) => [2n ** bits + by, -(2n ** bits) + by]));
    for (const value of [0n, -1n, most, -most - 1n, ...edges]) expect(int64().deserialize(int64().serialize(value)!)).toBe(value);
  });
  it('reads only what it writes', () => readsOnlyWhatItWrites(int64(), fc.uint8Array({ minLength: 7, maxLength: 9 })));
  it('is laid out as Kafka lays it out', () => {
    expect(hex(int64().serialize(-2n))).toBe('fffffffffffffffe');
    expect(hex(int64().serialize(1234567890123456789n))).toBe('112210f47de98115');
  });
  it('refuses what does not fit', () => refuses(untyped(int64()), [most + 1n, -most - 2n, 1, '1', null, undefined], 'a bigint from'));
});

describe('double', () => {
  it('round-trips', () => roundTrips(double(), fc.double()));
  it('is laid out as Kafka lays it out', () => {
    expect([1.5, -0.1, NaN].map((value) => hex(double().serialize(value)))).toEqual([
      '3ff8000000000000',
      'bfb999999999999a',
      '7ff8000000000000',
    ]);
  });
  it('writes every NaN alike', () => {
    const other = double().deserialize(Buffer.from('fff8000000000001', 'hex'));
    expect(hex(double().serialize(other))).toBe('7ff8000000000000');
  });
  it('refuses other lengths', () => expect(() => double().deserialize(Buffer.alloc(4))).toThrow('expected 8 bytes, there are 4 bytes'));
  it('refuses what is no number', () => refuses(untyped(double()), ['1', 1n, null], 'a number is needed'));
});

describe('boolean', () => {
  it('round-trips', () => roundTrips(boolean(), fc.boolean()));
  it('reads only what it writes', () => readsOnlyWhatItWrites(boolean(), fc.uint8Array({ maxLength: 2, max: 3 })));
  it('is laid out as Kafka lays it out', () =>
    expect([hex(boolean().serialize(true)), hex(boolean().serialize(false))]).toEqual(['01', '00']));
  it('refuses what is neither', () => refuses(untyped(boolean()), [1, 'true', null], 'true or false is needed'));
});

describe('uuid', () => {
  it('round-trips', () => roundTrips(uuid(), fc.uuid()));
  it('is laid out as Kafka lays it out', () => {
    expect(Buffer.from(uuid().serialize('0123ABCD-89ab-cdef-0123-456789ABCDEF')!).toString()).toBe('0123abcd-89ab-cdef-0123-456789abcdef');
  });
  it('reads upper case as lower case', () => {
    expect(uuid().deserialize(Buffer.from('0123ABCD-89AB-CDEF-0123-456789ABCDEF'))).toBe('0123abcd-89ab-cdef-0123-456789abcdef');
  });
  it('refuses other texts', () => {
    refuses(
      untyped(uuid()),
      ['', '0123abcd89abcdef0123456789abcdef', '0123abcd-89ab-cdef-0123-456789abcdeg', null, 1],
      'a UUID in its text form',
    );
    expect(() => uuid().deserialize(Buffer.from('0123abcd-89ab-cdef-0123-456789abcdeg'))).toThrow('not the text form of a UUID');
    expect(() => uuid().deserialize(Buffer.alloc(16))).toThrow('expected 36 bytes of text');
  });
});

describe('decimal', () => {
  const decimals = fc.tuple(fc.bigInt(), fc.integer({ min: 0, max: 40 })).map(([unscaled, scale]) => Decimal.of(unscaled, scale));
  it('round-trips', () => roundTrips(decimal(), decimals));
  it('writes equal numbers as equal bytes', () =>
    expect(decimal().serialize(Decimal.parse('1.50'))).toEqual(decimal().serialize(Decimal.parse('15e-1'))));
  it('is plain text', () => expect(Buffer.from(decimal().serialize(Decimal.parse('-12.30'))!).toString()).toBe('-12.3'));
  it('refuses other bytes', () => {
    for (const text of ['', 'abc', '1,5', '\u0661']) expect(() => decimal().deserialize(Buffer.from(text))).toThrow(CorruptDataError);
  });
  it('refuses what is no Decimal', () => refuses(untyped(decimal()), [1, '1', null], 'a Decimal is needed'));
});

describe('nullable', () => {
  it('passes null through, and everything else to the serde inside', () => {
    const serde = nullable(int64());
    expect(serde.acceptsNull).toBe(true);
    expect(serde.name).toBe('nullable(int64)');
    expect(serde.serialize(null)).toBeNull();
    expect(serde.deserialize(serde.serialize(5n)!)).toBe(5n);
    expect(() => serde.deserialize(Buffer.alloc(3))).toThrow(CorruptDataError);
    refuses(untyped(serde), [undefined, 5], 'int64 cannot write');
  });
  it('keeps empty and null apart', () => {
    expect(hex(nullable(string()).serialize(''))).toBe('');
    expect(nullable(string()).serialize(null)).toBeNull();
  });
  it('is not added twice', () => {
    const serde = nullable(string());
    expect(nullable(serde)).toBe(serde);
  });
});
