/** Makes the plan of a history that failed smaller, as long as the same checker still finds something: less to read for whoever looks for the bug. */
import type { HistoryPlan } from './plan/plan.js';

/** @returns names of the checkers that find something in the plan's history. */
export type FindCheckers = (plan: HistoryPlan) => Promise<readonly string[]>;

const runsMaxDefault = 300;

/**
 * Takes away faults, then machines, then records, then once more faults.
 * @param checker that must go on finding something.
 * @param runsMax histories that may be run for it. Default 300.
 */
export async function shrinkPlan(
  plan: HistoryPlan,
  checker: string,
  findCheckers: FindCheckers,
  runsMax = runsMaxDefault,
): Promise<HistoryPlan> {
  let runs = 0;
  const fails = async (candidate: HistoryPlan): Promise<boolean> => {
    if (runs >= runsMax) return false;
    runs += 1;
    return (await findCheckers(candidate)).includes(checker);
  };
  let smallest = await withFewerFaults(plan, fails);
  smallest = await withFewerMachines(smallest, fails);
  smallest = await withFewerRecords(smallest, fails);
  return withFewerFaults(smallest, fails);
}

type Fails = (candidate: HistoryPlan) => Promise<boolean>;

async function withFewerFaults(plan: HistoryPlan, fails: Fails): Promise<HistoryPlan> {
  return { ...plan, faults: await fewest(plan.faults, (faults) => fails({ ...plan, faults })) };
}

async function withFewerRecords(plan: HistoryPlan, fails: Fails): Promise<HistoryPlan> {
  return { ...plan, load: await fewest(plan.load, (load) => fails({ ...plan, load })) };
}

/** The last machine goes, and what happens to it. */
async function withFewerMachines(plan: HistoryPlan, fails: Fails): Promise<HistoryPlan> {
  let smallest = plan;
  while (smallest.machines > 1) {
    const machines = smallest.machines - 1;
    const faults = smallest.faults.filter((fault) => !('machine' in fault) || fault.machine < machines);
    const candidate = { ...smallest, machines, faults };
    if (!(await fails(candidate))) break;
    smallest = candidate;
  }
  return smallest;
}

/** Takes away halves, quarters and so on, down to single ones, while it still fails without them. */
async function fewest<T>(all: readonly T[], failsWith: (some: readonly T[]) => Promise<boolean>): Promise<readonly T[]> {
  let left = all;
  for (let size = Math.ceil(all.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < left.length;) {
      const candidate = [...left.slice(0, from), ...left.slice(from + size)];
      if (await failsWith(candidate)) left = candidate;
      else from += size;
    }
  }
  return left;
}
