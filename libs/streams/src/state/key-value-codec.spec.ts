import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { double } from '../serde/double.js';
import { int64 } from '../serde/int64.js';
import type { Serde } from '../serde/serde.js';
import { string } from '../serde/string.js';
import type { KeyValueStoreDefinition } from '../topology/store-definition.js';
import { keyValueCodec } from './key-value-codec.js';
import { readInt64, writeInt64 } from './int64.js';
import { mapKeyOf, physicalKeyOf } from './map-key.js';

const text: Serde<string> = {
  name: 'text',
  serialize: (value) => {
    if (typeof value !== 'string') throw new Error(`${String(value)} is no text`);
    return Buffer.from(value, 'utf8');
  },
  deserialize: (bytes) => Buffer.from(bytes).toString('utf8'),
};

/** Hands out the very bytes that it is given, as a serde for bytes may. */
const bytes: Serde<Uint8Array> = { name: 'bytes', serialize: (value) => value, deserialize: (value) => value };

function definition<K, V>(
  key: Serde<K>,
  value: Serde<V>,
  more: Partial<KeyValueStoreDefinition<K, V>> = {},
): KeyValueStoreDefinition<K, V> {
  return { kind: 'keyValue', name: 'balances', version: 1, changelog: true, key, value, ...more };
}

function at(code: string, kind: string): unknown {
  return expect.objectContaining({ code, kind, place: { store: 'balances' } });
}

describe('the bytes of keys and values', () => {
  const codec = keyValueCodec(definition(text, text));

  it('are those of the grammar', () => {
    expect([...codec.encodeKey('k')]).toEqual([0x01, 0x6b]);
    expect([...codec.encodeValue('v', 1)!]).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 1, 0x76]);
    expect([...codec.encodeValue('', -1)!]).toEqual([1, 255, 255, 255, 255, 255, 255, 255, 255]);
    expect(Buffer.from(codec.encodeValue('v', 1_764_444_444_444)!).readBigInt64BE(1)).toBe(1_764_444_444_444n);
  });

  it('decode to what was encoded, whatever the timestamp', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.maxSafeInteger(), (key, value, timestampMs) => {
        expect(codec.decodeKey(codec.encodeKey(key))).toBe(key);
        const stored = codec.encodeValue(value, timestampMs)!;
        expect(codec.decodeValue(stored)).toEqual({ value, timestampMs });
        expect(codec.readValue(stored)).toBe(value);
        expect(codec.readTimestampMs(stored)).toBe(timestampMs);
      }),
    );
  });

  it('hold 64-bit integers as big-endian two\u2019s complement', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const target = Buffer.alloc(10, 0xaa);
        writeInt64(target, 1, value);
        expect(target.readBigInt64BE(1)).toBe(BigInt(value));
        expect(readInt64(target, 1)).toBe(value);
        expect([target[0], target[9]]).toEqual([0xaa, 0xaa]);
      }),
    );
  });

  it('share no memory with what the application holds', () => {
    const raw = keyValueCodec(definition(bytes, bytes));
    const given = Buffer.from('value');
    const stored = raw.encodeValue(given, 0)!;
    const key = raw.encodeKey(given);
    given.fill(0);
    const handedOut = raw.readValue(stored);
    const keyHandedOut = raw.decodeKey(key);
    expect([Buffer.from(handedOut).toString(), Buffer.from(keyHandedOut).toString()]).toEqual(['value', 'value']);
    handedOut.fill(0);
    keyHandedOut.fill(0);
    expect(Buffer.from(raw.readValue(stored)).toString()).toBe('value');
    expect(Buffer.from(raw.decodeKey(key)).toString()).toBe('value');
  });
});

