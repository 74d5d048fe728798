/**
 * How many partitions repartition topics are made with, where they do not declare it.
 *
 * What is read beside a topic has the say, for tasks need equal counts: other topics, and repartition topics that declare theirs. Else it is
 * the largest source of the sub-topologies that fill any of the repartition topics which are read together.
 */
import { InvalidConfigurationError } from '../core/errors.js';
import type { SubTopology, Topology } from '../topology/topology.js';

/**
 * @param external partitions of the topics that are not internal, by handle
 * @throws InvalidConfigurationError `REPARTITION_CYCLE`
 */
export function repartitionPartitions(
  topology: Pick<Topology, 'nodes' | 'subTopologies' | 'repartitionTopics'>,
  external: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const counts = new Map(external);
  const undeclared = new Set<string>();
  for (const { topic } of topology.repartitionTopics) {
    if (topic.partitions === undefined) undeclared.add(topic.name);
    else counts.set(topic.name, topic.partitions);
  }
  const remaining = new Set(topology.subTopologies.filter(({ sourceTopics }) => sourceTopics.some((name) => undeclared.has(name))));
  while (remaining.size > 0) {
    const before = remaining.size;
    for (const reader of remaining) if (decide(reader, countOf(reader, topology, counts, undeclared, false))) remaining.delete(reader);
    if (remaining.size < before) continue;
    // Two that fill each other, as the tables of a foreign-key join do: one of them goes by what else fills it.
    const first = [...remaining].find((reader) => decide(reader, countOf(reader, topology, counts, undeclared, true)));
    if (first === undefined) throw cycle([...undeclared].filter((name) => !counts.has(name)));
    remaining.delete(first);
  }
  return counts;

  function decide(reader: SubTopology, count: number | undefined): boolean {
    if (count === undefined) return false;
    for (const name of reader.sourceTopics) if (undeclared.has(name)) counts.set(name, count);
    return true;
  }
}

function countOf(
  reader: SubTopology,
  topology: Pick<Topology, 'nodes' | 'subTopologies'>,
  counts: ReadonlyMap<string, number>,
  undeclared: ReadonlySet<string>,
  goesByWhatIsKnown: boolean,
): number | undefined {
  const beside = reader.sourceTopics.filter((name) => !undeclared.has(name)).map((name) => counts.get(name) ?? 0);
  if (beside.length > 0) return Math.max(...beside);
  const read = new Set(reader.sourceTopics);
  const writers = topology.subTopologies.filter(({ nodes }) => nodes.some((name) => writesTo(topology, name, read)));
  const upstream = writers.flatMap(({ sourceTopics }) => sourceTopics.filter((name) => !read.has(name)).map((name) => counts.get(name)));
  const known = upstream.filter((count) => count !== undefined);
  return known.length === 0 || (known.length < upstream.length && !goesByWhatIsKnown) ? undefined : Math.max(...known);
}

function writesTo({ nodes }: Pick<Topology, 'nodes'>, name: string, topics: ReadonlySet<string>): boolean {
  const node = nodes.get(name);
  return node?.kind === 'sink' && typeof node.topic !== 'function' && topics.has(node.topic.name);
}

function cycle(names: readonly string[]): InvalidConfigurationError {
  return new InvalidConfigurationError(
    'REPARTITION_CYCLE',
    `The partitions of ${names.join(', ')} depend on each other. Give one of them a number of partitions.`,
  );
}
