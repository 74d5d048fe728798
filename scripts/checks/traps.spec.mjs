// @ts-check
import { describe, expect, it } from 'vitest';
import { parseTraps, untestedTraps } from './traps.mjs';

const text = `# Traps

| trap | test name | file |
| --- | --- | --- |
| A batch fails with one record | \`aborts and finds the culprit\` | test/poison.spec.ts |
| a \\| b | bars | libs/a.spec.ts |

| something | else |
| --- | --- |
| no | trap |
`;

/** @param {Record<string, [name: string, status: string][]>} files */
function reportOf(files) {
  const testResults = Object.entries(files).map(([file, tests]) => ({
    name: `/clone/${file}`,
    assertionResults: tests.map(([title, status]) => ({ title, fullName: `suite ${title}`, status })),
  }));
  return { testResults };
}

describe('the list of traps', () => {
  it('is read from its table', () => {
    expect(parseTraps(text)).toEqual({
      traps: [
        { trap: 'A batch fails with one record', test: 'aborts and finds the culprit', file: 'test/poison.spec.ts', line: 5 },
        { trap: 'a | b', test: 'bars', file: 'libs/a.spec.ts', line: 6 },
      ],
      faults: [],
    });
  });

  it('is refused without rows or with a row that lacks something', () => {
    expect(parseTraps('# Traps').faults).toEqual(["docs/traps.md: no table '| trap | test name | file |' with a row was found."]);
    expect(parseTraps(text.replace('| bars ', '| ')).faults).toEqual([
      'docs/traps.md:6: the row must have a trap, a test name and a file.',
    ]);
  });

  it('is shown when each of its tests passed, by title or full name', () => {
    const { traps } = parseTraps(text.replace('| bars |', '| suite bars |'));
    const report = reportOf({ 'test/poison.spec.ts': [['aborts and finds the culprit', 'passed']] });
    expect(untestedTraps(traps, [report, reportOf({ 'libs/a.spec.ts': [['bars', 'passed']] })], '/clone')).toEqual([]);
  });

  it('fails for a test that did not run, is not there, or did not pass', () => {
    const { traps } = parseTraps(text);
    expect(untestedTraps(traps, [], '/clone')).toHaveLength(2);
    const faults = untestedTraps(
      traps,
      [reportOf({ 'test/poison.spec.ts': [['aborts', 'passed']], 'libs/a.spec.ts': [['bars', 'failed']] })],
      '/clone',
    );
    expect(faults[0]).toContain("no test named 'aborts and finds the culprit' ran in test/poison.spec.ts");
    expect(faults[1]).toContain("the test 'bars' in libs/a.spec.ts ended as 'failed'");
  });
});
