/** Where scenarios come from, and what Kafka Streams makes of them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Result, Scenario } from './scenario.js';

const bytesMax = 1 << 30;

/** The oracle's folder: `TALLY_ORACLE`, or the one beside the clone. Undefined where there is none. */
export function oracleFolder(): string | undefined {
  const beside = fileURLToPath(new URL('../../../shared/oracle', import.meta.url));
  const folder = process.env['TALLY_ORACLE'] ?? beside;
  return existsSync(folder) ? folder : undefined;
}

export function readScenarios(file: string): readonly Scenario[] {
  const read = JSON.parse(readFileSync(file, 'utf8')) as Scenario | readonly Scenario[];
  return Array.isArray(read) ? (read as readonly Scenario[]) : [read as Scenario];
}

/** The results that lie in the folder `expected` beside the scenarios', if they do. */
export function readExpected(file: string): readonly Result[] | undefined {
  const expected = join(dirname(file), '..', 'expected', `${basename(file, '.json')}.jsonl`);
  return existsSync(expected) ? parseResults(readFileSync(expected, 'utf8')) : undefined;
}

/** Whether Java and Maven are there, which the oracle needs. */
export function canRunOracle(): boolean {
  return ['java', 'mvn'].every((command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0);
}

export function runOracle(scenarios: readonly Scenario[]): readonly Result[] {
  const directory = mkdtempSync(join(tmpdir(), 'tally-conformance-'));
  try {
    const file = join(directory, 'scenarios.json');
    writeFileSync(file, JSON.stringify(scenarios));
    const out = execFileSync(join(neededFolder(), 'run'), [file], {
      encoding: 'utf8',
      maxBuffer: bytesMax,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return parseResults(out);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

export function generateScenarios(seed: number, count: number, family?: string): readonly Scenario[] {
  const which = family === undefined ? [] : ['--family', family];
  const arguments_ = ['--seed', String(seed), '--count', String(count), ...which];
  const out = execFileSync(join(neededFolder(), 'generate'), arguments_, { encoding: 'utf8', maxBuffer: bytesMax });
  return JSON.parse(out) as readonly Scenario[];
}

function neededFolder(): string {
  const folder = oracleFolder();
  if (folder === undefined) throw new Error('The oracle is not there: name its folder in TALLY_ORACLE.');
  return folder;
}

function parseResults(lines: string): readonly Result[] {
  return lines
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Result);
}
