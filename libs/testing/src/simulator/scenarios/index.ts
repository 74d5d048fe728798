import { asynchronousScenario } from './asynchronous.js';
import { documentsScenario } from './documents.js';
import { foreignKeyScenario } from './foreign-key.js';
import { ledgerScenario } from './ledger.js';
import { poisonScenario } from './poison.js';
import { punctuatedScenario } from './punctuated.js';
import { repartitionScenario } from './repartition.js';
import { routedScenario } from './routed.js';
import type { Scenario } from './scenario.js';
import { streamJoinScenario } from './stream-join.js';
import { sumsScenario } from './sums.js';
import { twoInputsScenario } from './two-inputs.js';

/** The family of topologies that seeds choose from. */
export const scenarios: readonly Scenario[] = [
  sumsScenario,
  repartitionScenario,
  ledgerScenario,
  twoInputsScenario,
  punctuatedScenario,
  asynchronousScenario,
  poisonScenario,
  documentsScenario,
  routedScenario,
  foreignKeyScenario,
  streamJoinScenario,
];

export function scenarioOf(name: string): Scenario {
  const scenario = scenarios.find((each) => each.name === name);
  if (scenario === undefined)
    throw new Error(`There is no scenario '${name}'. There are: ${scenarios.map((each) => each.name).join(', ')}.`);
  return scenario;
}

export type { Expectation, InputRecord, Result, Scenario, ScenarioProcess } from './scenario.js';
