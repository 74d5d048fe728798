// @ts-check
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { run } from '../support/command.mjs';
import { cloneState, root, tool } from '../support/paths.mjs';
import { passLines } from './pass-lines.mjs';
import { outcomeOfVitest } from './vitest-outcome.mjs';

/**
 * Runs one project of vitest.config.ts.
 *
 * @param {'unit' | 'broker'} project
 * @param {{filter?: string | undefined, verbose: boolean, brokers?: string}} options
 * @returns {Promise<{outcome: import('../checks/outcome.mjs').Outcome, report: import('./vitest-outcome.mjs').VitestReport | undefined}>}
 */
export async function runVitest(project, { filter, verbose, brokers }) {
  const reportFile = join(cloneState, 'reports', `${process.pid}-${project}.json`);
  const failuresFile = join(cloneState, 'reports', `${process.pid}-${project}-failures.json`);
  mkdirSync(join(cloneState, 'reports'), { recursive: true });
  const reporters = [
    '--reporter=json',
    `--outputFile.json=${reportFile}`,
    `--reporter=${join(root, 'scripts/test/progress-reporter.mjs')}`,
  ];
  const args = [tool('vitest/vitest.mjs'), 'run', '--project', project, ...reporters, ...(filter === undefined ? [] : ['-t', filter])];
  const env = {
    // As services are started: consuming, committing and LevelDB share this pool.
    UV_THREADPOOL_SIZE: '16',
    ...process.env,
    NO_COLOR: '1',
    TALLY_FAILURES: failuresFile,
    TALLY_PROGRESS: project === 'broker' || verbose ? 'files' : 'failures',
    TALLY_BROKER_CONTROL: pathToFileURL(join(root, 'scripts', 'broker.mjs')).href,
    ...(brokers === undefined ? {} : { KAFKA_BROKERS: brokers }),
  };
  const { code, output } = await run(process.execPath, args, {
    cwd: root,
    env,
    onOutput: verbose ? (text) => process.stdout.write(text) : passLines(/^ {4}\S+\.spec\./),
  });
  const report = /** @type {import('./vitest-outcome.mjs').VitestReport | undefined} */ (takeJson(reportFile));
  const failures = /** @type {string[] | undefined} */ (takeJson(failuresFile));
  return { outcome: outcomeOfVitest(report, { code, output, filtered: filter !== undefined, failures }), report };
}

/**
 * @param {string} file
 * @returns {unknown} its content; the file is gone afterwards
 */
function takeJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  } finally {
    rmSync(file, { force: true });
  }
}
