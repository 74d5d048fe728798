/**
 * The graph of a topology for Mermaid (`flowchart`), which Markdown viewers draw: topics, nodes and stores, with the tasks' sub-topologies as boxes. A topic
 * that one sub-topology writes and another reads is drawn once, so that the way of a record can be followed.
 */
import type { Topology, TopologyNode } from './topology.js';

type Shape = 'topic' | 'node' | 'store';

/** Identifiers of Mermaid take no dots; names are shown as labels. */
class Graph {
  readonly lines: string[] = ['flowchart LR'];
  private readonly ids = new Map<string, string>();

  /** The identifier of what has the name; made, and its line returned, when it is asked for the first time. */
  declare(shape: Shape, name: string): readonly [id: string, line: string | undefined] {
    const key = `${shape} ${name}`;
    const known = this.ids.get(key);
    if (known !== undefined) return [known, undefined];
    const id = `${shape}${this.ids.size + 1}`;
    this.ids.set(key, id);
    return [id, `${id}${labelled(shape, name)}`];
  }
}

function labelled(shape: Shape, name: string): string {
  if (shape === 'topic') return `>"${name}"]`;
  return shape === 'store' ? `[("${name}")]` : `["${name}"]`;
}

export function topologyMermaid(topology: Omit<Topology, 'describe' | 'mermaid'>): string {
  const graph = new Graph();
  const edges: string[] = [];
  const outside: string[] = [];
  const idOf = (shape: Shape, name: string, lines: string[]): string => {
    const [id, line] = graph.declare(shape, name);
    if (line !== undefined) lines.push(`  ${line}`);
    return id;
  };
  for (const { topic, store } of topology.globalStores.values()) {
    edges.push(`  ${idOf('topic', topic.name, outside)} -. every worker .-> ${idOf('store', store.name, outside)}`);
  }
  for (const [index, sub] of topology.subTopologies.entries()) {
    const inside: string[] = [];
    for (const name of sub.nodes) {
      const node = topology.nodes.get(name);
      if (node === undefined) continue;
      const id = idOf('node', name, inside);
      for (const topic of topicsOf(node)) edges.push(edgeToTopic(node, id, idOf('topic', topic, outside)));
      if (node.kind === 'sink') continue;
      for (const child of node.children) edges.push(`  ${id} --> ${idOf('node', child, inside)}`);
      if (node.kind !== 'processor') continue;
      for (const store of node.stores)
        edges.push(`  ${id} --- ${idOf('store', store, topology.globalStores.has(store) ? outside : inside)}`);
    }
    graph.lines.push(`  subgraph sub${index + 1}["${sub.id}"]`, ...inside.map((line) => `  ${line}`), '  end');
  }
  return `${[...graph.lines, ...outside, ...edges].join('\n')}\n`;
}

function topicsOf(node: TopologyNode): readonly string[] {
  if (node.kind === 'source') return node.topics.map(({ name }) => name);
  if (node.kind === 'processor') return [];
  return [typeof node.topic === 'function' ? 'chosen by record' : node.topic.name];
}

function edgeToTopic(node: TopologyNode, id: string, topic: string): string {
  return node.kind === 'source' ? `  ${topic} --> ${id}` : `  ${id} --> ${topic}`;
}
