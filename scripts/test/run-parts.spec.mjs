// @ts-check
import { describe, expect, it } from 'vitest';
import { outcomeOf, outcomeOfCommand } from '../checks/outcome.mjs';
import { parseArguments } from './arguments.mjs';
import { passLines } from './pass-lines.mjs';
import { runParts, summary } from './run-parts.mjs';

/**
 * @param {string} title
 * @param {() => import('../checks/outcome.mjs').Outcome} run
 */
const part = (title, run) => ({ title, run: async () => run() });

/**
 * @param {Parameters<typeof runParts>[0]} parts
 * @param {boolean} verbose
 */
async function told(parts, verbose = false) {
  /** @type {string[]} */
  const lines = [];
  const total = await runParts(parts, {}, { verbose, write: (line) => lines.push(line.replace(/\(\d+\.\d s\)/, '(time)')) });
  return { lines, total };
}

describe('the parts of the tests', () => {
  it('are summed up', async () => {
    const { lines, total } = await told([
      part('lint', () => outcomeOf([])),
      part('unit tests', () => ({ passed: 41, failed: 0, output: 'quiet' })),
    ]);
    expect(lines).toEqual(['ok   lint: 1 passed, 0 failed (time)', 'ok   unit tests: 41 passed, 0 failed (time)']);
    expect(summary(total)).toEqual({ line: '42 passed, 0 failed', code: 0 });
  });

  it('fail the whole when one fails, and the others still run', async () => {
    const parts = [
      part('lint', () => outcomeOfCommand({ code: 2, output: 'a.ts: no' })),
      part('unit', () => ({ passed: 3, failed: 2, output: 'why' })),
      part('last', () => outcomeOf([])),
    ];
    const { lines, total } = await told(parts);
    expect(lines).toEqual([
      'FAIL lint: 0 passed, 1 failed (time)',
      '    a.ts: no',
      'FAIL unit: 3 passed, 2 failed (time)',
      '    why',
      'ok   last: 1 passed, 0 failed (time)',
    ]);
    expect(summary(total)).toEqual({ line: '4 passed, 3 failed', code: 1 });
  });

  it('fail when they throw', async () => {
    const parts = [
      part('broker', () => {
        throw new Error('no Java');
      }),
    ];
    const { lines, total } = await told(parts);
    expect(lines).toEqual(['FAIL broker: 0 passed, 1 failed (time)', '    Error: no Java']);
    expect(summary(total).code).toBe(1);
  });

  it('fail when nothing was tested', () => {
    expect(summary({ passed: 0, failed: 0 })).toEqual({ line: '0 passed, 0 failed', code: 1 });
  });

  it('show the output of what passed only when they are asked to', async () => {
    expect((await told([part('lint', () => outcomeOf([], '3 files'))], true)).lines).toEqual([
      'ok   lint: 1 passed, 0 failed (time)',
      '    3 files',
    ]);
  });
});

describe('the arguments of the tests', () => {
  const parts = [{ name: 'lint' }, { name: 'unit', tests: true }, { name: 'broker', tests: true }];

  it('choose parts', () => {
    expect(parseArguments([], parts).names).toEqual(['lint', 'unit', 'broker']);
    expect(parseArguments(['--only', 'broker,lint'], parts).names).toEqual(['lint', 'broker']);
    expect(parseArguments(['--only=unit', '--verbose'], parts)).toEqual({ names: ['unit'], filter: undefined, verbose: true, help: false });
  });

  it('choose tests', () => {
    expect(parseArguments(['--filter', 'zombie'], parts)).toEqual({
      names: ['unit', 'broker'],
      filter: 'zombie',
      verbose: false,
      help: false,
    });
    expect(parseArguments(['--filter=zombie', '--only=broker'], parts).names).toEqual(['broker']);
  });

  it('are refused when they make no sense', () => {
    expect(() => parseArguments(['--only', 'units'], parts)).toThrow("There is no part 'units'. The parts are: lint, unit, broker.");
    expect(() => parseArguments(['--only'], parts)).toThrow('--only needs a value.');
    expect(() => parseArguments(['unit'], parts)).toThrow("'unit' is not known.");
  });
});

describe('lines that are passed on', () => {
  it('come whole, however they were cut', () => {
    /** @type {string[]} */
    const lines = [];
    const pass = passLines(/^ {4}/, (line) => lines.push(line));
    for (const text of ['    a.sp', 'ec.ts\nnoise\n  ', '  b.spec.ts\n']) pass(text);
    expect(lines).toEqual(['    a.spec.ts\n', '    b.spec.ts\n']);
  });
});
