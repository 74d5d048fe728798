/**
 * Builds a topology node by node (the Processor API). Each call checks what it can at once; `build()` checks the whole. Several parts of
 * an application may fill one builder: what they name alike (topics, stores) is the same thing, and must be declared alike.
 */
import { InvalidConfigurationError } from '../core/errors.js';
import type { StreamRecord } from '../core/record.js';
import type { Serde } from '../serde/serde.js';
import { assembleTopology } from './assemble.js';
import { branchingProcessor, createPassThrough, outputNodeName } from './branching.js';
import type { BranchingOptions, NodeHandle, OutputHandle, Outputs, Parents, ProcessorOptions, SinkTarget } from './handles.js';
import { checkInteger, checkName, internalNameLengthMax } from './names.js';
import { type AnyStoreDefinition, type KeyValueStoreDefinition, untypedStore } from './store-definition.js';
import { type Topic, type TopicPattern, topic as declareTopic, untypedTopic } from './topic.js';
import { TopologyDraft } from './topology-draft.js';
import type { SinkNode, Topology, UntypedProcessor } from './topology.js';

export interface TopologyBuilderOptions {
  /** For descriptions and messages. Default `topology`. */
  readonly name?: string;
  /** Raised with incompatible changes; travels in the committed offsets' metadata. Whole, from 1 on. Default 1. */
  readonly version?: number;
}

export interface SourceOptions {
  /** Default `source-<topic>`. A source of several topics is one node for each, `<name>-<topic>`. */
  readonly name?: string;
  /** Identity of the sub-topology that the source belongs to, instead of its smallest source topic's name. */
  readonly subTopology?: string;
}

export interface RepartitionOptions<K, V> {
  /** The topic is `<applicationId>-<name>-repartition`. */
  readonly name: string;
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  /** Default: as many as the largest source topic of the sub-topology that writes it. */
  readonly partitions?: number;
  /** The partition of each record. Default: by its key. */
  readonly partition?: (record: StreamRecord<K, V>) => number;
}

type SourceTopics<K, V> = Topic<K, V> | TopicPattern<K, V> | readonly [Topic<K, V>, ...Topic<K, V>[]];

export class TopologyBuilder {
  private readonly draft: TopologyDraft;

  /** @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION` */
  constructor(options: TopologyBuilderOptions = {}) {
    const { name = 'topology', version = 1 } = options;
    checkName('topology', name, internalNameLengthMax);
    checkInteger(`topology "${name}"`, 'version', version, 1, 2 ** 31 - 1);
    this.draft = new TopologyDraft(name, version);
  }

  /**
   * Reads one topic or several, or all whose names match a pattern. A topic that is read in several places is one node: whoever names it again shares it.
   * @throws InvalidConfigurationError `TOPOLOGY_TOPIC_MISMATCH` when the topic was declared with other serdes elsewhere, `TOPOLOGY_DUPLICATE_NAME`
   */
  source<K, V>(topics: SourceTopics<K, V>, options: SourceOptions = {}): NodeHandle<K, V> {
    const list: readonly (Topic<K, V> | TopicPattern<K, V>)[] = isList(topics) ? topics : [topics];
    if (list.length === 0) throw new InvalidConfigurationError('TOPOLOGY_NO_TOPIC', 'A source needs at least one topic.');
    const names = list.map((topic) => {
      const name = list.length === 1 || options.name === undefined ? options.name : `${options.name}-${topic.name}`;
      return this.draft.addSource(untypedTopic(topic), name, options.subTopology);
    });
    return this.draft.handle([...new Set(names)]);
  }

  /**
   * Adds a processor behind its parents. What it forwards goes to the nodes that name the returned handle as their parent.
   * @throws InvalidConfigurationError `TOPOLOGY_DUPLICATE_NAME`, `TOPOLOGY_UNKNOWN_PARENT`, `TOPOLOGY_STORE_MISMATCH`, `INVALID_OPTION`
   * @example
   * const sums = builder.processor(builder.source(payments), {
   *   name: 'sum',
   *   stores: [balances],
   *   process(record, context: ProcessorContext<string, bigint>) {
   *     const store = context.store(balances);
   *     const sum = (store.get(record.key) ?? 0n) + record.value.amount;
   *     store.put(record.key, sum);
   *     context.forward({ ...record, value: sum });
   *   },
   * });
   */
  processor<KIn, VIn, KOut = never, VOut = never>(
    parents: Parents<KIn, VIn>,
    options: ProcessorOptions<KIn, VIn, KOut, VOut>,
  ): NodeHandle<KOut, VOut> {
    this.draft.addProcessor(parents, options, factoryOf(options));
    return this.draft.handle([options.name]);
  }

  /**
   * Adds a processor with several outputs, each with types of its own. An output's handle is the parent of what follows there.
   * @throws InvalidConfigurationError as `processor`
   * @example
   * const { accepted, rejected } = builder.branchingProcessor(source, {
   *   name: 'check',
   *   outputs: { accepted: output<string, Payment>(), rejected: output<string, string>() },
   *   process(record, context) {
   *     if (record.value.amount > 0n) context.forward('accepted', record);
   *     else context.forward('rejected', { ...record, value: 'amount must be positive' });
   *   },
   * });
   */
  branchingProcessor<KIn, VIn, O extends Outputs>(
    parents: Parents<KIn, VIn>,
    options: BranchingOptions<KIn, VIn, O>,
  ): { readonly [N in keyof O]: OutputHandle<O[N]> } {
    const outputs = Object.keys(options.outputs);
    if (outputs.length === 0) {
      throw new InvalidConfigurationError('INVALID_OPTION', `Processor "${options.name}" needs at least one output.`, {
        node: options.name,
      });
    }
    this.draft.addProcessor(parents, options, branchingProcessor(options.name, outputs, options.process));
    const parent = this.draft.handle<unknown, unknown>([options.name]);
    const handles = outputs.map((output) => {
      const name = outputNodeName(options.name, output);
      this.draft.addProcessor(parent, { name }, createPassThrough);
      return [output, this.draft.handle([name])] as const;
    });
    return Object.fromEntries(handles) as { readonly [N in keyof O]: OutputHandle<O[N]> };
  }

