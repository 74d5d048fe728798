import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foreignRowSerde, subscriptionSerde } from './foreign-key.js';
import { nullable, string } from './index.js';

const rowHash = fc.option(
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes)),
  { nil: null },
);
const partition = fc.nat({ max: 1_000_000 });
const text = fc.string({ unit: 'grapheme' });

describe('records of a foreign-key join', () => {
  const subscriptions = subscriptionSerde(string());
  const rows = foreignRowSerde(string());

  it('are read as they were written, absent rows and empty ones apart', () => {
    fc.assert(
      fc.property(fc.record({ primaryKey: text, rowHash, partition, isKept: fc.boolean(), isAnswered: fc.boolean() }), (subscription) => {
        expect(subscriptions.deserialize(subscriptions.serialize(subscription)!)).toEqual(subscription);
      }),
    );
    fc.assert(
      fc.property(fc.record({ row: fc.option(text, { nil: null }), rowHash, partition }), (row) => {
        expect(rows.deserialize(rows.serialize(row)!)).toEqual(row);
      }),
    );
  });

  it('are refused where other bytes come, or no key goes', () => {
    for (const wrong of [[], [8, 0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0, 0, 1]])
      expect(() => subscriptions.deserialize(Uint8Array.from(wrong))).toThrow(/no record of a foreign-key join/);
    for (const wrong of [
      [4, 0, 0, 0, 0],
      [0, 0, 0, 0, 0, 65],
    ])
      expect(() => rows.deserialize(Uint8Array.from(wrong))).toThrow(/no record of a foreign-key join/);
    const ofNull = { primaryKey: null, rowHash: null, partition: 0, isKept: true, isAnswered: true };
    expect(() => subscriptionSerde(nullable(string())).serialize(ofNull)).toThrow(/a key is needed/);
  });

  it('are named after what is in them', () => {
    expect([subscriptions.name, rows.name]).toEqual(['subscription(string)', 'foreignRow(string)']);
  });
});
