/** One history from one seed: drawn, run, checked. */
import { findViolations, type Violation } from './checkers/index.js';
import { drawPlan } from './plan/draw-plan.js';
import type { HistoryPlan } from './plan/plan.js';
import { shrinkPlan } from './shrink.js';
import { scenarioOf } from './scenarios/index.js';
import type { Evidence } from './world/evidence.js';
import { History } from './world/history.js';
import { settingOf } from './world/scenario-setting.js';

export interface HistoryOptions {
  /** Collects lines. Default false. */
  readonly trace?: boolean;
}

export interface HistoryResult {
  readonly seed: number;
  readonly plan: HistoryPlan;
  /** How often each kind of fault took effect. */
  readonly faultsFired: Readonly<Record<string, number>>;
  /** Empty when all is well. */
  readonly violations: readonly Violation[];
  /** One line per request, report and fault, the same for the same seed; empty without `trace`. */
  readonly lines: readonly string[];
}

/** What a plan must hold to prove anything. */
const recordsMin = 300;
const commitsPerTaskMin = 2;

/** Runs the history of the seed and checks it. Violations of `reach` are the simulator's own: the history was too small to prove anything. */
export async function runHistory(seed: number, options: HistoryOptions = {}): Promise<HistoryResult> {
  const plan = drawPlan(seed);
  const { result, evidence } = await run(plan, options);
  const { records, crashes, commitsMin } = evidence;
  const isLarge = records >= recordsMin && crashes >= 1 && commitsMin >= commitsPerTaskMin;
  if (result.violations.length > 0 || isLarge) return result;
  const message = `the history has only ${records} records, ${crashes} crashes, and ${commitsMin} commits of its quietest task`;
  return { ...result, violations: [{ checker: 'reach', message }] };
}

/** Runs a plan, whatever its size, and checks it. */
export async function runPlan(plan: HistoryPlan, options: HistoryOptions = {}): Promise<HistoryResult> {
  return (await run(plan, options)).result;
}

/** The smallest plan that is found in which the checker still finds something. */
export function shrinkHistory(plan: HistoryPlan, checker: string): Promise<HistoryPlan> {
  return shrinkPlan(plan, checker, async (candidate) => (await runPlan(candidate)).violations.map((violation) => violation.checker));
}

async function run(plan: HistoryPlan, { trace = false }: HistoryOptions): Promise<{ result: HistoryResult; evidence: Evidence }> {
  const scenario = scenarioOf(plan.scenario);
  const history = new History(plan, settingOf(scenario, plan), { traces: trace });
  const evidence = await history.run();
  const violations = findViolations({ evidence, model: scenario, guarantee: plan.worker.guarantee });
  const faultsFired = Object.fromEntries(evidence.fired);
  return { result: { seed: plan.seed, plan, faultsFired, violations, lines: history.lines }, evidence };
}
