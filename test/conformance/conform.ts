/** Runs scenarios on Tally and compares them with what Kafka Streams made of them. */
import { differences } from './compare.js';
import { NotInterpretedError } from './node.js';
import { type Around, runScenario } from './run.js';
import type { Result, Scenario } from './scenario.js';

export interface Verdict {
  readonly name: string;
  readonly agrees: boolean;
  /** False where an operator is not interpreted yet. */
  readonly isInterpreted: boolean;
  /** What differs, as lines to print. */
  readonly lines: readonly string[];
}

export async function conform(scenarios: readonly Scenario[], expected: readonly Result[], around?: Around): Promise<readonly Verdict[]> {
  if (scenarios.length !== expected.length) throw new Error(`There are ${scenarios.length} scenarios and ${expected.length} results.`);
  const verdicts: Verdict[] = [];
  for (const [index, scenario] of scenarios.entries()) verdicts.push(await verdictOf(scenario, expected[index]!, around));
  return verdicts;
}

async function verdictOf(scenario: Scenario, expected: Result, around: Around | undefined): Promise<Verdict> {
  const { name } = scenario;
  if (expected.name !== name) throw new Error(`The result of "${expected.name}" stands where that of "${name}" should.`);
  try {
    const actual = await runScenario(scenario, around);
    const lines = differences(expected, actual);
    if (lines.length > 0 && actual.error !== undefined) lines.push(`  Tally says: ${actual.error}`);
    if (lines.length > 0 && expected.error !== undefined) lines.push(`  expected: ${expected.error}`);
    return { name, agrees: lines.length === 0, isInterpreted: true, lines };
  } catch (error) {
    if (!(error instanceof NotInterpretedError)) throw error;
    return { name, agrees: false, isInterpreted: false, lines: [`  ${error.message}`] };
  }
}
