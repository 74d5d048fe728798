import { describe, expect, it } from 'vitest';
import { blockLength, countLoad, generateLoad, type LoadOptions, type LoadRecord } from './payments.js';

const options: LoadOptions = { payments: 20_000, accounts: 500, seed: 7, startMs: 1_700_000_000_000, stepMs: 50, windowMs: 600_000 };

function eventIdOf(record: LoadRecord): string {
  return (JSON.parse(record.value) as { eventId: string }).eventId;
}

function pairsOf(
  records: readonly LoadRecord[],
): { readonly original: LoadRecord; readonly copy: LoadRecord; readonly distance: number }[] {
  const originals = new Map<string, { record: LoadRecord; at: number }>();
  const pairs: { original: LoadRecord; copy: LoadRecord; distance: number }[] = [];
  records.forEach((record, at) => {
    if (record.kind === 'payment') originals.set(eventIdOf(record), { record, at });
    if (record.kind !== 'copy') return;
    const original = originals.get(eventIdOf(record));
    if (original === undefined) throw new Error('a copy came before its original');
    pairs.push({ original: original.record, copy: record, distance: at - original.at });
  });
  return pairs;
}

describe('generateLoad', () => {
  const records = [...generateLoad(options)];

  it('gives the same records for the same seed and others for another seed', () => {
    expect([...generateLoad(options)]).toEqual(records);
    const others = [...generateLoad({ ...options, seed: 8 })];
    expect(others.filter((record, at) => record.value === records[at]?.value)).toHaveLength(0);
  });

  it('yields as many records of each kind as countLoad says', () => {
    for (const payments of [1, 15, 16, 17, 999, 1_000, 20_000]) {
      const kinds = [...generateLoad({ ...options, payments })].map((record) => record.kind);
      const { copies, malformed, records: total } = countLoad(payments);
      expect(kinds).toHaveLength(total);
      expect(kinds.filter((kind) => kind === 'payment')).toHaveLength(payments);
      expect(kinds.filter((kind) => kind === 'copy')).toHaveLength(copies);
      expect(kinds.filter((kind) => kind === 'malformed')).toHaveLength(malformed);
    }
  });

  it('sends at least 5% of the payments again, with the same bytes, after the original and within the window', () => {
    const pairs = pairsOf(records);
    expect(pairs.length).toBeGreaterThanOrEqual(options.payments * 0.05);
    expect(pairs.length).toBe(Math.ceil(options.payments / blockLength));
    for (const { original, copy } of pairs) {
      expect(copy.key).toBe(original.key);
      expect(copy.value).toBe(original.value);
      expect(copy.timestampMs - original.timestampMs).toBeGreaterThanOrEqual(0);
      expect(copy.timestampMs - original.timestampMs).toBeLessThan(options.windowMs);
    }
  });

  it('spreads the copies over the window', () => {
    const windowPayments = options.windowMs / options.stepMs;
    // Only those whose window ends within the load: the others are cut.
    const uncutMs = options.startMs + options.payments * options.stepMs - options.windowMs;
    const early = pairsOf(records).filter(({ original }) => original.timestampMs < uncutMs);
    expect(early.length).toBeGreaterThan(400);
    for (const [from, to] of [
      [0, 0.25],
      [0.25, 0.5],
      [0.5, 0.75],
      [0.75, 1.1],
    ] as const) {
      const within = early.filter(({ distance }) => distance >= from * windowPayments && distance < to * windowPayments);
      expect(within.length).toBeGreaterThan(early.length / 8);
    }
  });

  it('never lets time fall, and uses every account', () => {
    let lastMs = 0;
    for (const record of records) {
      expect(record.timestampMs).toBeGreaterThanOrEqual(lastMs);
      lastMs = record.timestampMs;
    }
    expect(new Set(records.map((record) => record.key)).size).toBe(options.accounts);
  });
});
