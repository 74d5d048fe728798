import type { Guarantee } from '@tally/streams';
import type { Scenario } from '../scenarios/scenario.js';
import type { Evidence } from '../world/evidence.js';

/** What a history is compared with. */
export type Model = Pick<Scenario, 'lane' | 'expect' | 'conserved' | 'changesAtRest'>;

export interface CheckedHistory {
  readonly evidence: Evidence;
  readonly model: Model;
  readonly guarantee: Guarantee;
}

/** Looks at one property of a history that has ended. */
export interface Checker {
  readonly name: string;
  /** @returns what is wrong; empty when all is well. */
  check(history: CheckedHistory): readonly string[];
}
