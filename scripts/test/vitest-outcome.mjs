// @ts-check

/**
 * The parts of vitest's JSON report that are read here.
 *
 * @typedef {object} VitestReport
 * @property {boolean} success
 * @property {readonly VitestFile[]} testResults
 *
 * @typedef {{name: string, status: string, message?: string, assertionResults: readonly VitestTest[]}} VitestFile
 * @typedef {{status: string, title: string, fullName: string, failureMessages?: readonly string[] | null}} VitestTest
 */

/**
 * Counts what a report tells. A file that did not load has no tests and counts as one that failed; so does a run that failed although no test did, which is how
 * an error outside of the tests shows.
 *
 * @param {VitestReport | undefined} report
 * @param {{code: number, output: string, filtered: boolean, failures?: readonly string[] | undefined}} run `filtered` when only
 *   tests of a certain name were asked for; `failures` are the texts to show for them, when the run left any
 * @returns {import('../checks/outcome.mjs').Outcome}
 */
export function outcomeOfVitest(report, { code, output, filtered, failures: texts = [] }) {
  if (report === undefined) return { passed: 0, failed: 1, output: output.trim() || `vitest ended with code ${code} and left no report` };
  let passed = 0;
  const failures = [];
  for (const file of report.testResults) {
    for (const test of file.assertionResults) {
      if (test.status === 'passed') passed++;
      else if (test.status === 'failed') failures.push(`${file.name}\n  ${test.fullName}\n${(test.failureMessages ?? []).join('\n')}`);
      else if (!filtered)
        failures.push(`${file.name}\n  ${test.fullName}\nended as '${test.status}': a test that does not run shows nothing.`);
    }
    if (file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed')) {
      failures.push(`${file.name}\n${file.message || 'the file could not be loaded'}`);
    }
  }
  if (failures.length === 0 && (code !== 0 || !report.success)) failures.push(output.trim() || `vitest ended with code ${code}`);
  return {
    passed,
    failed: failures.length,
    output: failures.length === 0 ? output : (texts.length >= failures.length ? texts : failures).join('\n\n'),
  };
}
