import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sessionWindowed, string, timeWindowed } from './index.js';

const timeMs = fc.integer({ min: 0, max: 2 ** 52 });
const key = fc.string({ unit: 'grapheme' });

describe('timeWindowed', () => {
  it('reads what it wrote', () => {
    const serde = timeWindowed(string(), { sizeMs: 10 });
    fc.assert(
      fc.property(key, timeMs, (inner, startMs) => {
        const windowed = { key: inner, startMs, endMs: startMs + 10 };
        expect(serde.deserialize(serde.serialize(windowed)!)).toEqual(windowed);
      }),
    );
  });

  it('writes what Kafka Streams writes', () => {
    const bytes = timeWindowed(string(), { sizeMs: 10 }).serialize({ key: 'a', startMs: 258, endMs: 268 })!;
    expect([...bytes]).toEqual([97, 0, 0, 0, 0, 0, 0, 1, 2]);
  });

  it('refuses too few bytes', () => {
    expect(() => timeWindowed(string(), { sizeMs: 10 }).deserialize(Uint8Array.of(1))).toThrow('8 bytes or more');
  });
});

describe('sessionWindowed', () => {
  it('reads what it wrote', () => {
    const serde = sessionWindowed(string());
    fc.assert(
      fc.property(key, timeMs, timeMs, (inner, startMs, endMs) => {
        const windowed = { key: inner, startMs, endMs };
        expect(serde.deserialize(serde.serialize(windowed)!)).toEqual(windowed);
      }),
    );
  });

  it('writes what Kafka Streams writes: the end first', () => {
    const bytes = sessionWindowed(string()).serialize({ key: 'a', startMs: 1, endMs: 2 })!;
    expect([...bytes]).toEqual([97, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
  });
});
