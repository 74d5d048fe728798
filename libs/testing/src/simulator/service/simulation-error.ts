import type { Violation } from '../checkers/index.js';
import type { HistoryPlan } from '../plan/plan.js';
import { describePlan } from '../plan/plan-json.js';

const messagesMax = 5;

/** A history that did not come to what it must. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError';

  constructor(
    readonly seed: number,
    readonly violations: readonly Violation[],
    /** The smallest schedule that was found in which the same checker finds something. */
    readonly plan: HistoryPlan,
  ) {
    super(
      [
        `The history of seed ${seed} is wrong:`,
        ...violations.slice(0, messagesMax).map(({ checker, message }) => `  ${checker}: ${message}`),
        ...(violations.length > messagesMax ? [`  and ${violations.length - messagesMax} more`] : []),
        `Run it alone with { seeds: [${seed}] }. Its schedule, shrunk:`,
        ...describePlan(plan).map((line) => `  ${line}`),
      ].join('\n'),
    );
  }
}
