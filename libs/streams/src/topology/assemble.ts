/** From a draft to a validated topology. */
import { InvalidConfigurationError } from '../core/errors.js';
import { describeTopology } from './describe.js';
import { topologyMermaid } from './mermaid.js';
import { divide, storeUsers } from './sub-topologies.js';
import type { TopologyDraft } from './topology-draft.js';
import { hashTopology } from './topology-hash.js';
import type { Topology, TopologyNode } from './topology.js';

/** @throws InvalidConfigurationError */
export function assembleTopology(draft: TopologyDraft): Topology {
  refuseReportedProblems(draft);
  if (draft.nodes.size === 0) {
    throw new InvalidConfigurationError('TOPOLOGY_EMPTY', `The topology "${draft.name}" has no nodes: it needs at least one source.`);
  }
  refuseConcurrentSharing(draft);
  const nodes = new Map([...draft.nodes].map(([name, node]) => [name, snapshot(draft, node)]));
  const stores = new Map([...draft.stores].filter(([name]) => !draft.globalStores.has(name)));
  const subTopologies = divide(draft);
  const topology = {
    name: draft.name,
    version: draft.version,
    hash: hashTopology(subTopologies, stores, draft.topicChangelogs),
    nodes,
    stores,
    topicChangelogs: new Map(draft.topicChangelogs),
    globalStores: new Map(draft.globalStores),
    repartitionTopics: [...draft.repartitionTopics.values()],
    subTopologies,
  };
  return Object.freeze({ ...topology, describe: () => describeTopology(topology), mermaid: () => topologyMermaid(topology) });
}

/** The draft's lists of children go on growing; the topology's do not. */
function snapshot(draft: TopologyDraft, node: TopologyNode): TopologyNode {
  if (node.kind === 'sink') return node;
  return Object.freeze({ ...node, children: Object.freeze([...(draft.children.get(node.name) ?? [])]) });
}

function refuseReportedProblems(draft: TopologyDraft): void {
  const [first, ...more] = draft.problems;
  if (first === undefined) return;
  if (more.length === 0) throw first;
  const messages = draft.problems.map((problem) => problem.message);
  throw new InvalidConfigurationError(first.code, messages.join('\n'), first.place, first);
}

/** Records in flight are kept apart by their key within one node only, so another node could read what is about to change. */
function refuseConcurrentSharing(draft: TopologyDraft): void {
  for (const [store, users] of storeUsers(draft)) {
    for (const name of users) {
      const node = draft.nodes.get(name);
      if (node?.kind !== 'processor' || node.concurrency === 1) continue;
      refuseAcrossKeys(draft, name, store);
      if (users.length < 2) continue;
      const other = users.find((user) => user !== name);
      throw new InvalidConfigurationError(
        'TOPOLOGY_CONCURRENT_STORE',
        `Processor "${name}" handles several records at a time, so no other node can use its store "${store}"; "${other}" does. Take the concurrency away, or let one of them use a store of its own.`,
        { node: name, store },
      );
    }
  }
}

/** What a store knows of time or order belongs to all keys, so records of different keys are not apart in it. */
function refuseAcrossKeys(draft: TopologyDraft, node: string, store: string): void {
  const definition = draft.stores.get(store);
  if (definition?.kind === 'keyValue' && definition.ttlMs === undefined) return;
  throw new InvalidConfigurationError(
    'TOPOLOGY_CONCURRENT_STORE',
    `Processor "${node}" handles several records at a time, so it cannot use the store "${store}", which keeps time or order across keys. Take the concurrency away, or use a key-value store without ttlMs.`,
    { node, store },
  );
}
