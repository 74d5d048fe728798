// @ts-check
import { indent, seconds } from '../support/report.mjs';

/**
 * Runs parts one after another, tells each in a line, shows the output of what fails, and sums up.
 *
 * @template Run
 * @param {readonly {title: string, run: (run: Run) => Promise<import('../checks/outcome.mjs').Outcome>}[]} parts
 * @param {Run} run
 * @param {{verbose: boolean, write: (line: string) => void}} options
 * @returns {Promise<{passed: number, failed: number}>}
 */
export async function runParts(parts, run, { verbose, write }) {
  const total = { passed: 0, failed: 0 };
  for (const part of parts) {
    const started = Date.now();
    const { passed, failed, output } = await outcomeFrom(part, run);
    total.passed += passed;
    total.failed += failed;
    write(`${failed === 0 ? 'ok  ' : 'FAIL'} ${part.title}: ${passed} passed, ${failed} failed (${seconds(Date.now() - started)})`);
    if ((failed > 0 || verbose) && output.trim() !== '') write(indent(output));
  }
  return total;
}

/**
 * A part that throws has failed; the others still run.
 *
 * @template Run
 * @param {{run: (run: Run) => Promise<import('../checks/outcome.mjs').Outcome>}} part
 * @param {Run} run
 */
async function outcomeFrom(part, run) {
  try {
    return await part.run(run);
  } catch (error) {
    return { passed: 0, failed: 1, output: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}

/**
 * The last line of `npm test`. Nothing tested is nothing shown, so it counts as a failure.
 *
 * @param {{passed: number, failed: number}} total
 * @returns {{line: string, code: number}}
 */
export function summary({ passed, failed }) {
  return { line: `${passed} passed, ${failed} failed`, code: failed > 0 || passed === 0 ? 1 : 0 };
}
