import type { Headers, StreamRecord } from '../core/record.js';
import type { JoinWindow, RowStore } from '../operators/index.js';
import type { Serde } from '../serde/serde.js';
import type { ContextWithoutForward } from '../topology/delegating-context.js';
import type { NodeSettings, Output } from '../topology/handles.js';
import type { PunctuationType } from '../topology/processor.js';
import type { AnyStoreDefinition, StoreOf } from '../topology/store-definition.js';
import type { AnyTopic, Topic } from '../topology/topic.js';

/** Operators of stateful topologies should be named: names of stores and internal topics are made from them. */
export interface Named {
  /** Unique in the application. Default: generated. */
  readonly name?: string;
}

/**
 * When the rows of a windowed table come out: with each record that changes them, or once, when stream time has passed the end of their window
 * and its grace period.
 */
export type Emission = 'onUpdate' | 'onClose';

export interface WindowedOptions extends Named {
  /** Default `onUpdate`. */
  readonly emit?: Emission;
}

/** Not a store, which has a name too. */
export interface WindowedCountOptions extends WindowedOptions {
  readonly kind?: never;
}

export interface GroupingOptions<K, V> extends Named {
  /** For the repartition topic, where one is needed and the serde is not known from what came before. */
  readonly key?: Serde<K>;
  readonly value?: Serde<V>;
}

/** Grouping by a new key, whose serde nothing before can know. */
export interface RegroupingOptions<K, V> extends Named {
  readonly key: Serde<K>;
  /** Default: the serde that is known from what came before. */
  readonly value?: Serde<V>;
}

/** Serdes of a table's rows under their group's key. */
export interface TableGroupingOptions<K, V> extends Named {
  readonly key: Serde<K>;
  readonly value: Serde<V>;
}

export interface RepartitioningOptions<K, V, Keeps extends boolean = false> extends Named {
  /** Default: the serdes that are known from what came before. */
  readonly key?: Serde<K>;
  readonly value?: Serde<V>;
  /** Partitions of the topic. Default: as many as the largest source topic before it. */
  readonly partitions?: number;
  /** Lets records without a key pass too, to any partition: for left and outer joins, which forward them. Default: they stay behind. */
  readonly keepsNullKeys?: Keeps;
}

/** A table's operator with a store holds its rows there: they can be queried, and joins read them instead of computing them. */
export interface MaterializedOptions<K, V> extends Named {
  /** Default: none, the table is a view. */
  readonly store?: RowStore<K, V>;
}

/** Options of joins of tables. */
export interface TableJoinOptions<K, R> extends MaterializedOptions<K, R> {
  /** Serde of the joined rows, for a store or repartition topic that may follow; a store given has its own. */
  readonly value?: Serde<R>;
}

/** How a row of the left table refers to one of the right table, and what is made of both. */
export interface ForeignKeyJoinOptions<K, VL, FK, VR, R> extends TableJoinOptions<K, R> {
  /** The key of the right row; null for none. */
  readonly foreignKey: (value: VL, key: K) => NoInfer<FK> | null;
  /** Null for no row. */
  readonly join: (left: VL, right: NoInfer<VR>, key: K) => R | null;
}

/** Options of joins of a stream with a table. */
export interface StreamTableJoinOptions<R> extends Named {
  /** Serde of the joined values, for a repartition topic that may follow. */
  readonly value?: Serde<R>;
  /**
   * Holds records back until the stream time has passed theirs by so much, in milliseconds, so that late updates of the table are there. Only with
   * versioned tables. Default: records are joined when they come.
   */
  readonly graceMs?: number;
}

/** Options of joins of two streams: which records of the right stream a left one meets. */
export interface StreamJoinOptions<R> extends Named, JoinWindow {
  /** Serde of the joined values, for a repartition topic that may follow. */
  readonly value?: Serde<R>;
}

/** How a stream's record finds its row in a global table, and what is made of both. */
export interface GlobalJoinOptions<K, V, KT, VT, R> extends Named {
  /** The row's key; null for none. */
  readonly key: (value: NonNullable<V>, key: K) => NoInfer<KT> | null;
  readonly join: (value: NonNullable<V>, row: NoInfer<VT>, key: K) => R;
  /** Serde of the result, for a repartition topic that may follow. */
  readonly value?: Serde<R>;
}

