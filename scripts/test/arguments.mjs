// @ts-check
import { PlainError } from '../support/report.mjs';

export const usage = `Usage: npm test [-- options]
  --only PART[,PART]  only these parts
  --filter TEXT       only tests whose name holds the text (unit and broker, unless --only says otherwise)
  --verbose           all output, not only that of what fails
`;

/**
 * @param {readonly string[]} words
 * @param {readonly {name: string, tests?: boolean}[]} parts
 * @returns {{names: string[], filter: string | undefined, verbose: boolean, help: boolean}}
 */
export function parseArguments(words, parts) {
  /** @type {string[] | undefined} */
  let only;
  /** @type {string | undefined} */
  let filter;
  let verbose = false;
  let help = false;
  const waiting = [...words];
  for (let word = waiting.shift(); word !== undefined; word = waiting.shift()) {
    const [name, inline] = splitOnce(word);
    const value = () => {
      const given = inline ?? waiting.shift();
      if (given === undefined || given === '') throw new PlainError(`${name} needs a value.\n${usage}`);
      return given;
    };
    if (name === '--only') only = [...(only ?? []), ...value().split(',')];
    else if (name === '--filter') filter = value();
    else if (word === '--verbose') verbose = true;
    else if (word === '--help') help = true;
    else throw new PlainError(`'${word}' is not known.\n${usage}`);
  }
  const unknown = only?.find((name) => !parts.some((part) => part.name === name));
  if (unknown !== undefined)
    throw new PlainError(`There is no part '${unknown}'. The parts are: ${parts.map(({ name }) => name).join(', ')}.`);
  const chosen = parts.filter((part) => (only === undefined ? filter === undefined || part.tests : only.includes(part.name)));
  return { names: chosen.map(({ name }) => name), filter, verbose, help };
}

/** @param {string} word */
function splitOnce(word) {
  const equals = word.indexOf('=');
  return equals === -1 ? [word, undefined] : [word.slice(0, equals), word.slice(equals + 1)];
}
