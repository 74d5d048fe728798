// @ts-check
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { cloneState, root } from '../support/paths.mjs';
import { say } from '../support/report.mjs';
import { HistoryRunner } from './history-runner.mjs';
import { hunt, lineOf, shortened } from './hunt.mjs';
import { inParallel } from './in-parallel.mjs';
import { MutantCompiler } from './mutant-compiler.mjs';
import { installMutant } from './mutant.mjs';
import { mutatedFiles } from './mutation.mjs';

/**
 * @typedef {import('./mutation.mjs').Mutation} Mutation
 * @typedef {import('./hunt.mjs').Hunt} Hunt
 */

/**
 * Breaks the engine in each of the ways and lets the simulator find it, then shows that the unbroken engine passes the same histories.
 *
 * @param {readonly Mutation[]} mutations
 * @param {import('./hunt.mjs').Search} search
 * @param {(line: string) => void} write
 * @returns {Promise<{caught: number, missed: number, violations: number}>} `violations`: those of the unbroken engine
 */
export async function runMutations(mutations, search, write) {
  const compiler = new MutantCompiler();
  const processors = availableParallelism();
  /** @type {Set<number>} */
  const seeds = new Set();
  let caught = 0;
  for (const hunting of inParallel(mutations, processors, (mutation) => huntMutant(mutation, search, compiler))) {
    const found = await hunting;
    write(lineOf(found));
    if (found.catches.length > 0) caught++;
    for (const seed of found.seeds) seeds.add(seed);
  }
  say(`The unbroken engine runs the same ${seeds.size} histories ...`);
  const violations = await runUnbroken([...seeds], processors, write);
  write(`${caught} of ${mutations.length} mutations caught, unbroken engine: ${seeds.size} histories, ${violations} violations`);
  return { caught, missed: mutations.length - caught, violations };
}

/**
 * @param {Mutation} mutation
 * @param {import('./hunt.mjs').Search} search
 * @param {MutantCompiler} compiler
 * @returns {Promise<Hunt>}
 */
async function huntMutant(mutation, search, compiler) {
  const { errors, outputs } = compiler.compile(mutatedFiles(mutation, join(root, 'libs', 'streams', 'src')));
  if (errors.length > 0) return { mutation, seeds: [], catches: [], otherwise: `it does not compile: ${errors.join(' ')}` };
  const { entry, remove } = installMutant(directoryOf(mutation.letter), outputs);
  const runner = new HistoryRunner(entry);
  try {
    return await hunt(mutation, search, (seed) => runner.run(seed));
  } finally {
    runner.close();
    remove();
  }
}

/**
 * @param {readonly number[]} seeds
 * @param {number} processors
 * @param {(line: string) => void} write
 * @returns {Promise<number>} how many violations there were
 */
async function runUnbroken(seeds, processors, write) {
  const { entry, remove } = installMutant(directoryOf('unbroken'), new Map());
  const shares = Array.from({ length: processors }, (_, share) => seeds.filter((_seed, index) => index % processors === share));
  /** @param {readonly number[]} share */
  const runShare = async (share) => {
    const runner = new HistoryRunner(entry);
    let violations = 0;
    for (const seed of share) {
      const ending = await runner.run(seed);
      const messages = 'ended' in ending ? [ending.ended] : ending.violations.map(({ checker, message }) => `${checker}: ${message}`);
      for (const message of messages) write(`unbroken engine, seed ${seed}: ${shortened(message)}`);
      violations += messages.length;
    }
    runner.close();
    return violations;
  };
  try {
    return (await Promise.all(shares.map(runShare))).reduce((sum, count) => sum + count, 0);
  } finally {
    remove();
  }
}

/** @param {string} name */
function directoryOf(name) {
  return join(cloneState, 'mutants', `${process.pid}-${name}`);
}
