// @ts-check
/**
 * docs/traps.md lists the traps of the Kafka client that Tally handles, each with the test that shows it: `| trap | test name | file |`. Each of these tests must
 * have run and passed in this very run.
 */
import { relative } from 'node:path';

/**
 * @typedef {{trap: string, test: string, file: string, line: number}} Trap
 * @typedef {{status: string, title: string, fullName: string}} Assertion
 * @typedef {{testResults: readonly {name: string, assertionResults: readonly Assertion[]}[]}} VitestReport
 */

/**
 * @param {string} text of docs/traps.md
 * @returns {{traps: Trap[], faults: string[]}}
 */
export function parseTraps(text) {
  /** @type {Trap[]} */
  const traps = [];
  /** @type {string[]} */
  const faults = [];
  let inTable = false;
  for (const [index, line] of text.split('\n').entries()) {
    const cells = cellsOf(line);
    if (cells === undefined) {
      inTable = false;
      continue;
    }
    const [trap = '', test = '', file = ''] = cells;
    if (/^trap$/i.test(trap) && /^test name$/i.test(test) && /^file$/i.test(file)) inTable = true;
    else if (!inTable || cells.every((cell) => /^:?-+:?$/.test(cell))) continue;
    else if (cells.length !== 3 || trap === '' || test === '' || file === '')
      faults.push(`docs/traps.md:${index + 1}: the row must have a trap, a test name and a file.`);
    else traps.push({ trap, test, file, line: index + 1 });
  }
  if (traps.length === 0) faults.push("docs/traps.md: no table '| trap | test name | file |' with a row was found.");
  return { traps, faults };
}

/**
 * @param {string} line
 * @returns {string[] | undefined} the cells of a table's row; `\|` stands for a bar in a cell
 */
function cellsOf(line) {
  const trimmed = line.trim();
  if (!trimmed.startsWith('|') || !trimmed.endsWith('|') || trimmed.length < 2) return undefined;
  return trimmed
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) =>
      cell
        .replaceAll('\\|', '|')
        .trim()
        .replace(/^`(.*)`$/, '$1'),
    );
}

/**
 * @param {readonly Trap[]} traps
 * @param {readonly VitestReport[]} reports
 * @param {string} directory of the clone
 * @returns {string[]} one fault for each trap whose test did not pass
 */
export function untestedTraps(traps, reports, directory) {
  /** @type {Map<string, Assertion[]>} */
  const byFile = new Map();
  for (const { name, assertionResults } of reports.flatMap((report) => report.testResults)) {
    byFile.set(relative(directory, name), assertionResults.slice());
  }
  return traps.flatMap(({ trap, test, file, line }) => {
    const place = `docs/traps.md:${line}: ${trap}:`;
    const assertions = byFile.get(file);
    if (assertions === undefined) return [`${place} ${file} did not run.`];
    const named = assertions.filter(({ title, fullName }) => title === test || fullName === test);
    if (named.length === 0) return [`${place} no test named '${test}' ran in ${file}.`];
    const bad = named.find(({ status }) => status !== 'passed');
    return bad === undefined ? [] : [`${place} the test '${test}' in ${file} ended as '${bad.status}'.`];
  });
}