describe('a map key', () => {
  const longAscii = 'a'.repeat(200);

  it.each(['key', 'other', '', '\u0000', '\u007f', '\u0080', 'é', 'ключ', '😀', longAscii, `${longAscii}é`])(
    'of %j is what encodeKey gives, from a serde of text as from any other',
    (key) => {
      for (const serde of [text, string()]) {
        const codec = keyValueCodec(definition(serde, text));
        expect(codec.mapKey(key)).toBe(mapKeyOf(codec.encodeKey(key)));
        expect(codec.mapKey(key)).toBe(codec.mapKey(key));
        expect(Buffer.from(physicalKeyOf(codec.mapKey(key)))).toEqual(Buffer.from(codec.encodeKey(key)));
      }
    },
  );

  it('is remembered for the next call, and for no other key', () => {
    const codec = keyValueCodec(definition(string(), text));
    expect([codec.mapKey('key'), codec.mapKey('key'), codec.mapKey('other'), codec.mapKey('key')]).toEqual(['key', 'key', 'other', 'key']);
  });

  it('follows a serde that is made of the one of text', () => {
    const lower: Serde<string> = { ...string(), name: 'lower', serialize: (key) => Buffer.from(key.toLowerCase()) };
    expect(keyValueCodec(definition(lower, text)).mapKey('ABC')).toBe('abc');
  });

  it('tells 0 from -0 where the serde does', () => {
    const codec = keyValueCodec(definition(double(), text));
    expect([codec.mapKey(0), codec.mapKey(-0), codec.mapKey(0)].map((key) => physicalKeyOf(key)[1])).toEqual([0, 0x80, 0]);
  });

  it('is refused for a lone surrogate, which has no bytes', () => {
    expect(() => keyValueCodec(definition(string(), text)).mapKey('\ud800')).toThrow(expect.objectContaining({ kind: 'recordRefused' }));
  });

  it('is not remembered for an object, which may hold something else by then', () => {
    const codec = keyValueCodec(definition(bytes, text));
    const key = Buffer.from('a');
    expect(codec.mapKey(key)).toBe('a');
    key[0] = 0x62;
    expect(codec.mapKey(key)).toBe('b');
  });
});

describe('a serde that returns what is no bytes', () => {
  it.each([
    ['a string', 'text'],
    ['a promise', Promise.resolve()],
    ['an array buffer', new ArrayBuffer(2)],
    ['nothing', undefined],
  ])('is refused for %s, as key and as value', (_what, result) => {
    const broken = { ...text, serialize: () => result as never };
    const refused = (code: string) => expect.objectContaining({ code, kind: 'recordRefused' });
    expect(() => keyValueCodec(definition(broken, text)).mapKey('a')).toThrow(refused('STORE_KEY_REFUSED'));
    expect(() => keyValueCodec(definition(text, broken)).encodeValue('a', 0)).toThrow(refused('STORE_VALUE_REFUSED'));
    expect(() => keyValueCodec(definition(text, broken)).encodeBareValue('a')).toThrow(refused('STORE_VALUE_REFUSED'));
  });
});

describe('values of one length', () => {
  const codec = keyValueCodec(definition(text, int64()));

  it('have the bytes that their serde gives, behind the header', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const stored = codec.encodeValue(value, 5)!;
        expect(Buffer.from(stored.subarray(9))).toEqual(Buffer.from(int64().serialize(value)!));
        expect(codec.decodeValue(stored)).toEqual({ value, timestampMs: 5 });
      }),
    );
  });

  it('are refused and found damaged as others are', () => {
    expect(() => codec.encodeValue(2n ** 63n, 1)).toThrow(
      expect.objectContaining({ code: 'VALUE_NOT_SERIALIZABLE', kind: 'recordRefused' }),
    );
    expect(() => codec.readValue(codec.encodeValue(1n, 1)!.subarray(0, 12))).toThrow(at('STORE_VALUE_CORRUPT', 'corrupt'));
  });
});

