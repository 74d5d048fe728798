import { describe, expect, it } from 'vitest';
import { runPlan } from './index.js';
import { drawPlan } from './plan/draw-plan.js';
import { scenarioOf } from './scenarios/index.js';

const seeds = Array.from({ length: 8 }, (_none, index) => index + 1);

describe.each(['foreign key', 'stream join'])('a join (%s)', (name) => {
  it('comes out right whatever its processes, disks and brokers suffer', { timeout: 120_000 }, async () => {
    const faults = new Set<string>();
    for (const seed of seeds) {
      const plan = drawPlan(seed, [scenarioOf(name)]);
      const { violations, faultsFired } = await runPlan({ ...plan, worker: { ...plan.worker, guarantee: 'exactly-once' } });
      expect(violations, `seed ${seed}`).toEqual([]);
      for (const fault of Object.keys(faultsFired)) faults.add(fault);
    }
    expect(faults.size).toBeGreaterThan(5);
  });
});
