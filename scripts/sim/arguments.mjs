// @ts-check
import { PlainError } from '../support/report.mjs';

export const usage = `Usage: npm run sim -- [options]
  --seeds N   how many histories (default 500)
  --start N   the first seed (default 1)
  --seed N    only this one
  --plan FILE only this schedule, as it was kept of a failure
  --trace     print what happened in each history, line by line
  --mutations [LETTER,...]
              break the engine on purpose, in every known way or in these, and show that a checker notices
  --hunt      with --mutations: run all the seeds, and tell which of them show each mutation; else the seeds that are recorded with it
              come first, the others only while none has shown it, and the first that does ends it
`;

/**
 * @typedef {object} SimulationOptions
 * @property {number} start the first seed
 * @property {number} seeds how many
 * @property {boolean} trace
 * @property {string | undefined} plan file of a schedule
 * @property {readonly string[] | undefined} mutations letters of the ways in which the engine is broken; empty for all, undefined for none
 * @property {boolean} hunt
 * @property {boolean} help
 */

/**
 * @param {readonly string[]} words
 * @returns {SimulationOptions}
 */
export function parseArguments(words) {
  /** @type {SimulationOptions} */
  const options = { start: 1, seeds: 500, trace: false, plan: undefined, mutations: undefined, hunt: false, help: false };
  const waiting = words.flatMap((word) =>
    /^--[a-z]+=/.test(word) ? [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] : [word],
  );
  for (let word = waiting.shift(); word !== undefined; word = waiting.shift()) {
    const option = word;
    const number = () => {
      const value = waiting.shift() ?? '';
      if (!/^\d{1,15}$/.test(value)) throw new PlainError(`${option} needs a whole number; it has '${value}'.\n${usage}`);
      return Number(value);
    };
    const text = () => {
      const value = waiting.shift();
      if (value === undefined) throw new PlainError(`${option} needs a value.\n${usage}`);
      return value;
    };
    if (option === '--seeds') options.seeds = number();
    else if (option === '--start') options.start = number();
    else if (option === '--seed') Object.assign(options, { start: number(), seeds: 1 });
    else if (option === '--plan') options.plan = text();
    else if (option === '--trace') options.trace = true;
    else if (option === '--mutations') options.mutations = /^[a-z](,[a-z])*$/.test(waiting[0] ?? '') ? waiting.shift()?.split(',') : [];
    else if (option === '--hunt') options.hunt = true;
    else if (option === '--help') options.help = true;
    else throw new PlainError(`'${option}' is not known.\n${usage}`);
  }
  return options;
}
