export type { Violation } from './checkers/index.js';
export { faultLabels } from './faults/index.js';
export type { HistoryPlan, PlannedFault } from './plan/plan.js';
export { describePlan, planFromJson, planToJson } from './plan/plan-json.js';
export { type HistoryOptions, type HistoryResult, runHistory, runPlan, shrinkHistory } from './run-history.js';
export * from './service/index.js';
export { Draw } from './plan/draw.js';
export type { FaultKind } from './plan/plan.js';
