/** A topology in the making: nodes, topics and stores by name, each addition checked against what is there. */
import { assert } from '../core/assert.js';
import { InvalidConfigurationError } from '../core/errors.js';
import { isSameSerde } from '../serde/serde.js';
import type { NodeHandle, NodeSettings, Parents } from './handles.js';
import { checkInteger, checkName, internalNameLengthMax } from './names.js';
import { type AnyStoreDefinition, type UntypedStore, untypedStore } from './store-definition.js';
import type { AnyTopic, UntypedSourceTopic, UntypedTopic } from './topic.js';
import { withoutNull } from '../serde/nullable.js';
import type { GlobalStore, RepartitionTopic, SinkNode, TopicChangelog, TopologyNode, UntypedProcessor } from './topology.js';

/** Node names are made of topic names and a few words. */
const nodeNameLengthMax = 300;

export class TopologyDraft {
  /** In the order of declaration. */
  readonly nodes = new Map<string, TopologyNode>();
  /** Children by node, in the order of declaration: the order in which records are forwarded. */
  readonly children = new Map<string, string[]>();
  readonly stores = new Map<string, UntypedStore>();
  readonly repartitionTopics = new Map<string, RepartitionTopic>();
  /** Explicit sub-topology names, by source node. */
  readonly subTopologyNames = new Map<string, string>();
  /** Groups of nodes whose topics are joined. */
  readonly copartitions: (readonly string[])[] = [];
  readonly problems: InvalidConfigurationError[] = [];
  readonly topicChangelogs = new Map<string, TopicChangelog>();
  /** By the store's name. */
  readonly globalStores = new Map<string, GlobalStore>();

  private readonly topics = new Map<string, AnyTopic>();
  private readonly sourceByTopic = new Map<string, string>();
  private readonly handles = new WeakSet<object>();
  /** Table nodes by store. */
  private readonly storeOwners = new Map<string, string>();

  constructor(
    readonly name: string,
    readonly version: number,
  ) {}

  handle<K, V>(nodes: readonly string[]): NodeHandle<K, V> {
    const handle: NodeHandle<K, V> = Object.freeze({ nodes });
    this.handles.add(handle);
    return handle;
  }

  isTaken(name: string): boolean {
    return this.nodes.has(name) || this.stores.has(name) || this.repartitionTopics.has(`${name}-repartition`);
  }

  addSource(topic: UntypedSourceTopic, explicitName: string | undefined, subTopology: string | undefined): string {
    if (this.repartitionTopics.has(topic.name)) throw internalTopic(topic.name);
    if (this.globalTopic(topic.name) !== undefined) throw globalAndPartitioned(topic.name);
    this.declareTopic(topic);
    const existing = this.sourceByTopic.get(topic.name);
    if (existing !== undefined && explicitName !== undefined && existing !== explicitName) {
      throw new InvalidConfigurationError(
        'TOPOLOGY_DUPLICATE_NAME',
        `The topic "${topic.name}" is read by source "${existing}" already and cannot be read by source "${explicitName}" too: leave one of the names out.`,
        { node: explicitName, topic: topic.name },
      );
    }
    const name = existing ?? this.addSourceNode(topic, explicitName ?? `source-${topic.name}`);
    if (existing !== undefined) this.refuseOtherTimestamps(existing, topic);
    if (subTopology !== undefined) this.nameSubTopology(name, subTopology);
    return name;
  }

  addProcessor(parents: Parents<never, never> | Parents<unknown, unknown>, settings: NodeSettings, create: () => UntypedProcessor): void {
    const { name, stores = [], concurrency, deadlineMs, errors } = settings;
    const owner = `processor "${name}"`;
    this.checkNewNode(name);
    const parentNames = this.namesOf(name, parents);
    if (concurrency !== undefined) checkInteger(owner, 'concurrency.perTask', concurrency.perTask, 1, 10_000);
    if (deadlineMs !== undefined) checkInteger(owner, 'deadlineMs', deadlineMs, 1, 2 ** 31 - 1);
    for (const store of stores) this.declareStore(name, store);
    this.addNode(parentNames, {
      kind: 'processor',
      name,
      children: this.childrenOf(name),
      stores: [...new Set(stores.map((store) => store.name))],
      create,
      concurrency: concurrency?.perTask ?? 1,
      deadlineMs,
      errors,
    });
  }

