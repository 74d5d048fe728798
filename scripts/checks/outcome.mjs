// @ts-check

/**
 * What one part of the tests came to.
 *
 * @typedef {object} Outcome
 * @property {number} passed
 * @property {number} failed
 * @property {string} output shown when something failed, or with --verbose
 */

/**
 * A check that finds faults counts as one test.
 *
 * @param {readonly string[]} faults
 * @param {string} [summary] shown with --verbose when there are none
 * @returns {Outcome}
 */
export function outcomeOf(faults, summary = '') {
  return faults.length === 0 ? { passed: 1, failed: 0, output: summary } : { passed: 0, failed: 1, output: faults.join('\n') };
}

/**
 * A command that succeeds or fails counts as one test.
 *
 * @param {{code: number, output: string}} result
 * @returns {Outcome}
 */
export function outcomeOfCommand({ code, output }) {
  return code === 0
    ? { passed: 1, failed: 0, output }
    : { passed: 0, failed: 1, output: output.trim() === '' ? `it ended with code ${code}` : output };
}