export interface PrintOptions<K, V> extends Named {
  /** Begins each line. */
  readonly label?: string;
  /** Default: key and value as they are. */
  readonly format?: (value: V, key: K) => string;
  /** Default: standard output. */
  readonly write?: (line: string) => void;
}

export type StoresByName = Readonly<Record<string, AnyStoreDefinition>>;
export type TopicsByName = Readonly<Record<string, AnyTopic>>;

/** A record to be sent. */
export interface OutgoingRecord<K, V> {
  readonly key: K;
  readonly value: V;
  /** Default: the current record's timestamp. */
  readonly timestampMs?: number;
  /** Default: none. */
  readonly headers?: Headers;
  /** Default: by the key. */
  readonly partition?: number;
}

/** A record for the operators behind `process`. */
export interface ForwardedRecord<K, V> extends ForwardOptions {
  readonly key: K;
  readonly value: V;
}

export interface ForwardOptions {
  /** Default: the current record's, in a punctuator its time. */
  readonly timestampMs?: number;
  /** Default: the current record's, in a punctuator none. */
  readonly headers?: Headers;
}

/** What all handlers may do: use the stores and send to the outputs that were declared, by name. */
export interface HandlerContext<S extends StoresByName, O extends TopicsByName> extends Omit<ContextWithoutForward, 'send' | 'store'> {
  readonly stores: { readonly [N in keyof S]: StoreOf<S[N]> };
  send<N extends keyof O & string>(output: N, record: O[N] extends Topic<infer K, infer V> ? OutgoingRecord<K, V> : never): void;
}

export interface ProcessContext<S extends StoresByName, O extends TopicsByName, KR = never, R = never> extends HandlerContext<S, O> {
  /** To the operators behind. */
  forward(record: ForwardedRecord<KR, R>): void;
}

export interface ProcessValuesContext<S extends StoresByName, O extends TopicsByName, R = never> extends HandlerContext<S, O> {
  /** To the operators behind, under the key of the record in hand. */
  forward(value: R, options?: ForwardOptions): void;
}

/** Calls back as time passes: in stream time on the first record and then at multiples of the interval, once per jump. */
export interface Punctuator<C> {
  readonly intervalMs: number;
  readonly type: PunctuationType;
  readonly run: (timestampMs: number, context: C) => void | Promise<void>;
}

interface HandlerOptions<S extends StoresByName, O extends TopicsByName> extends Omit<NodeSettings, 'name' | 'stores'> {
  readonly stores?: S;
  readonly outputs?: O;
}

export interface ProcessOptions<K, V, S extends StoresByName, O extends TopicsByName, KR = never, R = never> extends HandlerOptions<S, O> {
  /** What is forwarded to the operators behind, declared with `output<Key, Value>()`. Default: nothing. */
  readonly forwards?: Output<KR, R>;
  /** Serdes of what is forwarded, for a repartition topic that may follow. */
  readonly key?: Serde<KR>;
  readonly value?: Serde<R>;
  readonly process: (record: StreamRecord<K, V>, context: ProcessContext<S, O, KR, R>) => void | Promise<void>;
  readonly punctuators?: readonly Punctuator<ProcessContext<S, O, KR, R>>[];
}

export interface ProcessValuesOptions<K, V, S extends StoresByName, O extends TopicsByName, R = never> extends HandlerOptions<S, O> {
  /** What is forwarded to the operators behind, declared with `outputValue<Value>()`. Default: nothing. */
  readonly forwards?: Output<never, R>;
  /** Serde of what is forwarded, for a repartition topic that may follow. */
  readonly value?: Serde<R>;
  readonly process: (record: StreamRecord<K, V>, context: ProcessValuesContext<S, O, R>) => void | Promise<void>;
}

/** What the function of `transformValues` may use. */
export type TransformContext<S extends StoresByName> = Pick<HandlerContext<S, {}>, 'stores'>;

export interface TransformOptions<K, V, R, S extends StoresByName> {
  readonly stores?: S;
  /** The new row, null for none. It sees deletions, as null. */
  readonly transform: (value: V | null, key: K, context: TransformContext<S>) => R | null;
}