  addSink(parents: Parents<never, never> | Parents<unknown, unknown>, target: SinkNode['topic'], explicitName: string | undefined): void {
    const name = explicitName ?? this.freeName(typeof target === 'function' ? 'sink-routed' : `sink-${target.name}`);
    this.checkNewNode(name);
    const parentNames = this.namesOf(name, parents);
    if (typeof target !== 'function') {
      if (this.repartitionTopics.has(target.name)) throw internalTopic(target.name);
      this.declareTopic(target);
    }
    this.addNode(parentNames, { kind: 'sink', name, topic: target });
  }

  /** @returns the name of the source that reads the topic. */
  addRepartition(
    parents: Parents<never, never> | Parents<unknown, unknown>,
    name: string,
    topic: UntypedTopic,
    partition: SinkNode['partition'],
  ): string {
    if (this.topics.has(topic.name)) {
      throw new InvalidConfigurationError(
        'TOPOLOGY_DUPLICATE_NAME',
        `The repartition "${name}" needs the topic name "${topic.name}", which is in use already. Give it another name.`,
        {
          node: name,
          topic: topic.name,
        },
      );
    }
    const sink = `sink-${topic.name}`;
    this.checkNewNode(sink);
    const parentNames = this.namesOf(sink, parents);
    const source = this.addSourceNode(topic, `source-${topic.name}`);
    this.topics.set(topic.name, topic);
    this.repartitionTopics.set(topic.name, { name: topic.name, topic });
    this.addNode(parentNames, { kind: 'sink', name: sink, topic, partition });
    return source;
  }

  addGlobalStore(topic: UntypedTopic, store: UntypedStore): void {
    if (this.repartitionTopics.has(topic.name)) throw internalTopic(topic.name);
    if (this.sourceByTopic.has(topic.name)) throw globalAndPartitioned(topic.name);
    checkTopicCopy(store, topic, 'hold the global');
    this.declareTopic(topic);
    this.declareStore(`global table of ${topic.name}`, store);
    const existing = this.globalStores.get(store.name) ?? this.globalTopic(topic.name);
    if (existing !== undefined && (existing.store.name !== store.name || existing.topic.name !== topic.name)) {
      throw new InvalidConfigurationError(
        'TOPOLOGY_DUPLICATE_NAME',
        `The store "${existing.store.name}" holds the global topic "${existing.topic.name}" already, so "${store.name}" cannot hold "${topic.name}": one topic, one store. Share the table, or give the other one a store of its own.`,
        { topic: topic.name, store: store.name },
      );
    }
    if (existing === undefined) {
      this.claimStore(store.name, `global table of ${topic.name}`);
      this.globalStores.set(store.name, { topic, store });
    }
  }

  addTopicChangelog(store: UntypedStore, topic: UntypedTopic, node: string): void {
    checkTopicCopy(store, topic, 'be the copy of');
    const refuse = (why: string): never => {
      throw new InvalidConfigurationError(
        'TOPOLOGY_STORE_MISMATCH',
        `The topic "${topic.name}" cannot be the changelog of store "${store.name}": ${why}.`,
        {
          topic: topic.name,
          store: store.name,
        },
      );
    };
    if (!store.changelog) refuse('the store has none ("changelog: false")');
    if (topic.startAt === 'latest') refuse('it is not read from its beginning ("startAt")');
    if ((topic.timestamps ?? 'record') !== 'record')
      refuse('rows that come from it would not have the timestamps of the topic\'s "timestamps"');
    this.topicChangelogs.set(store.name, { topic, node });
  }

  private globalTopic(name: string): GlobalStore | undefined {
    return [...this.globalStores.values()].find(({ topic }) => topic.name === name);
  }

  addCopartition(parents: readonly NodeHandle<unknown, unknown>[]): void {
    this.copartitions.push(parents.flatMap((parent) => this.namesOf('copartition', parent)));
  }

