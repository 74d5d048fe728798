import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { refuseRanges } from '../../libs/testing/src/dsl/refuse-ranges.suite.js';
import { differences } from './compare.js';
import { conform, type Verdict } from './conform.js';
import { deliberate } from './differences.js';
import { canRunOracle, generateScenarios, oracleFolder, readExpected, readScenarios, runOracle } from './oracle.js';
import type { Around } from './run.js';
import type { Result, Scenario } from './scenario.js';

const folder = oracleFolder();
const files = folder === undefined ? [] : readdirSync(join(folder, 'scenarios')).filter((name) => name.endsWith('.json'));

const generatedCount = 300;

/** What does not agree, unless that is meant or nobody has taught the interpreter its operators yet. */
function disagreements(verdicts: readonly Verdict[]): string[] {
  return verdicts
    .filter(({ name, agrees, isInterpreted }) => isInterpreted && !agrees && !deliberate.has(name))
    .map(({ name, lines }) => [name, ...lines].join('\n'));
}

/** Store reads that wait are refused while records are processed. */
function withoutAsynchronousReads(): Around {
  let isForbidden = false;
  refuseRanges(() => isForbidden);
  return {
    begin: () => {
      isForbidden = true;
    },
    end: () => {
      isForbidden = false;
    },
  };
}

/** Punctuators may wait: the oracle's read whole stores. */
function readsRanges({ topology }: Scenario): boolean {
  return topology.some((operator) => String(operator['processor']).startsWith('punctuate'));
}

const folders = folder === undefined ? [] : [folder];
if (folder === undefined) console.warn('Not compared with Kafka Streams: the scenarios are not there. Name their folder in TALLY_ORACLE.');

const foldersToRun = canRunOracle() ? folders : [];
if (foldersToRun.length < folders.length) console.warn('Not compared on random scenarios: the oracle needs Java and Maven.');

describe.each(folders)('Kafka Streams and Tally', (oracle) => {
  it('have scenarios to agree on', () => {
    expect(files.length).toBeGreaterThan(0);
  });

  it.each(files)('agree on %s', async (name) => {
    const file = join(oracle, 'scenarios', name);
    expect(disagreements(await conform(readScenarios(file), readExpected(file)!))).toEqual([]);
  });

  it('differ where that is meant, in five scenarios at most', async () => {
    const all = files.flatMap((name) => {
      const file = join(oracle, 'scenarios', name);
      const results = readExpected(file)!;
      return readScenarios(file).map((scenario, index) => [scenario, results[index]!] as const);
    });
    const meant = all.filter(([{ name }]) => deliberate.has(name));
    expect(meant.map(([{ name }]) => name).toSorted()).toEqual([...deliberate.keys()].toSorted());
    expect(deliberate.size).toBeLessThanOrEqual(5);
    const verdicts = await conform(...columns(meant));
    expect(verdicts.filter(({ agrees }) => agrees).map(({ name }) => name)).toEqual([]);
  });

  describe('without a store read that waits', () => {
    afterEach(() => void vi.restoreAllMocks());

    it.each(files)('agree on %s', async (name) => {
      const file = join(oracle, 'scenarios', name);
      const results = readExpected(file)!;
      const pairs = readScenarios(file).map((scenario, index) => [scenario, results[index]!] as const);
      const synchronous = pairs.filter(([scenario]) => !readsRanges(scenario));
      expect(disagreements(await conform(...columns(synchronous), withoutAsynchronousReads()))).toEqual([]);
    });

    it('(a punctuator that does read a range is noticed)', async () => {
      const file = join(oracle, 'scenarios', 'processors.json');
      const results = readExpected(file)!;
      const waiting = readScenarios(file)
        .map((scenario, index) => [scenario, results[index]!] as const)
        .filter(([scenario]) => readsRanges(scenario));
      expect(waiting.length).toBeGreaterThan(0);
      expect(disagreements(await conform(...columns(waiting), withoutAsynchronousReads()))).toHaveLength(waiting.length);
    });
  });
});

describe.each(foldersToRun)('Kafka Streams and Tally, on random scenarios,', () => {
  let scenarios: readonly Scenario[] = [];
  let results: readonly Result[] = [];

  beforeAll(() => {
    scenarios = generateScenarios(1, generatedCount);
    results = runOracle(scenarios);
  }, 300_000);

  it(`agree, ${generatedCount} times`, { timeout: 300_000 }, async () => {
    expect(disagreements(await conform(scenarios, results))).toEqual([]);
  });
});

describe('the comparison', () => {
  const result: Result = {
    name: 'two',
    outputs: [
      { event: 0, topic: 'out', key: 'a', value: 1, timestamp: 5 },
      { event: 1, topic: 'out', key: 'a', value: 2, timestamp: 6, headers: [['h', null]] },
    ],
    stores: { s: [{ key: 'a', value: 2, timestamp: 6 }] },
    dropped: 0,
  };

  it('finds nothing in what is equal, absent header values as empty ones', () => {
    const [first, second] = result.outputs;
    expect(differences(result, { ...result, outputs: [first!, { ...second!, headers: [['h', '']] }] })).toEqual([]);
  });

  it('shows what differs side by side, in each part', () => {
    const [first] = result.outputs;
    expect(differences(result, { ...result, outputs: [first!], stores: {}, dropped: 1 })).toEqual([
      '  outputs',
      '      expected              Tally',
      '      0 out "a" 1 @5        0 out "a" 1 @5',
      '    ! 1 out "a" 2 @6 {h=}   ',
      '  stores',
      '      expected     Tally',
      '    ! s "a" 2 @6   ',
      '  dropped',
      '      expected   Tally',
      '    ! 0          1',
    ]);
  });

  it('knows that names which nobody gave are made differently', () => {
    const of = (topic: string): Result => ({
      ...result,
      outputs: [{ event: 0, topic: 'out', key: 'a', value: `v@${topic}/0/1`, timestamp: 5 }],
    });
    expect(differences(of('oracle-KSTREAM-MAP-0000000001-repartition'), of('oracle-t0-join-left-repartition'))).toEqual([]);
    expect(differences(of('oracle-byfield-left-repartition'), of('oracle-byfield-left-repartition'))).toEqual([]);
    expect(differences(of('oracle-byfield-left-repartition'), of('oracle-other-left-repartition'))).not.toEqual([]);
    expect(differences(of('oracle-KSTREAM-MAP-0000000001-repartition'), of('t0'))).not.toEqual([]);
  });

  it('wants errors at the same event, whatever they say', () => {
    const failed = { ...result, error: 'one', errorEvent: 1 };
    expect(differences(failed, { ...result, error: 'other', errorEvent: 1, dropped: 3 })).toEqual([]);
    expect(differences(failed, { ...result, error: 'one', errorEvent: 0 })).toEqual([
      '  error',
      '      expected           Tally',
      '    ! error at event 1   error at event 0',
    ]);
    expect(differences(failed, result)).not.toEqual([]);
  });
});

function columns(pairs: readonly (readonly [Scenario, Result])[]): [Scenario[], Result[]] {
  return [pairs.map(([scenario]) => scenario), pairs.map(([, result]) => result)];
}
