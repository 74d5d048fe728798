// @ts-check
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, buildIfStale } from '../build.mjs';
import { ensureBroker } from '../broker.mjs';
import { outcomeOf, outcomeOfCommand } from '../checks/outcome.mjs';
import { checkArrows, format, lintCode, typecheck } from '../checks/tools.mjs';
import { parseTraps, untestedTraps } from '../checks/traps.mjs';
import { provideCollector } from '../collector.mjs';
import { providePrometheus } from '../prometheus.mjs';
import { root } from '../support/paths.mjs';
import { runMutationProof } from './mutations.mjs';
import { runSimulation } from './simulation.mjs';
import { runVitest } from './vitest.mjs';

/**
 * What the parts of one run share.
 *
 * @typedef {object} TestRun
 * @property {string | undefined} filter only tests whose name holds this
 * @property {boolean} verbose
 * @property {import('./vitest-outcome.mjs').VitestReport[]} reports of the parts that ran tests, for the check of the traps
 */

/**
 * One part of `npm test`. The modules that need an installed package are imported when the part runs.
 *
 * @typedef {object} Part
 * @property {string} name for --only
 * @property {string} title
 * @property {boolean} [tests] whether it runs tests that --filter can choose from
 * @property {(run: TestRun) => Promise<import('../checks/outcome.mjs').Outcome>} run
 */

/** @type {readonly Part[]} */
export const parts = [
  { name: 'lint', title: 'lint', run: async () => outcomeOfCommand(await lintCode()) },
  { name: 'format', title: 'format', run: async () => outcomeOfCommand(await format('--check')) },
  { name: 'typecheck', title: 'typecheck', run: async () => outcomeOfCommand(await typecheck()) },
  { name: 'build', title: 'build', run: async () => outcomeOfCommand(await build()) },
  { name: 'arrows', title: 'import arrows', run: async () => outcomeOfCommand(await checkArrows()) },
  { name: 'determinism', title: 'no time or chance in the engine', run: checkDeterminism },
  { name: 'types', title: 'type tests', run: checkTypes },
  { name: 'declarations', title: 'no any in the published declarations', run: checkDeclarations },
  { name: 'unit', title: 'unit tests', tests: true, run: runUnit },
  { name: 'simulation', title: 'seeded histories', run: runSimulation },
  { name: 'mutations', title: 'the engine broken on purpose', run: runMutationProof },
  { name: 'broker', title: 'tests over a real broker', tests: true, run: runOverBroker },
  { name: 'traps', title: 'every trap has a test that passed', run: checkTraps },
];

async function checkDeterminism() {
  const { findNondeterminism } = await import('../checks/determinism.mjs');
  const { faults, files } = findNondeterminism();
  return outcomeOf(files === 0 ? ['No files of the engine were found.'] : faults, `${files} files`);
}

async function checkTypes() {
  const built = await buildIfStale();
  if (built.code !== 0) return outcomeOfCommand(built);
  const { checkTypeTests } = await import('../checks/type-tests.mjs');
  const { faults, expectations } = checkTypeTests();
  return outcomeOf(faults, `${expectations} errors are expected, and came`);
}

async function checkDeclarations() {
  const built = await buildIfStale();
  if (built.code !== 0) return outcomeOfCommand(built);
  const { findPublishedAny } = await import('../checks/published-any.mjs');
  const { faults, files } = findPublishedAny();
  return outcomeOf(faults, `${files} files`);
}

/** What telemetry is tested with; its tests are left out, and say so, where it cannot be had. */
async function provideObservers() {
  await providePrometheus();
  await provideCollector();
}

/** @param {TestRun} run */
async function runUnit(run) {
  await provideObservers();
  const { outcome, report } = await runVitest('unit', run);
  if (report !== undefined) run.reports.push(report);
  return outcome;
}

/** @param {TestRun} run */
async function runOverBroker(run) {
  const built = await buildIfStale();
  if (built.code !== 0) return outcomeOfCommand(built);
  await provideObservers();
  const broker = await ensureBroker();
  try {
    const { outcome, report } = await runVitest('broker', { ...run, brokers: broker.brokers });
    if (report !== undefined) run.reports.push(report);
    return outcome;
  } finally {
    await broker.stop();
  }
}

/** @param {TestRun} run */
async function checkTraps({ reports }) {
  const file = join(root, 'docs', 'traps.md');
  if (!existsSync(file)) return outcomeOf(['docs/traps.md does not exist.']);
  const { traps, faults } = parseTraps(readFileSync(file, 'utf8'));
  return outcomeOf([...faults, ...untestedTraps(traps, reports, root)], `${traps.length} traps`);
}