  claimStore(store: string, node: string): void {
    const owner = this.storeOwners.get(store);
    if (owner !== undefined) {
      throw new InvalidConfigurationError(
        'TOPOLOGY_DUPLICATE_NAME',
        `The store "${store}" is the table of "${owner}" already and cannot be that of "${node}" too. Give one of them a store of its own.`,
        { node, store },
      );
    }
    this.storeOwners.set(store, node);
  }

  connectStore(store: AnyStoreDefinition, name: string): void {
    const node = this.nodes.get(name);
    assert(node?.kind === 'processor', `store "${store.name}" is connected to a processor, not to "${name}"`);
    this.declareStore(name, store);
    if (!node.stores.includes(store.name)) this.nodes.set(name, { ...node, stores: [...node.stores, store.name] });
  }

  /** Whoever only writes to the topic need not know which timestamps its records have when they are read. */
  private refuseOtherTimestamps(source: string, { name, timestamps = 'record' }: UntypedSourceTopic): void {
    const node = this.nodes.get(source);
    const read = node?.kind === 'source' ? node.topics.find((topic) => topic.name === name) : undefined;
    if ((read?.timestamps ?? 'record') === timestamps) return;
    throw new InvalidConfigurationError(
      'TOPOLOGY_TOPIC_MISMATCH',
      `The topic "${name}" is read twice, with different timestamps. Declare it once and share the handle.`,
      { topic: name, node: source },
    );
  }

  private addSourceNode(topic: UntypedSourceTopic, name: string): string {
    this.checkNewNode(name);
    this.addNode([], { kind: 'source', name, topics: [topic], children: this.childrenOf(name) });
    this.sourceByTopic.set(topic.name, name);
    return name;
  }

  private addNode(parents: readonly string[], node: TopologyNode): void {
    this.nodes.set(node.name, node);
    for (const parent of parents) this.childrenOf(parent).push(node.name);
  }

  private childrenOf(name: string): string[] {
    let children = this.children.get(name);
    if (children === undefined) this.children.set(name, (children = []));
    return children;
  }

  private namesOf(node: string, parents: Parents<never, never> | Parents<unknown, unknown>): string[] {
    const list: readonly NodeHandle<unknown, unknown>[] = Array.isArray(parents) ? parents : [parents as NodeHandle<unknown, unknown>];
    if (list.length === 0)
      throw new InvalidConfigurationError('TOPOLOGY_UNKNOWN_PARENT', `Node "${node}" needs at least one parent.`, { node });
    for (const parent of list) {
      if (this.handles.has(parent)) continue;
      const known = (parent as Partial<NodeHandle<unknown, unknown>> | undefined)?.nodes?.join(', ') ?? typeof parent;
      throw new InvalidConfigurationError(
        'TOPOLOGY_UNKNOWN_PARENT',
        `The parent "${known}" of node "${node}" was not made by this topology's builder.`,
        { node },
      );
    }
    return [...new Set(list.flatMap((parent) => parent.nodes))];
  }

  private checkNewNode(name: string): void {
    checkName('node', name, nodeNameLengthMax);
    if (!this.nodes.has(name)) return;
    throw new InvalidConfigurationError(
      'TOPOLOGY_DUPLICATE_NAME',
      `There is a node "${name}" already; names are unique in an application. Give one of the two another name.`,
      {
        node: name,
      },
    );
  }

  private freeName(base: string): string {
    if (!this.nodes.has(base)) return base;
    let ordinal = 2;
    while (this.nodes.has(`${base}-${ordinal}`)) ordinal += 1;
    return `${base}-${ordinal}`;
  }

  private nameSubTopology(source: string, name: string): void {
    checkName('sub-topology', name, internalNameLengthMax);
    const existing = this.subTopologyNames.get(source);
    if (existing !== undefined && existing !== name) {
      throw new InvalidConfigurationError(
        'TOPOLOGY_SUB_TOPOLOGY_CONFLICT',
        `Source "${source}" is put into sub-topology "${existing}" and into "${name}". Keep one of the names.`,
        {
          node: source,
        },
      );
    }
    this.subTopologyNames.set(source, name);
  }

  private declareTopic(topic: AnyTopic): void {
    const existing = this.topics.get(topic.name);
    if (existing === undefined) {
      this.topics.set(topic.name, topic);
      return;
    }
    const difference = topicDifference(existing, topic);
    if (difference === undefined) return;
    throw new InvalidConfigurationError(
      'TOPOLOGY_TOPIC_MISMATCH',
      `The topic "${topic.name}" is declared twice, with a different ${difference}. Declare it once and share the handle.`,
      {
        topic: topic.name,
      },
    );
  }

