/** The text form of a topology: what runs in one task, from sources to sinks. */
import type { UntypedStore } from './store-definition.js';
import type { Topology, TopologyNode } from './topology.js';

export function describeTopology(topology: Omit<Topology, 'describe' | 'mermaid'>): string {
  const lines = [`Topology ${topology.name}, version ${topology.version}, hash ${topology.hash.slice(0, 12)}`];
  for (const subTopology of topology.subTopologies) {
    lines.push(`  Sub-topology ${subTopology.id}`);
    lines.push(`    topics: ${subTopology.sourceTopics.join(', ')}`);
    for (const group of subTopology.copartitioned) lines.push(`    equal partition counts: ${group.join(', ')}`);
    for (const name of subTopology.stores) lines.push(`    store ${describeStore(topology, name)}`);
    for (const name of subTopology.nodes) {
      const node = topology.nodes.get(name);
      if (node !== undefined) lines.push(`    ${describeNode(node)}`);
    }
  }
  for (const { topic, store } of topology.globalStores.values()) {
    lines.push(`  Global store ${store.name} (${store.kind}, ${store.key.name} -> ${store.value.name}) of topic ${topic.name}`);
  }
  return `${lines.join('\n')}\n`;
}

function describeStore(topology: Omit<Topology, 'describe' | 'mermaid'>, name: string): string {
  const store = topology.stores.get(name);
  if (store === undefined) return name;
  const details = [store.kind, `${store.key.name} -> ${store.value.name}`, `version ${store.version}`];
  if (!store.changelog) details.push('no changelog');
  const copied = topology.topicChangelogs.get(name)?.topic.name;
  if (copied !== undefined) details.push(`its changelog is topic ${copied}`);
  const keptMs = retentionOf(store);
  if (keptMs !== undefined) details.push(`kept for ${keptMs} ms`);
  return `${name} (${details.join(', ')})`;
}

function retentionOf(store: UntypedStore): number | undefined {
  if (store.kind === 'window' || store.kind === 'session') return store.retentionMs;
  return store.kind === 'versioned' ? store.historyRetentionMs : store.ttlMs;
}

function describeNode(node: TopologyNode): string {
  if (node.kind === 'sink') return `sink ${node.name} -> ${typeof node.topic === 'function' ? 'chosen by record' : node.topic.name}`;
  const children = node.children.length === 0 ? '' : ` -> ${node.children.join(', ')}`;
  if (node.kind === 'source') return `source ${node.name} (${node.topics.map((topic) => topic.name).join(', ')})${children}`;
  const details: string[] = [];
  if (node.stores.length > 0) details.push(`stores ${node.stores.join(', ')}`);
  if (node.concurrency > 1) details.push(`${node.concurrency} records at a time`);
  return `processor ${node.name}${details.length === 0 ? '' : ` (${details.join(', ')})`}${children}`;
}
