// @ts-check
import { join } from 'node:path';
import { buildIfStale } from '../build.mjs';
import { outcomeOfCommand } from '../checks/outcome.mjs';
import { run } from '../support/command.mjs';
import { root } from '../support/paths.mjs';

/** The last line of `npm run sim -- --mutations`. */
const summary = /^(\d+) of (\d+) mutations caught, unbroken engine: \d+ histories, (\d+) violations$/m;

/**
 * Breaks the engine on purpose in every known way; each of them that a checker of the simulator notices counts as a test.
 *
 * @returns {Promise<import('../checks/outcome.mjs').Outcome>}
 */
export async function runMutationProof() {
  const built = await buildIfStale();
  if (built.code !== 0) return outcomeOfCommand(built);
  return outcomeOfProof(await run(process.execPath, [join('scripts', 'sim.mjs'), '--mutations'], { cwd: root }));
}

/**
 * @param {{code: number, output: string}} ended
 * @returns {import('../checks/outcome.mjs').Outcome}
 */
export function outcomeOfProof({ code, output }) {
  const [, caught, all, violations] = (summary.exec(output) ?? []).map(Number);
  // Without its last line the proof itself came to a bad end.
  if (caught === undefined || all === undefined || violations === undefined) return { passed: 0, failed: 1, output: output.trim() };
  const failed = all - caught + violations;
  return { passed: caught, failed: code === 0 ? failed : Math.max(1, failed), output: output.trim() };
}
