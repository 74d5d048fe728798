// @ts-check
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runPlanFile, runSeeds } from './run-seeds.mjs';

/** A test kit in which the seed 3 fails. */
const testing = /** @type {import('./run-seeds.mjs').Testing} */ (
  /** @type {unknown} */ ({
    faultLabels: ['kill', 'pause'],
    runHistory: async (/** @type {number} */ seed, /** @type {{trace: boolean}} */ { trace }) => resultOf({ seed, faults: 9 }, trace),
    runPlan: async (/** @type {{seed: number, faults: number}} */ plan, /** @type {{trace: boolean}} */ { trace }) => resultOf(plan, trace),
    shrinkHistory: async (/** @type {object} */ plan, /** @type {string} */ checker) => ({ ...plan, faults: 1, checker }),
    describePlan: (/** @type {{seed: number, faults: number}} */ { seed, faults }) => [`plan of ${seed} with ${faults} faults`],
    planToJson: (/** @type {object} */ plan) => JSON.stringify(plan),
    planFromJson: (/** @type {string} */ text) => JSON.parse(text),
  })
);

/**
 * @param {{seed: number, faults: number}} plan
 * @param {boolean} trace
 */
function resultOf(plan, trace) {
  const violations = plan.seed === 3 ? [{ checker: 'output', message: 'one too many' }] : [];
  return { seed: plan.seed, plan, faultsFired: { kill: 2 }, violations, lines: trace ? [`line of ${plan.seed}`] : [] };
}

describe('running seeds', () => {
  /** @type {string} */
  let directory;
  /** @type {string[]} */
  let lines;
  const write = (/** @type {string} */ line) => void lines.push(line);

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'tally-simulation-'));
    lines = [];
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  it('ends with a count per kind of fault and the sum', async () => {
    expect(await runSeeds(testing, { start: 4, seeds: 2, trace: false }, write, directory)).toBe(0);
    expect(lines).toEqual(['  kill: 4', '2 histories, 4 faults fired, 0 violations']);
  });

  it('tells of a failure by its seed and the shrunk schedule, which it keeps to be run again', async () => {
    expect(await runSeeds(testing, { start: 2, seeds: 3, trace: false }, write, directory)).toBe(1);
    const file = join(directory, 'seed-3.json');
    expect(lines.slice(0, 3)).toEqual(['seed 3: output: one too many', 'shrunk schedule of seed 3:', '  plan of 3 with 1 faults']);
    expect(lines.at(-1)).toBe('3 histories, 6 faults fired, 1 violations');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ seed: 3, faults: 1, checker: 'output' });
    lines = [];
    expect(await runPlanFile(testing, file, true, write)).toBe(1);
    expect(lines).toEqual([
      'line of 3',
      'plan of 3 with 1 faults',
      'seed 3: output: one too many',
      '1 history, 2 faults fired, 1 violations',
    ]);
  });

  it('prints the lines of each history where it is asked to', async () => {
    await runSeeds(testing, { start: 1, seeds: 2, trace: true }, write, directory);
    expect(lines.slice(0, 2)).toEqual(['line of 1', 'line of 2']);
  });

  it('fails when a kind of fault has not taken effect in many histories', async () => {
    expect(await runSeeds(testing, { start: 10, seeds: 500, trace: false }, write, directory)).toBe(1);
    expect(lines.slice(-3)).toEqual(['  pause: 0', 'These never took effect: pause', '500 histories, 1000 faults fired, 0 violations']);
  });
});
