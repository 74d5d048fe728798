// @ts-check
import { join } from 'node:path';
import { buildIfStale } from '../build.mjs';
import { outcomeOfCommand } from '../checks/outcome.mjs';
import { run } from '../support/command.mjs';
import { root } from '../support/paths.mjs';

/** Always the same, and more of each commit's own. */
const fixedSeeds = 200;
const seedsOfCommit = 30;

/**
 * Runs seeded histories; each of them counts as a test.
 *
 * @returns {Promise<import('../checks/outcome.mjs').Outcome>}
 */
export async function runSimulation() {
  const built = await buildIfStale();
  if (built.code !== 0) return outcomeOfCommand(built);
  const own = await seedOfCommit();
  const fixed = await simulate(1, fixedSeeds);
  if (own === undefined) return { ...fixed, output: `${fixed.output}\nGit does not tell a commit: no seeds were taken from one.` };
  const drawn = await simulate(own, seedsOfCommit);
  return { passed: fixed.passed + drawn.passed, failed: fixed.failed + drawn.failed, output: `${fixed.output}\n${drawn.output}` };
}

/**
 * @param {number} start
 * @param {number} seeds
 * @returns {Promise<import('../checks/outcome.mjs').Outcome>}
 */
async function simulate(start, seeds) {
  const { code, output } = await run(process.execPath, [join('scripts', 'sim.mjs'), '--start', String(start), '--seeds', String(seeds)], {
    cwd: root,
  });
  const shown = `from seed ${start} on:\n${output.trim()}`;
  const failed = new Set([...output.matchAll(/^seed (\d+): /gm)].map(([, seed]) => seed)).size;
  if (code === 0) return { passed: seeds, failed: 0, output: shown };
  // Without a line of a seed the simulator itself came to a bad end.
  return { passed: failed === 0 ? 0 : seeds - failed, failed: Math.max(1, failed), output: shown };
}

/** A number that each commit gives; `undefined` where there is no git, or no commit. */
async function seedOfCommit() {
  const { code, stdout } = await run('git', ['rev-parse', '--verify', 'HEAD'], { cwd: root });
  const hash = stdout.trim();
  return code === 0 && /^[0-9a-f]{8}/.test(hash) ? Number.parseInt(hash.slice(0, 8), 16) : undefined;
}