  /**
   * Writes what the parents forward to a topic, or to the topic that the function chooses for each record.
   * @throws InvalidConfigurationError `TOPOLOGY_TOPIC_MISMATCH`, `TOPOLOGY_DUPLICATE_NAME`, `TOPOLOGY_UNKNOWN_PARENT`
   */
  sink<K, V>(parents: Parents<K, V>, target: SinkTarget<NoInfer<K>, NoInfer<V>>, options: { readonly name?: string } = {}): void {
    this.draft.addSink(parents, target as SinkNode['topic'], options.name);
  }

  /**
   * Declares that records of one key must meet: the topics behind these nodes are read by the same tasks and must have equal partition
   * counts, which is checked at start. Nodes that share a store need no such declaration.
   */
  copartition(...nodes: readonly [NodeHandle<unknown, unknown>, NodeHandle<unknown, unknown>, ...NodeHandle<unknown, unknown>[]]): void {
    this.draft.addCopartition(nodes);
  }

  /**
   * Writes to an internal topic and reads it again, so that records meet by their new key.
   * @throws InvalidConfigurationError `TOPOLOGY_DUPLICATE_NAME`, `TOPOLOGY_UNKNOWN_PARENT`, `INVALID_OPTION`
   */
  repartition<K, V>(parents: Parents<K, V>, options: RepartitionOptions<NoInfer<K>, NoInfer<V>>): NodeHandle<K, V> {
    const { name, key, value, partitions, partition } = options;
    checkName('repartition', name, internalNameLengthMax);
    const topic = declareTopic(`${name}-repartition`, { key, value, ...(partitions === undefined ? {} : { partitions }) });
    const partitionOf = partition as SinkNode['partition'];
    return this.draft.handle([this.draft.addRepartition(parents, name, untypedTopic(topic), partitionOf)]);
  }

  /**
   * Keeps the topic's last values in a store that every worker holds whole and that processors may read: they declare it as one of their
   * stores. Its keys and values are the topic's, without null; records without a key are dropped, a null value deletes.
   * @throws InvalidConfigurationError `TOPOLOGY_STORE_MISMATCH` for a store that cannot hold it, `TOPOLOGY_TOPIC_MISMATCH` when the topic
   * is read otherwise too, `TOPOLOGY_DUPLICATE_NAME`
   */
  globalStore<K, V>(topic: Topic<K, V>, store: KeyValueStoreDefinition<NonNullable<K>, NonNullable<V>>): void {
    this.draft.addGlobalStore(untypedTopic(topic), untypedStore(store));
  }

  /**
   * Makes a table's node the only one of its kind for the store: a second would change rows behind the first one's back. Processors may use
   * the store all the same.
   * @throws InvalidConfigurationError `TOPOLOGY_DUPLICATE_NAME`
   */
  claimStore(store: AnyStoreDefinition, node: string): void {
    this.draft.claimStore(store.name, node);
  }

  /**
   * Makes the topic itself the changelog of a table's store, whose node writes nothing there but what it reads from the topic; all others may
   * only read it. After the loss of the disk the rows come from the topic, as far as it has been processed; of a row that has changed behind that the topic may
   * hold the later version alone, so nothing may depend on old rows.
   * @throws InvalidConfigurationError `TOPOLOGY_STORE_MISMATCH` for a store or topic that does not fit
   */
  topicChangelog<K, V>(store: KeyValueStoreDefinition<NonNullable<K>, NonNullable<V>>, topic: Topic<K, V>, node: string): void {
    this.draft.addTopicChangelog(untypedStore(store), untypedTopic(topic), node);
  }

  /**
   * Gives a node one more store: for tables that get theirs when a node behind them needs it.
   * @throws InvalidConfigurationError `TOPOLOGY_STORE_MISMATCH`
   */
  connectStore(store: AnyStoreDefinition, node: string): void {
    this.draft.connectStore(store, node);
  }

  /** Whether a node or store of this name exists already: for those who generate names. */
  isTaken(name: string): boolean {
    return this.draft.isTaken(name);
  }

  /** Lets `build()` fail with this error: for what is found missing while the rest of the topology is still being declared. */
  reportProblem(problem: InvalidConfigurationError): void {
    this.draft.problems.push(problem);
  }

  /**
   * Checks the whole and returns it as data. The builder may be added to and built again.
   * @throws InvalidConfigurationError naming the node or store and the cause: `TOPOLOGY_EMPTY`, `TOPOLOGY_SUB_TOPOLOGY_CONFLICT`,
   * `TOPOLOGY_CONCURRENT_STORE`, `TOPOLOGY_SERDE_MISSING`
   */
  build(): Topology {
    return assembleTopology(this.draft);
  }
}

function factoryOf<KIn, VIn, KOut, VOut>(options: ProcessorOptions<KIn, VIn, KOut, VOut>): () => UntypedProcessor {
  const { name, create, process } = options;
  if (create !== undefined && process === undefined) return create;
  if (process !== undefined && create === undefined) return () => ({ process });
  throw new InvalidConfigurationError('INVALID_OPTION', `Processor "${name}" needs either "process" or "create".`, { node: name });
}

function isList<K, V>(topics: SourceTopics<K, V>): topics is readonly [Topic<K, V>, ...Topic<K, V>[]] {
  return Array.isArray(topics);
}
