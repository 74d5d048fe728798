import { StreamsWorker } from '@tally/streams';
import type { HistoryPlan } from '../plan/plan.js';
import type { Scenario } from '../scenarios/scenario.js';
import { withHandlerFaults } from './handler-faults.js';
import type { Setting } from './setting.js';

/** What a history of the scenario runs. */
export function settingOf(scenario: Scenario, { partitions, worker }: HistoryPlan): Setting {
  const errors = scenario.errors === undefined ? {} : { errors: scenario.errors };
  return {
    applicationId: 'simulated',
    topology: scenario.topology({ pause: () => Promise.resolve() }),
    topics: [...scenario.inputs, ...scenario.outputs].map((topic) => ({ ...topic, partitions })),
    inputs: scenario.inputs.map(({ name }) => name),
    outputs: scenario.outputs.map(({ name }) => name),
    stores: scenario.stores,
    createWorker({ applicationId, stateDirectory, pause, hold, ...parts }) {
      const topology = withHandlerFaults(scenario.topology({ pause }), hold);
      return new StreamsWorker({ ...parts, topology }, { applicationId, stateDirectory, ...worker, brokerTimeoutMs: 3_000, ...errors });
    },
    keyText: String,
    storeText: (store, value) => scenario.storeText(store, value),
  };
}