describe('what a store refuses', () => {
  const nullable: Serde<string | null> = {
    name: 'nullable(text)',
    acceptsNull: true,
    serialize: (value) => (value === null ? null : Buffer.from(value)),
    deserialize: (stored) => Buffer.from(stored).toString(),
  };
  const codec = keyValueCodec(definition(nullable, nullable));

  it('refuses null keys, and takes null values for deletions', () => {
    const refusal = expect.objectContaining({ code: 'STORE_KEY_NULL', kind: 'recordRefused', place: { store: 'balances' } });
    expect(() => codec.encodeKey(null)).toThrow(refusal);
    expect(() => codec.encodeKey(undefined as unknown as null)).toThrow(refusal);
    expect(codec.encodeValue(null, 0)).toBeNull();
  });

  it('refuses what a serde refuses, with its error as the cause', () => {
    const strict = keyValueCodec(definition(text, text));
    const wrong = 5 as unknown as string;
    expect(() => strict.encodeKey(wrong)).toThrow(
      expect.objectContaining({ code: 'STORE_KEY_REFUSED', kind: 'recordRefused', cause: new Error('5 is no text') }),
    );
    expect(() => strict.encodeValue(wrong, 0)).toThrow(expect.objectContaining({ code: 'STORE_VALUE_REFUSED', kind: 'recordRefused' }));
  });

  it.each([Number.NaN, 0.5, Number.POSITIVE_INFINITY, 2 ** 53])('refuses the timestamp %s', (timestampMs) => {
    expect(() => codec.encodeValue('v', timestampMs)).toThrow(
      expect.objectContaining({ code: 'STORE_TIMESTAMP_INVALID', kind: 'recordRefused' }),
    );
  });

  it.each([-1, 256, 1.5])('refuses the schema version %s', (version) => {
    expect(() => keyValueCodec(definition(text, text, { version }))).toThrow(
      expect.objectContaining({ code: 'STORE_VERSION_INVALID', kind: 'invalid' }),
    );
  });

  it('says that stored bytes are damaged, and in which store', () => {
    const failing: Serde<string> = {
      ...text,
      deserialize: () => {
        throw new Error('no JSON');
      },
    };
    const damaged = keyValueCodec(definition(failing, failing));
    expect(() => damaged.readValue(codec.encodeValue('v', 0)!)).toThrow(at('STORE_VALUE_CORRUPT', 'corrupt'));
    expect(() => codec.readValue(Buffer.alloc(8))).toThrow(at('STORE_VALUE_CORRUPT', 'corrupt'));
    expect(() => codec.readTimestampMs(Buffer.alloc(0))).toThrow(at('STORE_VALUE_CORRUPT', 'corrupt'));
    expect(() => damaged.decodeKey(codec.encodeKey('k'))).toThrow(at('STORE_KEY_CORRUPT', 'corrupt'));
    expect(() => codec.decodeKey(Buffer.from('\u0000owner'))).toThrow(at('STORE_KEY_CORRUPT', 'corrupt'));
  });
});

describe('schema versions', () => {
  const old = keyValueCodec(definition(text, text, { version: 1 })).encodeValue('5', 77)!;

  it('reads older values through migrate, which gets the value alone', () => {
    const seen: unknown[] = [];
    const codec = keyValueCodec(
      definition(text, text, {
        version: 3,
        migrate: (stored, version) => {
          seen.push(Buffer.from(stored).toString(), version);
          return `migrated ${Buffer.from(stored).toString()}`;
        },
      }),
    );
    expect(codec.decodeValue(old)).toEqual({ value: 'migrated 5', timestampMs: 77 });
    expect(seen).toEqual(['5', 1]);
    expect(codec.encodeValue('6', 0)![0]).toBe(3);
  });

  it('refuses newer values, older ones without migrate, and a migrate that throws', () => {
    expect(() => keyValueCodec(definition(text, text, { version: 0 })).readValue(old)).toThrow(at('STORE_VERSION_NEWER', 'invalid'));
    expect(() => keyValueCodec(definition(text, text, { version: 2 })).readValue(old)).toThrow(at('STORE_MIGRATION_MISSING', 'invalid'));
    const failing = definition(text, text, {
      version: 2,
      migrate: () => {
        throw new Error('unknown shape');
      },
    });
    expect(() => keyValueCodec(failing).readValue(old)).toThrow(at('STORE_VALUE_CORRUPT', 'corrupt'));
  });
});
