// @ts-check
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlainError } from '../support/report.mjs';

/**
 * One text of the engine's sources and what stands there instead.
 *
 * @typedef {object} Edit
 * @property {string} file below `libs/streams/src`
 * @property {string} find occurs exactly once in the file
 * @property {string} replace
 */

/**
 * One way to break the engine that the checkers of the simulator have to notice.
 *
 * @typedef {object} Mutation
 * @property {string} letter
 * @property {string} title what is done wrongly
 * @property {string} harm what comes of it, and which other defences the edits take away
 * @property {readonly number[]} seeds histories in which a checker notices it
 * @property {readonly Edit[]} edits
 */

/**
 * @param {Mutation} mutation
 * @param {string} sources the folder `libs/streams/src`
 * @returns {ReadonlyMap<string, string>} the new text of each file that the mutation changes, by its path
 */
export function mutatedFiles(mutation, sources) {
  /** @type {Map<string, string>} */
  const files = new Map();
  for (const edit of mutation.edits) {
    const path = join(sources, edit.file);
    files.set(path, applyEdit(mutation, edit, files.get(path) ?? readFileSync(path, 'utf8')));
  }
  return files;
}

/**
 * @param {Mutation} mutation
 * @param {Edit} edit
 * @param {string} text
 */
function applyEdit({ letter, title }, { file, find, replace }, text) {
  const parts = text.split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new PlainError(
    `Mutation (${letter}) does not fit libs/streams/src/${file}: the text that it replaces occurs there ${parts.length - 1} times, not once.\n` +
      `The engine has moved on. Change scripts/sim/mutations/${letter}.mjs, so that it does this again: ${title}.\nThe text:\n${find}`,
  );
}
