/** What the demo found, whether it proves what it set out to prove, and how it is written down. */
import type { Proof } from './checker.js';
import type { DroppedCopy } from './model.js';

export interface Kill {
  readonly victim: string;
  /** Input records processed and committed when it was killed. */
  readonly atRecord: number;
  /** Records that the victim had written into its open transaction and that nobody may ever see. */
  readonly openRecords: number;
  /** From the kill until all partitions of the victim were processed again, in milliseconds. */
  readonly recoveryMs: number;
  /** Changelog records that were read to rebuild state, from this kill to the next. */
  readonly replayedRecords: number;
  /** First offset of each input partition that was not yet processed, and not yet sent, at the kill. */
  readonly processed: readonly number[];
  readonly sent: readonly number[];
}

export interface Results {
  readonly payments: number;
  /** Records in the input topic: payments, copies and malformed ones. */
  readonly records: number;
  readonly recordsExpected: number;
  readonly recordsPerSecond: number;
  readonly transactions: number;
  readonly kills: readonly Kill[];
  readonly droppedCopies: readonly DroppedCopy[];
  /** Accounts asked from an instance that does not own them, and how often it answered all the same. */
  readonly strangers: { readonly asked: number; readonly answered: number };
  readonly proof: Proof;
}

/** Copies whose first was processed before a kill and whose second was sent after the same kill. */
export function countStraddling(copies: readonly DroppedCopy[], kills: readonly Pick<Kill, 'processed' | 'sent'>[]): number {
  const straddles = (copy: DroppedCopy, kill: Pick<Kill, 'processed' | 'sent'>): boolean =>
    copy.firstOffset < (kill.processed[copy.partition] ?? 0) && copy.copyOffset >= (kill.sent[copy.partition] ?? Infinity);
  return copies.filter((copy) => kills.some((kill) => straddles(copy, kill))).length;
}

const straddlingMin = 100;

/** What a proof needs and this run does not have; empty when all of it holds. */
export function findFaults(results: Results, killsWanted: number): string[] {
  const { proof, records, kills } = results;
  const faults: string[] = [];
  const demand = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  demand(proof.mismatches === 0, `${proof.mismatches} mismatches between what came in and what came out`);
  demand(proof.expectedTotal === proof.actualTotal, `the balances add up to ${proof.actualTotal}, must be ${proof.expectedTotal}`);
  demand(proof.accounts > 0, 'no account has a balance');
  demand(records === results.recordsExpected, `${records} records are in the input, ${results.recordsExpected} were to be sent`);
  demand(
    results.strangers.answered === 0,
    `${results.strangers.answered} accounts were answered for by an instance that does not own them`,
  );
  demand(proof.duplicatesDropped >= results.payments * 0.05, 'fewer than 5% of the payments were sent twice and dropped once');
  demand(kills.length === killsWanted, `${kills.length} kills instead of ${killsWanted}`);
  for (const kill of kills) demand(kill.openRecords > 0, `${kill.victim} had no uncommitted output when it was killed`);
  const [first, last] = [kills.at(0), kills.at(-1)];
  if (first !== undefined && last !== undefined) {
    demand(first.atRecord >= records / 10, 'less than a tenth of the records was processed before the first kill');
    demand(records - last.atRecord >= records / 10, 'less than a tenth of the records was left after the last kill');
    const straddling = countStraddling(results.droppedCopies, kills);
    demand(straddling >= straddlingMin, `only ${straddling} copies straddle a kill, must be ${straddlingMin}`);
  }
  return faults;
}

/** Totals are integers in minor units; they are written as JSON integers of any length. */
export function toJson(results: Results): string {
  const { records, recordsPerSecond, transactions, kills, proof } = results;
  const { expectedTotal, actualTotal, accounts, mismatches, duplicatesDropped } = proof;
  const fields = {
    records,
    recordsPerSecond: Math.round(recordsPerSecond),
    transactions,
    duplicatesDropped,
    kills: kills.map(({ atRecord, openRecords }) => ({ atRecord, openRecords })),
    recoveryMs: kills.map(({ recoveryMs }) => Math.round(recoveryMs)),
    replayedRecords: kills.map(({ replayedRecords }) => replayedRecords),
    proof: { expectedTotal: `${expectedTotal}n`, actualTotal: `${actualTotal}n`, accounts, mismatches },
  };
  return `${JSON.stringify(fields, undefined, 2).replaceAll(/"(-?\d+)n"/g, '$1')}\n`;
}

export function toTable(results: Results): string {
  const { proof, kills } = results;
  const rows: [string, string][] = [
    ['records', `${results.records} (${proof.accepted} accepted, ${proof.rejected} rejected, ${proof.malformed} malformed)`],
    ['duplicates dropped', `${proof.duplicatesDropped}, ${countStraddling(results.droppedCopies, kills)} of them across a kill`],
    ['records per second', `${Math.round(results.recordsPerSecond)}, with the kills and as fast as they were sent`],
    ['transactions', String(results.transactions)],
    ...kills.map((kill, index): [string, string] => [
      `kill ${index + 1}`,
      `${kill.victim} at record ${kill.atRecord} with ${kill.openRecords} uncommitted; recovered in ${(kill.recoveryMs / 1_000).toFixed(1)} s, ${kill.replayedRecords} records replayed`,
    ]),
    ['accounts', String(proof.accounts)],
    ['total expected', String(proof.expectedTotal)],
    ['total found', String(proof.actualTotal)],
    ['mismatches', String(proof.mismatches)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n');
}
