// @ts-check
/** Runs histories for its parent, one after the other, with the simulator that it is told: gets seeds, answers with what the checkers found. */
import { pathToFileURL } from 'node:url';

const [entry = ''] = process.argv.slice(2);
/** @type {Promise<typeof import('@tally/testing')>} */
const simulator = import(pathToFileURL(entry).href);

/** @param {number} seed */
async function answer(seed) {
  const { runHistory } = await simulator;
  const { violations } = await runHistory(seed);
  process.send?.(violations);
}

process.on('message', (seed) => void answer(Number(seed)));
