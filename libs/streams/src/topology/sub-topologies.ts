/**
 * Divides a topology into the parts that one task runs: nodes that are connected by an edge, by a store or by a declared copartition.
 * A topic is read by one source node, so it belongs to exactly one of them.
 */
import { DisjointSets } from '../core/disjoint-sets.js';
import { InvalidConfigurationError } from '../core/errors.js';
import type { TopologyDraft } from './topology-draft.js';
import type { SubTopology } from './topology.js';

export function divide(draft: TopologyDraft): SubTopology[] {
  const connected = new DisjointSets();
  for (const [name, children] of draft.children) connected.unionAll([name, ...children]);
  for (const users of storeUsers(draft).values()) connected.unionAll(users);
  for (const group of draft.copartitions) connected.unionAll(group);

  const joined = joinedTopics(draft);
  const subTopologies = connected.groups(draft.nodes.keys()).map((nodes) => subTopologyOf(draft, nodes, joined));
  subTopologies.sort((left, right) => compareText(left.id, right.id));
  refuseEqualIds(subTopologies);
  return subTopologies;
}

/** Names of the nodes that use each store, global ones left out. */
export function storeUsers(draft: TopologyDraft): Map<string, string[]> {
  const users = new Map<string, string[]>();
  for (const node of draft.nodes.values()) {
    if (node.kind !== 'processor') continue;
    for (const store of node.stores) {
      // Every worker has the whole of it, whoever reads it.
      if (draft.globalStores.has(store)) continue;
      const list = users.get(store);
      if (list === undefined) users.set(store, [node.name]);
      else list.push(node.name);
    }
  }
  return users;
}

function subTopologyOf(draft: TopologyDraft, nodes: readonly string[], joined: DisjointSets): SubTopology {
  const sourceTopics: string[] = [];
  const stores = new Set<string>();
  for (const name of nodes) {
    const node = draft.nodes.get(name);
    if (node?.kind === 'source') sourceTopics.push(...node.topics.map((topic) => topic.name));
    if (node?.kind === 'processor') for (const store of node.stores) if (!draft.globalStores.has(store)) stores.add(store);
  }
  sourceTopics.sort(compareText);
  return {
    id: explicitId(draft, nodes) ?? String(sourceTopics[0]),
    nodes,
    sourceTopics,
    copartitioned: joined.groups(sourceTopics).filter((group) => group.length > 1),
    stores: [...stores].toSorted(compareText),
  };
}

function explicitId(draft: TopologyDraft, nodes: readonly string[]): string | undefined {
  const ids = new Set<string>();
  for (const name of nodes) {
    const id = draft.subTopologyNames.get(name);
    if (id !== undefined) ids.add(id);
  }
  if (ids.size < 2) return [...ids][0];
  const [first, second] = ids;
  const bridge = nodes.find((name) => isSharedStoreUser(draft, name));
  const store = bridge === undefined ? undefined : sharedStore(draft, bridge);
  throw new InvalidConfigurationError(
    'TOPOLOGY_SUB_TOPOLOGY_CONFLICT',
    `The sub-topologies "${first}" and "${second}" are one, because ${
      store === undefined ? 'their nodes are connected' : `nodes of both use the store "${store}"`
    }. A store belongs to one sub-topology: give both the same name, or separate them by a repartition.`,
    { node: bridge, store },
  );
}

function isSharedStoreUser(draft: TopologyDraft, name: string): boolean {
  return sharedStore(draft, name) !== undefined;
}

function sharedStore(draft: TopologyDraft, name: string): string | undefined {
  const node = draft.nodes.get(name);
  if (node?.kind !== 'processor') return undefined;
  const users = storeUsers(draft);
  return node.stores.find((store) => (users.get(store)?.length ?? 0) > 1);
}

/** Topics that must have equal partition counts: those behind a declared copartition, and those whose records reach one store. */
function joinedTopics(draft: TopologyDraft): DisjointSets {
  const joined = new DisjointSets();
  const topics = topicsBehindNodes(draft);
  const join = (nodes: readonly string[]): void => joined.unionAll(nodes.flatMap((name) => [...(topics.get(name) ?? [])]));
  for (const group of draft.copartitions) join(group);
  for (const users of storeUsers(draft).values()) join(users);
  return joined;
}

/** For each node the source topics whose records reach it. Parents are always declared before their children, except across repartitions. */
function topicsBehindNodes(draft: TopologyDraft): Map<string, Set<string>> {
  const behind = new Map<string, Set<string>>();
  const setOf = (name: string): Set<string> => {
    let set = behind.get(name);
    if (set === undefined) behind.set(name, (set = new Set()));
    return set;
  };
  for (const node of draft.nodes.values()) {
    if (node.kind === 'source') for (const topic of node.topics) setOf(node.name).add(topic.name);
    for (const child of draft.children.get(node.name) ?? []) for (const topic of setOf(node.name)) setOf(child).add(topic);
  }
  return behind;
}

function refuseEqualIds(subTopologies: readonly SubTopology[]): void {
  for (const [index, { id, nodes }] of subTopologies.entries()) {
    const next = subTopologies[index + 1];
    if (next?.id !== id) continue;
    throw new InvalidConfigurationError(
      'TOPOLOGY_SUB_TOPOLOGY_CONFLICT',
      `Two unconnected sub-topologies would both be "${id}": that of "${nodes[0]}" and that of "${next.nodes[0]}". Give one of them another name.`,
      { node: nodes[0] },
    );
  }
}

/** By code units, the same on every machine. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
