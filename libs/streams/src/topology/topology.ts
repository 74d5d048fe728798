/** The topology as plain validated data: what `TopologyBuilder` and the DSL produce and the runtime runs. */
import type { StreamRecord } from '../core/record.js';
import type { ErrorPolicies } from './error-policy.js';
import type { Processor, RecordMetadata } from './processor.js';
import type { UntypedStore } from './store-definition.js';
import type { UntypedSourceTopic, UntypedTopic } from './topic.js';

export type { UntypedSourceTopic, UntypedStore, UntypedTopic };
export type UntypedProcessor = Processor<unknown, unknown>;

export interface SourceNode {
  readonly kind: 'source';
  readonly name: string;
  readonly topics: readonly UntypedSourceTopic[];
  readonly children: readonly string[];
}

export interface ProcessorNode {
  readonly kind: 'processor';
  readonly name: string;
  readonly children: readonly string[];
  /** Names of the stores that it may use. */
  readonly stores: readonly string[];
  readonly create: () => UntypedProcessor;
  /** How many records of a task an asynchronous processor may have in hand, each with another key. Default 1. */
  readonly concurrency: number;
  /** After this long an asynchronous call has failed; its later writes are refused. Default: the application's `handlerDeadlineMs`. */
  readonly deadlineMs: number | undefined;
  /** Overrides the application's policies for records that fail here. */
  readonly errors: ErrorPolicies | undefined;
}

export interface SinkNode {
  readonly kind: 'sink';
  readonly name: string;
  /** Fixed, or chosen per record. */
  readonly topic: UntypedTopic | ((record: StreamRecord<unknown, unknown>, metadata: RecordMetadata) => UntypedTopic);
  /** The partition of each record. Default: by its key. */
  readonly partition?: ((record: StreamRecord<unknown, unknown>) => number) | undefined;
}

export type TopologyNode = SourceNode | ProcessorNode | SinkNode;

/** An internal topic through which records are re-keyed between two sub-topologies. */
export interface RepartitionTopic {
  /** `<name>-repartition`: without the application id, which the runtime puts in front. */
  readonly name: string;
  /** Bears the same name. Sinks and sources refer to this very object. */
  readonly topic: UntypedTopic;
}

/** A source topic that is the changelog of a table's store: only the table's node writes there, and only what it reads. */
export interface TopicChangelog {
  readonly topic: UntypedTopic;
  /** Of the table. */
  readonly node: string;
}

/**
 * A topic whose last values every worker holds whole, in a store of its own: outside of tasks and transactions, read by the processors that
 * name the store.
 */
export interface GlobalStore {
  readonly topic: UntypedTopic;
  readonly store: UntypedStore;
}

export interface SubTopology {
  /** Stable: the explicit name, or the name of the smallest source topic (repartition topics without the application id). */
  readonly id: string;
  readonly nodes: readonly string[];
  /** Source topics by the name used in the topology; repartition topics are named without the application id. */
  readonly sourceTopics: readonly string[];
  /** Groups of source topics that are joined and must have equal partition counts. */
  readonly copartitioned: readonly (readonly string[])[];
  readonly stores: readonly string[];
}

export interface Topology {
  readonly name: string;
  /** Set by the user and raised with incompatible changes; travels in the committed offsets' metadata. */
  readonly version: number;
  /** Changes when and only when the shape that stored state depends on changes: stores, their serdes' names, sources, owners. */
  readonly hash: string;
  readonly nodes: ReadonlyMap<string, TopologyNode>;
  readonly stores: ReadonlyMap<string, UntypedStore>;
  /** Stores whose changelog is the very topic that they are made of, by the store's name. */
  readonly topicChangelogs: ReadonlyMap<string, TopicChangelog>;
  /** By the store's name; not among `stores`, nor among those of a sub-topology. */
  readonly globalStores: ReadonlyMap<string, GlobalStore>;
  readonly repartitionTopics: readonly RepartitionTopic[];
  readonly subTopologies: readonly SubTopology[];
  /** As text: what runs in one task, from sources to sinks. */
  readonly describe: () => string;
  /** As a graph that Mermaid draws, in Markdown for example. */
  readonly mermaid: () => string;
}
