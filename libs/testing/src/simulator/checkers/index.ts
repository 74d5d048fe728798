/** What every history is looked at for. Those about what was written come first: a worker that ends or waits may do so because of it. */
import { changelog } from './changelog.js';
import type { Checker, CheckedHistory } from './checker.js';
import { conservation } from './conservation.js';
import { output } from './output.js';
import { ownership } from './ownership.js';
import { state } from './state.js';
import { wipe } from './wipe.js';

/** No worker waits for ever once the faults have healed. */
const liveness: Checker = { name: 'liveness', check: ({ evidence }) => (evidence.stuck === undefined ? [] : [evidence.stuck]) };

/** No worker ends by itself without a reason that a person could name. */
const survival: Checker = { name: 'survival', check: ({ evidence }) => evidence.failures };

/** Buffers, caches and queues keep within their bounds. */
const bounds: Checker = { name: 'bounds', check: ({ evidence }) => [...evidence.overflows] };

/** The broker port is used as it is meant to be. */
const port: Checker = { name: 'port', check: ({ evidence }) => evidence.portViolations };

export const checkers: readonly Checker[] = [output, conservation, state, changelog, wipe, ownership, bounds, port, survival, liveness];

export interface Violation {
  /** Name of the checker that found it. */
  readonly checker: string;
  readonly message: string;
}

export function findViolations(history: CheckedHistory, among: readonly Checker[] = checkers): readonly Violation[] {
  return among.flatMap((checker) => checker.check(history).map((message) => ({ checker: checker.name, message })));
}

export type { CheckedHistory, Checker, Model } from './checker.js';