  private declareStore(node: string, store: AnyStoreDefinition): void {
    const existing = this.stores.get(store.name);
    if (existing === undefined) {
      checkName('store', store.name, internalNameLengthMax);
      this.stores.set(store.name, untypedStore(store));
      return;
    }
    const difference = storeDifference(existing, store);
    if (difference === undefined) return;
    throw new InvalidConfigurationError(
      'TOPOLOGY_STORE_MISMATCH',
      `The store "${store.name}" of node "${node}" is declared elsewhere with a different ${difference}. Declare it once and share the handle.`,
      {
        node,
        store: store.name,
      },
    );
  }
}

/** The store holds the bytes of the topic as they are. */
function checkTopicCopy(store: UntypedStore, topic: UntypedTopic, verb: string): void {
  const refuse = (why: string): never => {
    throw new InvalidConfigurationError(
      'TOPOLOGY_STORE_MISMATCH',
      `The store "${store.name}" cannot ${verb} topic "${topic.name}": ${why}.`,
      {
        topic: topic.name,
        store: store.name,
      },
    );
  };
  if (store.kind !== 'keyValue') refuse('only a key-value store can');
  if (store.kind === 'keyValue' && store.ttlMs !== undefined) refuse('what it holds is what the topic holds, so it cannot have a "ttlMs"');
  if (store.version !== 0 || store.migrate !== undefined)
    refuse('the records of a topic have no schema version, so it can have none either');
  for (const part of ['key', 'value'] as const) {
    const inTopic = withoutNull(topic[part]);
    if (!isSameSerde(inTopic, store[part]))
      refuse(`the ${part}s of the topic are written by "${inTopic.name}", and it reads them by "${store[part].name}"`);
  }
}

function globalAndPartitioned(topic: string): InvalidConfigurationError {
  return new InvalidConfigurationError(
    'TOPOLOGY_TOPIC_MISMATCH',
    `The topic "${topic}" is read as a global table and as a stream or table too: a worker would read it twice, at different times. Choose one of the two.`,
    { topic },
  );
}

function topicDifference(left: AnyTopic, right: AnyTopic): string | undefined {
  if (!isSameSerde(left.key, right.key)) return `key serde (${left.key.name} and ${right.key.name})`;
  if (!isSameSerde(left.value, right.value)) return `value serde (${left.value.name} and ${right.value.name})`;
  if (String(left.pattern) !== String(right.pattern)) return `pattern (${String(left.pattern)} and ${String(right.pattern)})`;
  if (left.partitions !== right.partitions) return `number of partitions (${String(left.partitions)} and ${String(right.partitions)})`;
  if ((left.startAt ?? 'earliest') !== (right.startAt ?? 'earliest')) return 'startAt';
  return undefined;
}

function storeDifference(left: AnyStoreDefinition, right: AnyStoreDefinition): string | undefined {
  if (left === right) return undefined;
  if (left.kind !== right.kind) return 'kind';
  if (!isSameSerde(left.key, right.key)) return `key serde (${left.key.name} and ${right.key.name})`;
  if (!isSameSerde(left.value, right.value)) return `value serde (${left.value.name} and ${right.value.name})`;
  if (left.version !== right.version) return `version (${left.version} and ${right.version})`;
  if (left.changelog !== right.changelog) return 'changelog option';
  return kindOptions.find((option) => optionOf(left, option) !== optionOf(right, option));
}

const kindOptions = ['ttlMs', 'retentionMs', 'windowSizeMs', 'historyRetentionMs', 'retainDuplicates'];

function optionOf(store: AnyStoreDefinition, option: string): unknown {
  return (store as unknown as Readonly<Record<string, unknown>>)[option];
}

function internalTopic(topic: string): InvalidConfigurationError {
  return new InvalidConfigurationError(
    'TOPOLOGY_DUPLICATE_NAME',
    `The topic "${topic}" is the internal topic of a repartition of this topology. Give one of the two another name.`,
    {
      topic,
    },
  );
}
