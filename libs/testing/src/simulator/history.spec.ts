import type { CommitPoint } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { commitPoints } from './faults/index.js';
import { runHistory, runPlan } from './index.js';
import { drawPlan } from './plan/draw-plan.js';
import type { HistoryPlan, PlannedFault } from './plan/plan.js';
import { scenarioOf, scenarios } from './scenarios/index.js';
import type { CreateWorker } from './world/application.js';
import { History } from './world/history.js';
import { settingOf } from './world/scenario-setting.js';

/** A plan of the scenario without faults, with commits and flushes that follow one another quickly. */
function quietPlan(scenario: string, seed: number): HistoryPlan {
  const plan = drawPlan(
    seed,
    scenarios.filter(({ name }) => name === scenario),
  );
  const worker = { ...plan.worker, guarantee: 'exactly-once', commitIntervalMs: 25, stateFlushIntervalMs: 10 } as const;
  return { ...plan, worker, faults: [] };
}

/** Kills the only machine at the same point three times. */
function killsAt(point: CommitPoint, durationMs: number): readonly PlannedFault[] {
  return [1, 2, 3].map((number) => ({
    kind: 'kill',
    machine: 0,
    when: { afterMs: Math.floor((durationMs * number) / 5), on: point, nth: number },
    downMs: 50,
    newDisk: false,
  }));
}

describe('a history', () => {
  it.each(scenarios.map(({ name }) => name))('of %s is as its model says when nothing goes wrong', async (scenario) => {
    const { violations, faultsFired } = await runPlan(quietPlan(scenario, 1));
    expect(violations).toEqual([]);
    expect(faultsFired).toEqual({});
  });

  it.each(commitPoints)('loses, repeats and rebuilds nothing when its worker is killed %s again and again', async (point) => {
    for (const seed of [1, 2, 3]) {
      const plan = { ...quietPlan('sums', seed), machines: 1 };
      const { violations, faultsFired } = await runPlan({ ...plan, faults: killsAt(point, plan.durationMs) });
      expect(faultsFired[`kill at ${point}`], `seed ${seed}`).toBeGreaterThan(0);
      expect(violations, `seed ${seed}`).toEqual([]);
    }
  });

  it('is found to be stuck when something on its machines goes round without end', async () => {
    const plan = quietPlan('sums', 1);
    const setting = settingOf(scenarioOf('sums'), plan);
    const createWorker: CreateWorker = (ports) => {
      const goRound = async (): Promise<never> => {
        for (;;) await ports.clock.yieldNow();
      };
      void goRound();
      return setting.createWorker(ports);
    };
    const evidence = await new History(plan, { ...setting, createWorker }).run();
    expect(evidence.stuck).toContain('goes round without end');
  });

  it('is the same for the same seed, line by line', async () => {
    const [first, second] = [await runHistory(3, { trace: true }), await runHistory(3, { trace: true })];
    expect(first.lines.length).toBeGreaterThan(500);
    expect(second.lines).toEqual(first.lines);
  });

  it('needs no trace to be the same', async () => {
    const [traced, untraced] = [await runHistory(5, { trace: true }), await runHistory(5)];
    expect(untraced.faultsFired).toEqual(traced.faultsFired);
    expect(untraced.lines).toEqual([]);
  });
});
