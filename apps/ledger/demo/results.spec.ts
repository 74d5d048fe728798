import { describe, expect, it } from 'vitest';
import { countStraddling, findFaults, type Kill, type Results, toJson, toTable } from './results.js';

const kill: Kill = {
  victim: 'ledger-1',
  atRecord: 5_000,
  openRecords: 12,
  recoveryMs: 6_543.2,
  replayedRecords: 34,
  processed: [100],
  sent: [200],
};

const results: Results = {
  payments: 10_000,
  records: 10_635,
  recordsExpected: 10_635,
  recordsPerSecond: 4_321.9,
  transactions: 88,
  kills: [kill],
  droppedCopies: Array.from({ length: 625 }, (_, index) => ({ partition: 0, firstOffset: index, copyOffset: index + 150 })),
  strangers: { asked: 10, answered: 0 },
  proof: {
    expectedTotal: 12345678901234567890n,
    actualTotal: 12345678901234567890n,
    accounts: 500,
    mismatches: 0,
    examples: [],
    accepted: 9_000,
    rejected: 1_000,
    malformed: 10,
    duplicatesDropped: 625,
  },
};

describe('countStraddling', () => {
  it('takes the first copy processed before and the second sent after the same kill', () => {
    const at = (
      firstOffset: number,
      copyOffset: number,
      partition = 0,
    ): { partition: number; firstOffset: number; copyOffset: number } => ({ partition, firstOffset, copyOffset });
    expect(countStraddling([at(99, 200)], [kill])).toBe(1);
    expect(countStraddling([at(100, 200), at(99, 199), at(99, 200, 1)], [kill])).toBe(0);
    expect(countStraddling([at(99, 500)], [kill, { processed: [300], sent: [400] }])).toBe(1);
  });
});

describe('findFaults', () => {
  it('finds none in a run that proves everything', () => {
    const straddling = results.droppedCopies.map((copy) => ({ ...copy, firstOffset: copy.firstOffset % 100, copyOffset: 300 }));
    expect(findFaults({ ...results, droppedCopies: straddling }, 1)).toEqual([]);
  });

  const proven = { ...results, droppedCopies: results.droppedCopies.map((copy) => ({ ...copy, firstOffset: 0, copyOffset: 300 })) };

  it.each<[string, Partial<Results>]>([
    ['mismatches', { proof: { ...results.proof, mismatches: 1 } }],
    ['add up to', { proof: { ...results.proof, actualTotal: 1n } }],
    ['no account', { proof: { ...results.proof, accounts: 0 } }],
    ['were to be sent', { recordsExpected: 10_636 }],
    ['does not own', { strangers: { asked: 10, answered: 1 } }],
    ['5%', { proof: { ...results.proof, duplicatesDropped: 499 } }],
    ['kills instead of', { kills: [kill, kill] }],
    ['no uncommitted output', { kills: [{ ...kill, openRecords: 0 }] }],
    ['before the first kill', { kills: [{ ...kill, atRecord: 1_000 }] }],
    ['after the last kill', { kills: [{ ...kill, atRecord: 10_000 }] }],
    ['straddle', { droppedCopies: results.droppedCopies.slice(0, 99) }],
  ])('finds: %s', (fault, change) => {
    expect(findFaults({ ...proven, ...change }, 1).join('\n')).toContain(fault);
  });
});

describe('toJson', () => {
  it('has exactly the documented fields, totals as integers of any length', () => {
    const text = toJson(results);
    expect(text).toContain('"expectedTotal": 12345678901234567890,');
    expect(JSON.parse(text)).toEqual({
      records: 10_635,
      recordsPerSecond: 4_322,
      transactions: 88,
      duplicatesDropped: 625,
      kills: [{ atRecord: 5_000, openRecords: 12 }],
      recoveryMs: [6_543],
      replayedRecords: [34],
      // What a reader makes of such an integer is a number.
      proof: { expectedTotal: Number(12345678901234567890n), actualTotal: Number(12345678901234567890n), accounts: 500, mismatches: 0 },
    });
  });
});

describe('toTable', () => {
  it('tells each kill and both totals', () => {
    expect(toTable(results)).toContain(
      'kill 1              ledger-1 at record 5000 with 12 uncommitted; recovered in 6.5 s, 34 records replayed',
    );
    expect(toTable(results).match(/12345678901234567890/g)).toHaveLength(2);
  });
});
