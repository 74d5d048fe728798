// @ts-check

/** That a worker ends, hangs, takes too much memory or uses the broker wrongly is no proof: what was written must be seen to be wrong. */
const noProof = new Set(['liveness', 'survival', 'port', 'reach']);
const messageLengthMax = 160;
const seedsShownMax = 12;

/**
 * @typedef {import('./mutation.mjs').Mutation} Mutation
 *
 * @typedef {object} Search
 * @property {number} start the first seed
 * @property {number} seeds how many
 * @property {boolean} hunt all seeds are run, in their order; else the recorded ones come first, and the first that shows it is the last
 *
 * @typedef {object} Catch
 * @property {number} seed
 * @property {import('@tally/testing').Violation} found by a checker
 *
 * @typedef {object} Hunt what became of one mutation
 * @property {Mutation} mutation
 * @property {readonly number[]} seeds of its histories, in their order
 * @property {readonly Catch[]} catches
 * @property {string} otherwise what came instead of a checker's finding, at first
 */

/**
 * Runs histories of a broken engine and lets the checkers find what is wrong.
 *
 * @param {Mutation} mutation
 * @param {Search} search
 * @param {(seed: number) => Promise<import('./history-runner.mjs').Ending>} runHistory
 * @returns {Promise<Hunt>}
 */
export async function hunt(mutation, search, runHistory) {
  /** @type {number[]} */
  const seeds = [];
  /** @type {Catch[]} */
  const catches = [];
  let otherwise = '';
  for (const seed of seedsOf(mutation, search)) {
    seeds.push(seed);
    const ending = await runHistory(seed);
    const violations = 'ended' in ending ? [] : ending.violations;
    const found = violations.find(({ checker }) => !noProof.has(checker));
    if (found !== undefined) catches.push({ seed, found });
    if (found !== undefined && !search.hunt) break;
    const instead = 'ended' in ending ? ending.ended : violations[0]?.message;
    if (found === undefined && instead !== undefined && otherwise === '') otherwise = `seed ${seed}: ${instead}`;
  }
  return { mutation, seeds, catches, otherwise };
}

/**
 * @param {Mutation} mutation
 * @param {Search} search
 */
function seedsOf({ seeds: recorded }, { start, seeds, hunt: huntsAll }) {
  const range = Array.from({ length: seeds }, (_, index) => start + index);
  return huntsAll ? range : [...recorded, ...range.filter((each) => !recorded.includes(each))];
}

/**
 * What became of the mutation, in a line.
 *
 * @param {Hunt} hunt
 */
export function lineOf({ mutation: { letter, title, seeds: recorded }, seeds, catches, otherwise }) {
  const histories = `${seeds.length} ${seeds.length === 1 ? 'history' : 'histories'}`;
  const [first] = catches;
  if (first === undefined) return `MISSED (${letter}) ${title}: ${histories}${otherwise === '' ? '' : `; ${shortened(otherwise)}`}`;
  const others = catches.slice(1, seedsShownMax).map(({ seed }) => `, ${seed}`);
  const all =
    catches.length === 1 ? '' : `, in ${catches.length} of them${others.length === 0 ? '' : `: also seeds ${others.join('').slice(2)}`}`;
  const isRecorded = catches.some(({ seed }) => recorded.includes(seed));
  const note = isRecorded || seeds[0] !== recorded[0] ? '' : `, record it: ${recorded.join(' and ')} do not show it any more`;
  return `caught (${letter}) ${title}: by ${first.found.checker} at seed ${first.seed}, ${histories}${all}${note}: ${shortened(first.found.message)}`;
}

/** @param {string} message */
export function shortened(message) {
  const line = message.replace(/\s+/g, ' ');
  return line.length > messageLengthMax ? `${line.slice(0, messageLengthMax)} ...` : line;
}
