import { changelogTopicName, repartitionTopicName, type Topology } from '@tally/streams';

/** Which topics a topology uses, by the names that they have on the cluster. */
export class TopicNames {
  /** Topics of global tables. */
  readonly globals: ReadonlySet<string>;
  /** Topics that records may be piped to. */
  readonly sources: ReadonlySet<string>;
  /** These and the repartition topics. */
  readonly inputs: ReadonlySet<string>;
  readonly changelogs: ReadonlySet<string>;
  /** Repartition topics and changelogs. */
  readonly internal: ReadonlySet<string>;
  /** Of the tasks that hold a store, by the store's name. */
  readonly inputsOfStores: ReadonlyMap<string, readonly string[]>;

  /** @param existing topics that a pattern may match */
  constructor(topology: Topology, applicationId: string, existing: readonly string[]) {
    const { repartitionTopics, subTopologies, stores, globalStores } = topology;
    const repartition = new Map(repartitionTopics.map(({ topic, name }) => [topic.name, repartitionTopicName(applicationId, name)]));
    const matched = matchedTopics(topology, existing);
    const expanded = (sources: readonly string[]): string[] => sources.flatMap((name) => matched.get(name) ?? [name]);
    const inputsOf = (sources: readonly string[]): string[] => expanded(sources).map((name) => repartition.get(name) ?? name);
    const handles = expanded(subTopologies.flatMap(({ sourceTopics }) => sourceTopics));
    this.globals = new Set(Array.from(globalStores.values(), ({ topic }) => topic.name));
    this.sources = new Set([...handles.filter((name) => !repartition.has(name)), ...this.globals]);
    this.inputs = new Set(inputsOf(handles));
    this.changelogs = new Set(Array.from(stores.keys(), (store) => changelogTopicName(applicationId, store)));
    this.internal = new Set([...repartition.values(), ...this.changelogs]);
    this.inputsOfStores = new Map<string, readonly string[]>([
      ...subTopologies.flatMap((sub) => sub.stores.map((store) => [store, inputsOf(sub.sourceTopics)] as const)),
      ...Array.from(globalStores, ([store, { topic }]) => [store, [topic.name]] as const),
    ]);
  }
}

/** By the pattern's name. */
function matchedTopics({ nodes }: Topology, existing: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const sources = [...nodes.values()].flatMap((node) => (node.kind === 'source' ? node.topics : []));
  return new Map(
    sources.flatMap(({ name, pattern }) =>
      pattern === undefined ? [] : [[name, existing.filter((topic) => pattern.test(topic))] as const],
    ),
  );
}
