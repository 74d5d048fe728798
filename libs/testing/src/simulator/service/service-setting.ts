import { StreamsWorker, type Topology, type WorkerOptions } from '@tally/streams';
import type { ApplicationFacts } from '../faults/index.js';
import type { HistoryPlan } from '../plan/plan.js';
import { withHandlerFaults } from '../world/handler-faults.js';
import type { Setting } from '../world/setting.js';
import type { SimulateOptions } from './options.js';
import { plainText } from './plain-text.js';

/** What is simulated. */
export interface Subject {
  /** Made anew for each process. */
  readonly topology: () => Topology;
  readonly workerOptions: Partial<WorkerOptions>;
}

const applicationId = 'simulated';

export function serviceSetting(subject: Subject, { partitions, worker }: HistoryPlan, options: SimulateOptions): Setting {
  const specimen = subject.topology();
  const declared = declaredPartitions(specimen);
  const inputs = inputTopics(specimen);
  const { topicConfigs = {} } = options;
  const names = new Set([...inputs, ...declared.keys(), ...Object.keys(topicConfigs)]);
  return {
    applicationId,
    topology: specimen,
    topics: Array.from(names, (name) => ({ name, partitions: declared.get(name) ?? partitions, config: topicConfigs[name] ?? {} })),
    partitionsOfUnknown: partitions,
    inputs,
    // What is on no changelog goes with the disk.
    stores: [...specimen.stores.values()].filter(({ changelog }) => changelog),
    createWorker({ applicationId: id, stateDirectory, pause: _pause, hold, ...parts }) {
      const topology = withHandlerFaults(subject.topology(), hold);
      return new StreamsWorker({ ...parts, topology }, { ...worker, ...subject.workerOptions, applicationId: id, stateDirectory });
    },
    keyText: plainText,
    storeText: (_store, value) => plainText(value),
  };
}

/** Source topics but for those between the application's own parts. */
export function inputTopics({ subTopologies, repartitionTopics }: Topology): readonly string[] {
  const internal = new Set(repartitionTopics.map(({ name }) => name));
  return subTopologies.flatMap(({ sourceTopics }) => sourceTopics).filter((name) => !internal.has(name));
}

export function declaredPartitions(topology: Topology): ReadonlyMap<string, number> {
  const declared = new Map<string, number>();
  const internal = new Set(topology.repartitionTopics.map(({ name }) => name));
  for (const node of topology.nodes.values()) {
    const topics = node.kind === 'source' ? node.topics : node.kind === 'sink' && typeof node.topic !== 'function' ? [node.topic] : [];
    for (const { name, partitions } of topics) if (partitions !== undefined && !internal.has(name)) declared.set(name, partitions);
  }
  return declared;
}

export function factsOf(topology: Topology): ApplicationFacts {
  const { subTopologies, stores } = topology;
  return {
    hasStores: stores.size > 0,
    isStateful: subTopologies.every((sub) => sub.stores.some((name) => stores.get(name)?.changelog === true)),
    joinsTopics: subTopologies.some(({ sourceTopics }) => sourceTopics.length > 1),
    isAsynchronous: true,
    forgivesDeadlines: false,
    survivesLostTopics: false,
  };
}
