import { describe, expect, it } from 'vitest';
import { planFromJson, planToJson } from './index.js';
import { drawPlan } from './plan/draw-plan.js';
import type { HistoryPlan } from './plan/plan.js';
import { shrinkPlan } from './shrink.js';

/** Fails while two certain faults, a certain record and two machines are there. */
function findsIn(plan: HistoryPlan): (candidate: HistoryPlan) => Promise<readonly string[]> {
  const [first, last] = [plan.faults[0], plan.faults.at(-1)];
  const record = plan.load[100];
  return async ({ faults, load, machines }) => {
    const isThere = faults.some((each) => each === first) && faults.some((each) => each === last) && load.some((each) => each === record);
    return isThere && machines >= 2 ? ['output'] : ['liveness'];
  };
}

const threeMachines = (): HistoryPlan => {
  for (let seed = 1; ; seed += 1) {
    const plan = drawPlan(seed);
    if (plan.machines === 3 && plan.faults.length > 6) {
      const [first, ...others] = plan.faults;
      // What is needed happens to the first two machines.
      if (first !== undefined)
        return { ...plan, faults: [first, ...others].map((fault) => ('machine' in fault ? { ...fault, machine: 0 } : fault)) };
    }
  }
};

describe('shrinking a plan', () => {
  it('leaves only what the checker needs', async () => {
    const plan = threeMachines();
    const small = await shrinkPlan(plan, 'output', findsIn(plan));
    expect(small.faults).toEqual([plan.faults[0], plan.faults.at(-1)]);
    expect(small.load).toEqual([plan.load[100]]);
    expect(small.machines).toBe(2);
  });

  it('keeps to the number of runs that it is given', async () => {
    const plan = threeMachines();
    let runs = 0;
    const small = await shrinkPlan(
      plan,
      'output',
      async () => {
        runs += 1;
        return ['output'];
      },
      5,
    );
    expect(runs).toBe(5);
    expect(small.load.length).toBeLessThan(plan.load.length + 1);
  });

  it('gives a plan that can be written down and read again', () => {
    const plan = drawPlan(7);
    expect(planFromJson(planToJson(plan))).toEqual({
      ...plan,
      load: plan.load.map((record) => ({ ...record, value: Buffer.from(record.value ?? []) })),
    });
  });
});
