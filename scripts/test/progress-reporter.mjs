// @ts-check
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from '../support/paths.mjs';
import { seconds } from '../support/report.mjs';

/**
 * Says one line per test file as it ends, for suites that take minutes, and writes down what failed: the JSON report has the stack of an error, but not
 * always its message, and never the difference between what was expected and what came.
 *
 * @implements {Pick<import('vitest/reporters').Reporter, 'onTestModuleEnd' | 'onTestRunEnd'>}
 */
export default class ProgressReporter {
  /** @type {string[]} */
  #failures = [];

  /** @param {import('vitest/node').TestModule} module */
  onTestModuleEnd(module) {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const file = relative(root, module.moduleId);
    for (const test of module.children.allTests()) {
      count[test.result().state]++;
      if (test.result().state === 'failed')
        this.#failures.push(`${file}\n  ${test.fullName}\n${(test.result().errors ?? []).map(textOf).join('\n')}`);
    }
    if (module.errors().length > 0) this.#failures.push(`${file}\n${module.errors().map(textOf).join('\n')}`);
    if (module.ok() && process.env['TALLY_PROGRESS'] !== 'files') return;
    const failed = count.failed > 0 ? `${count.failed} failed` : module.ok() ? '' : 'did not load';
    const parts = [`${count.passed} passed`, failed, count.skipped > 0 ? `${count.skipped} skipped` : ''].filter((part) => part !== '');
    console.log(`    ${file}: ${parts.join(', ')} (${seconds(module.diagnostic().duration)})`);
  }

  /**
   * @param {readonly unknown[]} _modules
   * @param {readonly import('@vitest/utils').SerializedError[]} unhandled errors outside of the tests
   */
  onTestRunEnd(_modules, unhandled) {
    const target = process.env['TALLY_FAILURES'];
    if (target)
      writeFileSync(target, JSON.stringify([...this.#failures, ...unhandled.map((error) => `outside of the tests\n${textOf(error)}`)]));
  }
}

/** @param {{name?: string, message: string, diff?: string, stack?: string}} error */
function textOf({ name, message, diff, stack }) {
  const frames = (stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !line.includes('node_modules') && !line.includes('node:'));
  return [`${name ?? 'Error'}: ${message}`, ...(diff ? [diff] : []), ...frames.slice(0, 5)].join('\n');
}
