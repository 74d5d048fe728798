/**
 * Compares Tally with Kafka Streams, scenario by scenario:
 *
 *   [--json FILE] FILE...                          scenarios from files
 *   [--json FILE] --generate SEED COUNT [FAMILY]   random ones
 */
import { writeFileSync } from 'node:fs';
import { conform, type Verdict } from './conform.js';
import { generateScenarios, readExpected, readScenarios, runOracle } from './oracle.js';
import type { Scenario } from './scenario.js';

interface Arguments {
  readonly json: string | undefined;
  readonly generate: readonly [seed: number, count: number, family: string | undefined] | undefined;
  readonly files: readonly string[];
}

const usage = 'Usage: npm run conformance -- [--json FILE] FILE... | [--json FILE] --generate SEED COUNT [FAMILY]';

function parseArguments(given: readonly string[]): Arguments {
  const rest = [...given];
  let json: string | undefined;
  const at = rest.indexOf('--json');
  if (at >= 0) [, json] = rest.splice(at, 2);
  if (rest[0] !== '--generate') return { json, generate: undefined, files: rest };
  const [, seed, count, family] = rest;
  if (!Number.isInteger(Number(seed)) || !(Number(count) > 0)) throw new Error(usage);
  return { json, generate: [Number(seed), Number(count), family], files: [] };
}

async function compareFile(file: string): Promise<readonly Verdict[]> {
  const scenarios = readScenarios(file);
  return conform(scenarios, readExpected(file) ?? runOracle(scenarios));
}

async function compareGenerated(scenarios: readonly Scenario[]): Promise<readonly Verdict[]> {
  return conform(scenarios, runOracle(scenarios));
}

/** @returns the exit code: 0 when all agree. */
export async function main(given: readonly string[]): Promise<number> {
  const { json, generate, files } = parseArguments(given);
  if (generate === undefined && files.length === 0) throw new Error(usage);
  const verdicts: Verdict[] = [];
  if (generate !== undefined) verdicts.push(...(await compareGenerated(generateScenarios(...generate))));
  for (const file of files) verdicts.push(...(await compareFile(file)));
  for (const { name, agrees, lines } of verdicts) if (!agrees) console.log([`DIFFERS ${name}`, ...lines].join('\n'));
  const agreeing = verdicts.filter(({ agrees }) => agrees).length;
  const report = { agree: agreeing, of: verdicts.length, scenarios: verdicts };
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`);
  console.log(`${agreeing} of ${verdicts.length} agree`);
  return agreeing === verdicts.length ? 0 : 1;
}
