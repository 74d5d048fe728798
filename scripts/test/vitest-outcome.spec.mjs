// @ts-check
import { describe, expect, it } from 'vitest';
import { outcomeOfVitest } from './vitest-outcome.mjs';

const passed = { status: 'passed', title: 'adds', fullName: 'sum adds' };
const failed = { status: 'failed', title: 'subtracts', fullName: 'sum subtracts', failureMessages: ['expected 1 to be 2'] };
const skipped = { status: 'skipped', title: 'divides', fullName: 'sum divides' };
const run = { code: 0, output: '', filtered: false };

/** @param {import('./vitest-outcome.mjs').VitestTest[]} assertionResults */
const fileWith = (...assertionResults) => ({
  name: '/a.spec.ts',
  status: assertionResults.includes(failed) ? 'failed' : 'passed',
  assertionResults,
});

describe('the outcome of vitest', () => {
  it('counts tests', () => {
    expect(outcomeOfVitest({ success: true, testResults: [fileWith(passed, passed)] }, run)).toEqual({ passed: 2, failed: 0, output: '' });
    const outcome = outcomeOfVitest({ success: false, testResults: [fileWith(passed, failed)] }, { ...run, code: 1 });
    expect(outcome).toEqual({ passed: 1, failed: 1, output: '/a.spec.ts\n  sum subtracts\nexpected 1 to be 2' });
  });

  it('counts a file that does not load', () => {
    const report = {
      success: false,
      testResults: [{ name: '/b.spec.ts', status: 'failed', message: 'no such module', assertionResults: [] }],
    };
    expect(outcomeOfVitest(report, { ...run, code: 1 })).toEqual({ passed: 0, failed: 1, output: '/b.spec.ts\nno such module' });
  });

  it('counts an error outside of the tests', () => {
    const outcome = outcomeOfVitest(
      { success: false, testResults: [fileWith(passed)] },
      { ...run, code: 1, output: 'Unhandled Rejection' },
    );
    expect(outcome).toEqual({ passed: 1, failed: 1, output: 'Unhandled Rejection' });
  });

  it('counts a run that left no report', () => {
    expect(outcomeOfVitest(undefined, { ...run, code: 134 })).toEqual({
      passed: 0,
      failed: 1,
      output: 'vitest ended with code 134 and left no report',
    });
  });

  it('does not let a test be skipped, unless only some were asked for', () => {
    const report = { success: true, testResults: [fileWith(passed, skipped)] };
    expect(outcomeOfVitest(report, run).failed).toBe(1);
    expect(outcomeOfVitest(report, { ...run, filtered: true })).toEqual({ passed: 1, failed: 0, output: '' });
  });

  it("shows the reporter's text, which has the difference", () => {
    const report = { success: false, testResults: [fileWith(failed)] };
    expect(outcomeOfVitest(report, { ...run, code: 1, failures: ['with a difference'] }).output).toBe('with a difference');
  });
});
