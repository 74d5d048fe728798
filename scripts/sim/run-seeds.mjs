// @ts-check
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { cloneState, root } from '../support/paths.mjs';
import { say } from '../support/report.mjs';

/**
 * What is used of the test kit.
 *
 * @typedef {Pick<typeof import('@tally/testing'), 'runHistory' | 'runPlan' | 'shrinkHistory' | 'faultLabels' | 'describePlan' | 'planToJson' | 'planFromJson'>} Testing
 */

/** With so many histories every kind of fault must have taken effect. */
const seedsForEveryKind = 500;
/** Schedules are shrunk for so many seeds only: it takes hundreds of histories each. */
const shrunkMax = 3;
const messagesMax = 5;

/**
 * Runs one history after the other, and sums them up.
 *
 * @param {Testing} testing
 * @param {Pick<import('./arguments.mjs').SimulationOptions, 'start' | 'seeds' | 'trace'>} options
 * @param {(line: string) => void} write
 * @param {string} directory where shrunk plans are kept
 * @returns {Promise<number>} the exit code
 */
export async function runSeeds(testing, { start, seeds, trace }, write, directory = join(cloneState, 'simulation')) {
  /** @type {Map<string, number>} */
  const fired = new Map(testing.faultLabels.map((label) => [label, 0]));
  let violations = 0;
  let failed = 0;
  for (let seed = start; seed < start + seeds; seed += 1) {
    const result = await testing.runHistory(seed, { trace });
    for (const [label, times] of Object.entries(result.faultsFired)) fired.set(label, (fired.get(label) ?? 0) + times);
    for (const line of result.lines) write(line);
    if (result.violations.length > 0) {
      violations += result.violations.length;
      failed += 1;
      writeViolations(result, write);
      if (failed <= shrunkMax) await writeShrunk(testing, result, write, directory);
    }
    const done = seed - start + 1;
    if (done % 100 === 0 && done < seeds) say(`${done} histories ...`);
  }
  const never = [...fired].filter(([, times]) => times === 0).map(([label]) => label);
  for (const [label, times] of fired) if (times > 0 || seeds >= seedsForEveryKind) write(`  ${label}: ${times}`);
  const misses = seeds >= seedsForEveryKind && never.length > 0;
  if (misses) write(`These never took effect: ${never.join(', ')}`);
  const total = [...fired.values()].reduce((sum, times) => sum + times, 0);
  write(`${seeds} histories, ${total} faults fired, ${violations} violations`);
  return violations === 0 && !misses ? 0 : 1;
}

/**
 * Runs a plan that was kept.
 *
 * @param {Testing} testing
 * @param {string} file
 * @param {boolean} trace
 * @param {(line: string) => void} write
 * @returns {Promise<number>} the exit code
 */
export async function runPlanFile(testing, file, trace, write) {
  const result = await testing.runPlan(testing.planFromJson(readFileSync(file, 'utf8')), { trace });
  for (const line of result.lines) write(line);
  for (const line of testing.describePlan(result.plan)) write(line);
  writeViolations(result, write);
  const total = Object.values(result.faultsFired).reduce((sum, times) => sum + times, 0);
  write(`1 history, ${total} faults fired, ${result.violations.length} violations`);
  return result.violations.length === 0 ? 0 : 1;
}

/**
 * @param {import('@tally/testing').HistoryResult} result
 * @param {(line: string) => void} write
 */
function writeViolations({ seed, violations }, write) {
  for (const { checker, message } of violations.slice(0, messagesMax)) write(`seed ${seed}: ${checker}: ${message}`);
  if (violations.length > messagesMax) write(`seed ${seed}: and ${violations.length - messagesMax} more`);
}

/**
 * @param {Testing} testing
 * @param {import('@tally/testing').HistoryResult} result
 * @param {(line: string) => void} write
 * @param {string} directory
 */
async function writeShrunk(testing, { seed, plan, violations }, write, directory) {
  const [first] = violations;
  if (first === undefined || first.checker === 'reach') return;
  say(`Looking for the smallest schedule of seed ${seed} in which '${first.checker}' still finds something ...`);
  const smallest = await testing.shrinkHistory(plan, first.checker);
  const file = join(directory, `seed-${seed}.json`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, testing.planToJson(smallest));
  write(`shrunk schedule of seed ${seed}:`);
  for (const line of testing.describePlan(smallest)) write(`  ${line}`);
  write(`  again: npm run sim -- --plan ${relative(root, file)} --trace`);
}
